"""Put answers into the sources folder. Readers never see a part of one.

An answer is written under a hidden name in the folder of its kind, flushed to disk, and then renamed.
"""

from __future__ import annotations

import filecmp
import json
from datetime import datetime
from pathlib import Path

from assets.sources.manifests import MANIFEST_SUFFIX
from orchestration.disk import flush, rename_flushed

UNFINISHED = ".pulling-"
"""Begins the hidden name of an answer that is not whole yet."""


def unfinished(folder: Path, file_name: str) -> Path:
    """Return where an answer is written until it is whole; the folder is made if there is none."""
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{UNFINISHED}{file_name}"


def remove_unfinished(folder: Path) -> None:
    """Remove what a pull that was killed left behind."""
    if folder.is_dir():
        for path in folder.glob(f"{UNFINISHED}*"):
            path.unlink(missing_ok=True)


def put_in_place(answer: Path, file: Path) -> bool:
    """Give an answer its name; tell whether that changed anything. The same bytes leave the file as it is."""
    if file.exists() and filecmp.cmp(answer, file, shallow=False):
        answer.unlink()
        return False
    rename_flushed(answer, file)
    return True


def replace_file(file: Path, content: bytes) -> bool:
    """Replace a small file; tell whether that changed anything."""
    answer = unfinished(file.parent, file.name)
    answer.write_bytes(content)
    flush(answer)
    return put_in_place(answer, file)


def write_manifest(file: Path, command: str, from_at: datetime, to_at: datetime) -> bool:
    """Say beside a file what it covers; tell whether that changed anything."""
    stated = {"command": command, "from": from_at.isoformat(), "to": to_at.isoformat()}
    return replace_file(file.with_name(f"{file.name}{MANIFEST_SUFFIX}"), json.dumps(stated).encode() + b"\n")
