"""Spoils lines of finished logs: cuts them off, doubles or empties them, or adds wrong bytes and pipes.

The writers know nothing of it. The first line of a file is never spoiled, because a reader recognises the format by it.
"""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assets.simulation.logs.record import Record

CUT, TWICE, EMPTY, BAD_BYTE, PIPE = "cut_off", "duplicate", "empty", "not_utf8", "pipe_in_name"
EVERYWHERE = (CUT, TWICE, EMPTY, BAD_BYTE)
KINDS: dict[str, tuple[str, ...]] = {
    "sacct": (*EVERYWHERE, PIPE),
    "health": EVERYWHERE,
    "kernel": EVERYWHERE,
    "events": EVERYWHERE,
    "slurmctld": EVERYWHERE,
    "squeue": EVERYWHERE,
}
"""What may happen to the lines of a folder; tickets and the inventory are small files made in one go."""
LATIN_1 = "\N{LATIN SMALL LETTER E WITH ACUTE}".encode("latin-1")
NAME_PLACE = 7
"""Position of the job's name among the fields of the accounting."""


@dataclass(frozen=True)
class Spoiled:
    """A line that was spoiled, by its number in the file as it is now."""

    path: str
    line_number: int
    kind: str


def _cut(line: bytes, at: float) -> bytes:
    """Cut off the end of a line. At least one byte stays, and at least one is cut off."""
    return line[: 1 + int(at * (len(line) - 2))] if len(line) > 1 else line


def _pipe(line: bytes) -> bytes | None:
    """Put a pipe into the job's name. None for a step, whose name comes from Slurm."""
    fields = line.split(b"|")
    name = fields[NAME_PLACE]
    if b"." in fields[0] or len(name) < 2:
        return None
    middle = len(name) // 2
    return line.replace(name, name[:middle] + b"|" + name[middle:])


def _spoil(line: bytes, kind: str, at: float) -> list[bytes]:
    """Return the lines that replace a line. The last of them is the spoiled one."""
    place = int(at * len(line))
    if kind == TWICE:
        return [line, line]
    if kind == EMPTY:
        return [line, b""]
    if kind == BAD_BYTE:
        return [line[:place] + LATIN_1 + line[place:]]
    return [_cut(line, at)]


def _spoil_lines(lines: list[bytes], kinds: tuple[str, ...], share: float, rng: np.random.Generator) -> Iterator[Any]:
    """Spoil lines in place, from the last to the first, and return the row and the kind of each."""
    rows = 1 + np.flatnonzero(rng.random(max(0, len(lines) - 1)) < share)
    drawn, places = rng.integers(len(kinds), size=len(rows)).tolist(), rng.random(len(rows)).tolist()
    for row, number, at in zip(rows[::-1].tolist(), drawn, places, strict=True):
        kind, line = kinds[number], lines[row]
        piped = _pipe(line) if kind == PIPE else None
        if kind == PIPE and piped is None:
            kind = CUT
        lines[row : row + 1] = [piped] if piped is not None else _spoil(line, kind, at)
        yield row, kind


def _spoil_file(path: Path, kinds: tuple[str, ...], share: float, rng: np.random.Generator) -> list[tuple[int, str]]:
    """Spoil lines of a file, and return the new line number and the kind of each."""
    is_packed = path.suffix == ".gz"
    content = gzip.decompress(path.read_bytes()) if is_packed else path.read_bytes()
    lines = content.split(b"\n")[:-1]
    found = list(_spoil_lines(lines, kinds, share, rng))[::-1]
    if not found:
        return []
    content = b"\n".join([*lines, b""])
    with path.open("wb") as file:
        if is_packed:
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.write(content)
        else:
            file.write(content)
    spoiled, added = [], 0
    for row, kind in found:
        added += kind in (TWICE, EMPTY)
        spoiled.append((row + added + 1, kind))
    return spoiled


def spoil(record: Record, folder: Path, share: float) -> list[Spoiled]:
    """Spoil a share of the lines of a cluster's logs. Paths are relative to the folder of all clusters."""
    spoiled = []
    for kind, kinds in KINDS.items():
        for path in sorted((folder / kind).glob("*")):
            shown = f"{kind}/{path.name}"
            found = _spoil_file(path, kinds, share, record.rng(f"dirt {shown}"))
            spoiled += [Spoiled(f"{record.profile.cluster_id}/{shown}", number, what) for number, what in found]
    return spoiled


def write_dirt(record: Record, spoiled: list[Spoiled], folder: Path) -> None:
    """Write `dirt.parquet` beside the truth: path, line_number, kind."""
    table = pa.table(
        {
            "path": pa.array([line.path for line in spoiled], pa.string()),
            "line_number": pa.array([line.line_number for line in spoiled], pa.int64()),
            "kind": pa.array([line.kind for line in spoiled], pa.string()),
        }
    ).replace_schema_metadata({"simulated": "true", "cluster_id": record.profile.cluster_id})
    pq.write_table(table, folder / "dirt.parquet", compression="zstd")
