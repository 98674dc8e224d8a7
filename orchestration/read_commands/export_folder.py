"""The folder of an export: one export at a time, no other files next to a public one, all files or none."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from orchestration.read_commands.published import ReadingError
from orchestration.upkeep.holder import holder_of

METADATA = "faultline.json"
"""The file that lists what the last export wrote."""
CROISSANT = "croissant.json"
UNFINISHED = ".faultline-export.tmp"
"""Holds the files of an export until all are complete; a killed export leaves it, and the next one deletes it."""
LOCK = ".faultline-export.lock"
"""Holds the number of the exporting process; the kernel drops the lock when the process ends."""


@dataclass(frozen=True)
class ExportFolder:
    """A folder that only this process exports to. An export with names is closed to other users."""

    path: Path
    is_public: bool

    @property
    def unfinished(self) -> Path:
        """The folder for files that are not complete yet."""
        return self.path / UNFINISHED

    @contextmanager
    def open(self) -> Iterator[None]:
        """Make the folder, lock out other exports, and delete unfinished files before and after.

        Raises
        ------
        ReadingError
            Another export runs, or the folder has files that must not be mixed with this export.
        """
        self.path.mkdir(self._mode, parents=True, exist_ok=True)
        with _locked(self.path):
            if self.unfinished.exists():
                shutil.rmtree(self.unfinished)
            self._refuse_to_mix()
            self.unfinished.mkdir(0o700)
            try:
                yield
            finally:
                shutil.rmtree(self.unfinished, ignore_errors=True)

    def replace(self, files: Sequence[str]) -> None:
        """Move complete files to their places, and delete files that only the earlier export has.

        While files move there is no description, so that after a failed move none describes files of two exports.
        """
        _, earlier = _listed(self.path)
        for file in (*files, METADATA, CROISSANT):
            place = self.path / file
            if place.parent.is_symlink() or place.is_dir():
                raise IsADirectoryError(f"{place} is a folder or in a link")
            place.parent.mkdir(self._mode, exist_ok=True)
            if not os.access(place.parent, os.W_OK):
                raise PermissionError(f"{place} may not be written")
        (self.path / CROISSANT).unlink(missing_ok=True)
        for file in files:
            (self.unfinished / file).replace(self.path / file)
        for place in self.path.glob("*/*"):
            if place.relative_to(self.path).as_posix() in earlier.difference(files) and not place.parent.is_symlink():
                place.unlink()
        for name in (METADATA, CROISSANT):
            (self.unfinished / name).replace(self.path / name)

    @property
    def _mode(self) -> int:
        return 0o777 if self.is_public else 0o700

    def _refuse_to_mix(self) -> None:
        was_public, files = _listed(self.path)
        if was_public and not self.is_public:
            raise ReadingError(f"{self.path} holds an export without names; give the one with names another folder")
        expected = {LOCK, *((METADATA, CROISSANT, *files) if was_public else ())}
        if self.is_public and any(
            path.is_symlink() or (not path.is_dir() and path.relative_to(self.path).as_posix() not in expected)
            for path in self.path.rglob("*")
        ):
            raise ReadingError(f"{self.path} holds other files, which may hold names; give --public an empty folder")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    place = folder / LOCK
    with place.open("a+", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = os.fstat(file.fileno()).st_nlink > 0  # the previous export deletes it at its end
        except BlockingIOError:
            is_ours = False
        if not is_ours:
            file.seek(0)
            holder = holder_of(file.read())
            raise ReadingError(
                f"another export into {folder} is running ({holder}); run this one again when it has ended"
            )
        try:
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield
        finally:
            place.unlink(missing_ok=True)


def _listed(folder: Path) -> tuple[bool, set[str]]:
    """Return whether the earlier export is public, and its files; none if its list is missing or damaged."""
    try:
        listed = json.loads((folder / METADATA).read_text(encoding="utf-8"))
        return listed.get("is_public") is True, {table["file"] for table in listed["tables"]}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False, set()
