"""Spoils lines of finished logs: cuts them off, doubles or empties them, or adds wrong bytes and pipes.

The first line of a file is never spoiled, because a reader recognises the format by it.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from assets.simulation.logs.record import Record

CUT, TWICE, EMPTY, BAD_BYTE, PIPE = "cut_off", "duplicate", "empty", "not_utf8", "pipe_in_name"
EVERYWHERE = (CUT, TWICE, EMPTY, BAD_BYTE)
KINDS: dict[str, tuple[str, ...]] = {
    "sacct": (*EVERYWHERE, PIPE),
    **dict.fromkeys(("health", "kernel", "events", "slurmctld", "squeue"), EVERYWHERE),
}
"""Kinds of damage by folder. Tickets and the inventory are small files written in one piece, so they have none."""
LATIN_1 = "\N{LATIN SMALL LETTER E WITH ACUTE}".encode("latin-1")
NAME_PLACE = 7
"""Position of the job's name among the fields of the accounting."""


def _spoil(line: bytes, kind: str, at: float) -> list[bytes]:
    """Return the lines that replace a line. The last of them is the spoiled one. `at` is a place from 0 to 1."""
    place = int(at * len(line))
    if kind == TWICE:
        return [line, line]
    if kind == EMPTY:
        return [line, b""]
    if kind == BAD_BYTE:
        return [line[:place] + LATIN_1 + line[place:]]
    if kind == PIPE:
        name = line.split(b"|")[NAME_PLACE]
        middle = len(name) // 2
        return [line.replace(name, name[:middle] + b"|" + name[middle:])]
    return [line[: 1 + int(at * (len(line) - 2))] if len(line) > 1 else line]


def _can_have_pipe(line: bytes) -> bool:
    """Return whether a job's name can get a pipe. The name of a step comes from Slurm."""
    fields = line.split(b"|")
    return b"." not in fields[0] and len(fields[NAME_PLACE]) > 1


def _spoil_file(path: Path, kinds: tuple[str, ...], share: float, rng: np.random.Generator) -> list[tuple[int, str]]:
    """Spoil lines of a file, and return the new line number and the kind of each."""
    is_packed = path.suffix == ".gz"
    lines = (gzip.decompress(path.read_bytes()) if is_packed else path.read_bytes()).split(b"\n")[:-1]
    rows = 1 + np.flatnonzero(rng.random(max(0, len(lines) - 1)) < share)
    drawn, places = rng.integers(len(kinds), size=len(rows)).tolist(), rng.random(len(rows)).tolist()
    found: list[tuple[int, str]] = []
    for row, number, at in zip(rows[::-1].tolist(), drawn, places, strict=True):
        kind = kinds[number] if kinds[number] != PIPE or _can_have_pipe(lines[row]) else CUT
        lines[row : row + 1] = _spoil(lines[row], kind, at)
        found.append((row, kind))
    if found:
        content = b"\n".join([*lines, b""])
        if is_packed:
            with path.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.write(content)
        else:
            path.write_bytes(content)
    spoiled, added = [], 0
    for row, kind in reversed(found):
        added += kind in (TWICE, EMPTY)
        spoiled.append((row + added + 1, kind))
    return spoiled


def spoil(record: Record, folder: Path, share: float, truth: Path) -> int:
    """Spoil a share of the lines of a cluster's logs, name each in `dirt.parquet` of the truth, and count them.

    Paths are relative to the folder of all clusters. Line numbers are those of the spoiled file.
    """
    rows: list[dict[str, str | int]] = []
    for kind, kinds in KINDS.items():
        for path in sorted((folder / kind).glob("*")):
            shown = f"{kind}/{path.name}"
            for number, what in _spoil_file(path, kinds, share, record.rng(f"dirt {shown}")):
                rows.append({"path": f"{record.profile.cluster_id}/{shown}", "line_number": number, "kind": what})
    names = {"path": pa.string(), "line_number": pa.int64(), "kind": pa.string()}
    table = pa.table({name: pa.array([row[name] for row in rows], kind) for name, kind in names.items()})
    labelled = table.replace_schema_metadata({"simulated": "true", "cluster_id": record.profile.cluster_id})
    pq.write_table(labelled, truth / "dirt.parquet", compression="zstd")
    return len(rows)
