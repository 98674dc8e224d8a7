"""The folder of what is made of the code alone: dbt's parsed project, the lineage of columns, the report's script.

It is one folder for all homes of a user, and one per version of the code: an installed copy may be read-only, and two
versions may run side by side. In a checkout it is `build/cache`, so that a change of one file is no new version.

A wheel brings these files along (`orchestration/prepared`), with placeholders for the folders of the code.
"""

from __future__ import annotations

import json
import os
import shutil
import sysconfig
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from orchestration.environment import user_cache_folder
from orchestration.home import DBT_PROJECT, PROJECT, Home, code_version
from orchestration.terminal import say

PREPARED = PROJECT / "orchestration" / "prepared"
PLACES = {"<dbt_project>": str(DBT_PROJECT), "<packages>": sysconfig.get_path("purelib")}
"""Folders that the files name, by the placeholder of each."""

MAX_UNUSED_DAYS = 30
"""The folder of another version is removed when nothing has used it for so long."""


@cache
def cache_folder(home: Home) -> Path:
    """Return the folder; it exists, and this user can write it.

    The home takes the place of a cache folder that cannot be written, and a line on stderr says so, once per process.
    """
    if (PROJECT / "pyproject.toml").exists() and _can_write(checkout := PROJECT / "build" / "cache"):
        return checkout
    version = code_version()
    folder = user_cache_folder() / "faultline" / version
    if not _can_write(folder):
        instead = home.work / "cache" / version
        instead.mkdir(parents=True, exist_ok=True)
        say(
            f"the cache folder {folder} cannot be written, so {instead} is used, by this home alone; "
            "set XDG_CACHE_HOME to a folder that can be written",
            is_error=True,
        )
        folder = instead
    os.utime(folder)
    _remove_unused(folder.parent)
    if PREPARED.is_dir():
        copy_parts(PREPARED, folder, PLACES)
    return folder


def copy_parts(parts: Path, folder: Path, beginnings: Mapping[str, str]) -> None:
    """Copy the files of a cache folder that are not there yet; texts in them that begin with one thing get another."""

    def moved(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: moved(item) for key, item in value.items()}
        if isinstance(value, list):
            return [moved(item) for item in value]
        old = next((old for old in beginnings if isinstance(value, str) and value.startswith(old)), None)
        return value if old is None else beginnings[old] + value.removeprefix(old)

    for part in parts.iterdir():
        if not (folder / part.name).exists():
            rewrite = _REWRITERS.get(part.suffix)
            content = rewrite(part.read_bytes(), moved) if rewrite else part.read_bytes()
            unfinished = folder / f"{part.name}.{os.getpid()}"
            unfinished.write_bytes(content)
            unfinished.replace(folder / part.name)


def _rewrite_json(content: bytes, moved: Callable[[Any], Any]) -> bytes:
    return json.dumps(moved(json.loads(content))).encode()


def _rewrite_msgpack(content: bytes, moved: Callable[[Any], Any]) -> bytes:
    import msgpack

    packed: bytes = msgpack.packb(moved(msgpack.unpackb(content, strict_map_key=False)))
    return packed


_REWRITERS = {".json": _rewrite_json, ".msgpack": _rewrite_msgpack}


def _can_write(folder: Path) -> bool:
    """Make the folder unless it exists, and tell whether this user can put files into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK)


def _remove_unused(versions: Path) -> None:
    """Remove the folders of versions that nothing has used for a while; another process may be doing the same."""
    for folder in versions.iterdir():
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > MAX_UNUSED_DAYS * 24 * 60 * 60:
                shutil.rmtree(folder)
