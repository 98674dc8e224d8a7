"""The same logs in other files: a variant of a cluster's folder holds the same facts, so the same rows must come out.

Every function takes the folder of a cluster and changes it in place. Lines of sacct, check results and node events
carry their own times and stand in any order; slurmctld.log, the kernel log and inventories keep theirs.
"""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

WITH_HEADER = ("sacct", "events", "tickets", "squeue")
IN_ANY_ORDER = ("sacct", "health", "events", "tickets")
ZONE, OFFSET = "Asia/Kolkata", timedelta(hours=5, minutes=30)
"""A zone whose clocks are never set, so that a time is moved by the same offset on each day."""
_ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?![\d.]*(?:Z|[+-]\d\d))")
_SYSLOG = re.compile(r"^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d")
_LOCAL = ("sacct", "events", "slurmctld", "squeue", "inventory", "kernel")


def files(cluster: Path, *kinds: str) -> list[Path]:
    """List a cluster's files of some kinds."""
    return sorted(path for kind in kinds for path in cluster.glob(f"{kind}/*") if path.is_file())


def parts(path: Path) -> tuple[list[str], list[str]]:
    """Read a file as its header, if it has one, and its other lines."""
    data = path.read_bytes()
    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8", "surrogateescape")
    lines = text.splitlines(keepends=True)
    headers = 1 if path.parent.name in WITH_HEADER else 0
    return lines[:headers], lines[headers:]


def write(path: Path, lines: list[str], like: Path) -> None:
    """Write lines to a file that is as old as another one."""
    at = like.stat().st_mtime
    data = "".join(lines).encode("utf-8", "surrogateescape")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    os.utime(path, (at, at))


def shuffle(cluster: Path) -> None:
    """Put the lines of each file in another order."""
    for path in files(cluster, *IN_ANY_ORDER):
        header, lines = parts(path)
        Random(path.name).shuffle(lines)
        write(path, header + lines, path)


def split(cluster: Path) -> None:
    """Make three files of each."""
    for path in files(cluster, *IN_ANY_ORDER, "slurmctld", "kernel"):
        header, lines = parts(path)
        third = len(lines) // 3 + 1
        for place in range(3):
            own = lines[place * third : (place + 1) * third]
            if own:
                write(path.with_name(f"{place}-{path.name}"), header + own, path)
        path.unlink()


def merge(cluster: Path) -> None:
    """Make one file of all of a kind that have the same header."""
    for kind in (*IN_ANY_ORDER, "slurmctld"):
        merged: dict[str, list[str]] = {}
        own = files(cluster, kind)
        for path in own:
            header, lines = parts(path)
            merged.setdefault("".join(header), header).extend(lines)
        for path in own[1:]:
            path.unlink()
        if own:
            like = own[0].with_name("like")
            own[0].rename(like)
            for place, lines in enumerate(merged.values()):
                write(like.with_name(f"all-{place}.log"), lines, like)
            like.unlink()


def double(cluster: Path) -> None:
    """Have every line twice: once in its file, once in another one beside it that begins elsewhere."""
    for path in files(cluster, *IN_ANY_ORDER, "slurmctld", "kernel"):
        header, lines = parts(path)
        write(path.with_name(f"again-{path.name}"), header + lines, path)
        write(path, header + lines + (lines[:20] if path.parent.name in IN_ANY_ORDER else []), path)


def rename(cluster: Path) -> None:
    """Rename every file, move it into a folder of its own where it can have one, and compress every second."""
    for place, path in enumerate(files(cluster, *IN_ANY_ORDER, "slurmctld", "squeue", "inventory")):
        header, lines = parts(path)
        write(path.with_name(f"{999 - place} of today.{'txt.gz' if place % 2 else 'dat'}"), header + lines, path)
        path.unlink()


def _moved(found: re.Match[str]) -> str:
    text = found[0]
    if "T" in text:
        return (datetime.fromisoformat(text) + OFFSET).isoformat()
    return (datetime.strptime(f"2026 {text}", "%Y %b %d %H:%M:%S") + OFFSET).strftime("%b %e %H:%M:%S")


def move_to_another_zone(cluster: Path) -> None:
    """Tell local times by the clock of another zone, and say so in cluster.toml."""
    assert not (cluster / "cluster.toml").exists()
    (cluster / "cluster.toml").write_text(f'timezone = "{ZONE}"\n', encoding="utf-8")
    for path in files(cluster, *_LOCAL):
        header, lines = parts(path)
        write(path, header + [_SYSLOG.sub(_moved, _ISO.sub(_moved, line)) for line in lines], path)


def change_the_delimiter(cluster: Path) -> None:
    """Write accounting with another delimiter and its columns the other way round."""
    for path in files(cluster, "sacct"):
        header, lines = parts(path)
        turned = ["\x1f".join(reversed(line.rstrip("\n").split("|"))) + "\n" for line in header + lines]
        write(path, turned, path)


VARIANTS: dict[str, Callable[[Path], None]] = {
    "shuffled": shuffle,
    "split": split,
    "merged": merge,
    "doubled": double,
    "renamed": rename,
    "otherzone": move_to_another_zone,
    "delimiter": change_the_delimiter,
}
"""What is done to a cluster's folder, by the name of the cluster that it makes."""
