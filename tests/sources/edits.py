"""Random edits of a sources folder, as sites make them: lines lost, files gone, doubled, moved, records corrected."""

from __future__ import annotations

import gzip
import os
import re
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_EPOCH = re.compile(r'("(?:start|end)_time": ?)(\d+(?:\.\d+)?)')
_NODE, _RESULT = re.compile(r'"node": ?"[^"]+"'), re.compile(r'"result": ?\d')
_STATES = ("COMPLETED", "FAILED", "NODE_FAIL", "TIMEOUT", "PREEMPTED", "CANCELLED by 1001", "REQUEUED", "OUT_OF_MEMORY")
_WITH_HEADER = {"sacct", "events", "tickets", "squeue"}


class Editor:
    """Edits files at random, the same way for the same seed; the original folder is where files are restored from."""

    def __init__(self, sources: Path, original: Path, rng: Random) -> None:
        self.sources, self.original, self.rng = sources, original, rng
        self.done: list[str] = []
        """What was done, in order: to be told when a comparison fails."""

    def edit(self) -> None:
        """Change one file."""
        kinds, edits = self.rng.choices(
            (
                (("sacct",), (self._lose, self._cut, self._remove, self._double, self._move, *[self._correct] * 3)),
                (("health",), (self._lose, self._cut, self._remove, self._double, self._move, *[self._recheck] * 2)),
                (("kernel",), (self._lose, self._cut, self._remove, self._double)),
                (("events", "slurmctld", "tickets", "squeue"), (self._lose, self._cut)),
            ),
            weights=(8, 5, 3, 4),
        )[0]
        edit: Callable[[Path], None] = self.rng.choice((*edits, self._restore))
        path = self.rng.choice(self._files(*kinds))
        edit(path)
        self.done.append(f"{path.relative_to(self.sources)} {edit.__name__.strip('_')}")

    def _files(self, *kinds: str) -> list[Path]:
        return sorted(path for path in self.sources.glob("*/*/*") if path.parent.name in kinds)

    def _lose(self, path: Path) -> None:
        header, lines = _read(path)
        share = self.rng.choice((0.002, 0.02, 0.2))
        self._write(path, header + [line for line in lines if self.rng.random() > share])

    def _cut(self, path: Path) -> None:
        header, lines = _read(path)
        self._write(path, header + lines[: int(len(lines) * self.rng.uniform(0.3, 0.95))])

    def _remove(self, path: Path) -> None:
        path.unlink()

    def _double(self, path: Path) -> None:
        shutil.copy2(path, path.with_name(f"again-{self.rng.randrange(100)}-{path.name}"))

    def _restore(self, path: Path) -> None:
        """Put back all that is missing of a folder, and the file as it was."""
        for sibling in (self.original / path.parent.relative_to(self.sources)).iterdir():
            target = path.with_name(sibling.name)
            if target == path or not target.exists():
                header, lines = _read(sibling)
                self._write(target, header + lines)

    def _move(self, path: Path) -> None:
        target = self.rng.choice(self._files(path.parent.name))
        if target.parent == path.parent and target != path:
            (header, lines), (other_header, others) = _read(path), _read(target)
            if header == other_header:
                moved = [self.rng.random() < 0.05 for _ in lines]
                self._write(path, header + [line for line, goes in zip(lines, moved, strict=True) if not goes])
                self._write(target, header + others + [line for line, goes in zip(lines, moved, strict=True) if goes])

    def _correct(self, path: Path) -> None:
        """Have records say another state, end, name, user, place or submission, or that the job still runs."""
        header, lines = _read(path)
        share, names = self.rng.choice((0.003, 0.03)), header[0].rstrip("\n").split("|")
        for place, line in enumerate(lines):
            record = dict(zip(names, line.rstrip("\n").split("|"), strict=False))
            other = dict(zip(names, self.rng.choice(lines).rstrip("\n").split("|"), strict=False))
            if self.rng.random() > share or min(len(record), len(other)) < len(names):
                continue
            match self.rng.randrange(7):
                case 0:
                    record["State"] = self.rng.choice(_STATES)
                case 1:
                    record["End"] = _later(record["End"], self.rng.randrange(-30, 600))
                case 2:
                    record |= {"State": "RUNNING", "End": "Unknown"}
                case 3:
                    record["JobName"] = other["JobName"]
                case 4:
                    record["User"] = other["User"]
                case 5:
                    record |= {name: other[name] for name in ("NodeList", "NNodes", "AllocTRES")}
                case 6:
                    record["Submit"] = _later(record["Submit"], -self.rng.randrange(60))
            lines[place] = "|".join(record[name] for name in names) + "\n"
        self._write(path, header + lines)

    def _recheck(self, path: Path) -> None:
        """Have checks say otherwise, at another time, or of another node."""
        header, lines = _read(path)
        share = self.rng.choice((0.002, 0.02))
        for place, line in enumerate(lines):
            if self.rng.random() < share:
                moved, result = self.rng.randrange(-90_000, 90_000), self.rng.choice((0, 2))
                node = _NODE.search(self.rng.choice(lines))
                lines[place] = self.rng.choice(
                    (
                        _EPOCH.sub(lambda found, by=moved: f"{found[1]}{float(found[2]) + by}", line),
                        _RESULT.sub(f'"result": {result}', line),
                        _NODE.sub(node[0], line) if node else line,
                    )
                )
        self._write(path, header + lines)

    def _write(self, path: Path, lines: list[str]) -> None:
        """Write a file, at a time at which no other was written; one that would be the same keeps its time."""
        text = "".join(lines).encode("utf-8", "surrogateescape")
        if path.exists() and _unpacked(path) == text:
            return
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
        at = path.stat().st_mtime + self.rng.random()
        os.utime(path, (at, at))


def _unpacked(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def _read(path: Path) -> tuple[list[str], list[str]]:
    lines = _unpacked(path).decode("utf-8", "surrogateescape").splitlines(keepends=True)
    headers = 1 if path.parent.name in _WITH_HEADER else 0
    return lines[:headers], lines[headers:]


def _later(text: str, minutes: int) -> str:
    moved = timedelta(minutes=minutes)
    return _TIME.sub(lambda found: (datetime.fromisoformat(found[0]) + moved).isoformat(), text)
