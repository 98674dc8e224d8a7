"""The files below a cluster's folder, by kind, and the entries that cannot be read.

No file is opened, and no link to a folder that is already read is followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from assets.sources.errors import SourceError
from assets.sources.links import refusal_of_link
from assets.sources.manifests import KIND as MANIFEST
from assets.sources.manifests import MANIFEST_SUFFIX
from assets.sources.reader import Reader
from assets.sources.regular import unreadable
from assets.sources.settings import KINDS, ClusterSettings

IGNORED_SUFFIXES = ("~", ".swp", ".tmp", ".part", ".md")
NOTES = re.compile(r"(read[-_]?me|licen[cs]e|changelog|changes|notes?|todo|about)(\.(txt|text|rst|html?))?", re.I)
"""Names of texts that people put next to logs."""
SUFFIXES_OF_FILES = frozenset({".csv", ".gz", ".json", ".jsonl", ".log", ".out", ".psv", ".tsv", ".txt", ".zst"})
"""Suffixes of log files. An empty folder with such a name is a mistake, for instance of a container's mount."""


@dataclass(frozen=True)
class Candidate:
    """A file or folder that may be read; `error` says why not, if that shows without opening it."""

    cluster: ClusterSettings
    kind: str
    path: Path
    reader: Reader
    error: SourceError | None = None


def shown(path: Path, folder: Path) -> str:
    r"""Return a path below the sources folder as text; bytes that are not UTF-8 are written as `\udc..`.

    >>> shown(Path("/s/c1/sacct/a.txt"), Path("/s"))
    'c1/sacct/a.txt'
    """
    return path.relative_to(folder).as_posix().encode("utf-8", "backslashreplace").decode("utf-8")


def is_utf8(name: str) -> bool:
    """Return whether the name of a file is valid UTF-8."""
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def visible_folders(folder: Path) -> list[Path]:
    """Return the folders in a folder, except hidden ones."""
    return sorted(entry for entry in folder.iterdir() if _is_folder(entry) and not entry.name.startswith("."))


def unreachable_folders(folder: Path) -> Iterator[tuple[Path, OSError]]:
    """Yield the broken links in a folder, such as to a disk that is not mounted."""
    for entry in sorted(folder.iterdir()):
        if entry.is_symlink() and not _is_ignored(entry) and entry.suffix not in SUFFIXES_OF_FILES:
            try:
                entry.stat()
            except OSError as error:
                yield entry, error


def candidates(
    cluster: ClusterSettings, folder: Path, readers: Mapping[str, Reader], warnings: list[SourceError]
) -> Iterator[Candidate]:
    """Yield what can be read of a cluster; add a warning for each folder of no kind and each file next to the folders.

    Raises
    ------
    OSError
        The cluster's own folder cannot be listed.
    """
    sources = folder.parent
    for entry in sorted(entry for entry in folder.iterdir() if not _is_ignored(entry)):
        kind = entry.name
        if kind not in KINDS:
            if kind != "cluster.toml":
                warnings.append(_without_meaning(entry, sources))
        elif kind in readers:
            for path, error in _of_kind(entry, sources, warnings):
                read_as = MANIFEST if path.name.endswith(MANIFEST_SUFFIX) else kind
                if read_as in readers:
                    yield Candidate(cluster, read_as, path, readers[read_as], error)


def _of_kind(folder: Path, sources: Path, warnings: list[SourceError]) -> Iterable[tuple[Path, SourceError | None]]:
    if refusal := _refusal(folder, sources):
        return [(folder, refusal)]
    return _files(folder, sources, warnings) if _is_folder(folder) else [_no_folder(folder, sources)]


def _without_meaning(entry: Path, sources: Path) -> SourceError:
    kinds = ", ".join(KINDS)
    if _is_folder(entry):
        return SourceError(
            shown(entry, sources), "not read: its name is no kind of log", f"Rename it to one of {kinds}."
        )
    what = "not read: it lies next to the folders of logs"
    return SourceError(shown(entry, sources), what, f"Move it into the folder of its kind: {kinds}.")


def _no_folder(entry: Path, sources: Path) -> tuple[Path, SourceError]:
    """Return the refusal of an entry in place of a kind's folder: a file, or a link to a disk that is not mounted."""
    place = shown(entry, sources)
    try:
        entry.stat()
    except OSError as error:
        return entry, unreadable(place, error)
    return entry, SourceError(place, "not a folder but a file", "Make a folder of that name, and put the file into it.")


def _is_folder(entry: Path) -> bool:
    """Return whether a path is a folder; False if that is unknown, as opening it then gives the reason."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def _is_ignored(entry: Path) -> bool:
    return entry.name.startswith(".") or entry.name.endswith(IGNORED_SUFFIXES)


def _files(top: Path, sources: Path, warnings: list[SourceError]) -> Iterator[tuple[Path, SourceError | None]]:
    """Yield every file below a kind's folder in order, except hidden files, editors' leftovers and notes.

    No folder is entered twice, as a link to a folder above would never end.
    """
    found: list[tuple[Path, SourceError | None]] = []
    folders, seen = [top], {_identity(folder) for folder in (top, *top.parents)}
    while folders:
        folder, links = folders.pop(), []
        for entry in _entries(folder, sources, found):
            if refusal := _refusal(entry, sources):
                found.append((entry, refusal))
            elif not _is_folder(entry):
                if warning := _no_log(entry, sources):
                    warnings.append(warning)
                else:
                    found.append((entry, None))
            elif entry.suffix in SUFFIXES_OF_FILES and not _entries(entry, sources, found):
                found.append((entry, _in_place_of_a_file(entry, sources)))
            elif entry.is_symlink():
                links.append(entry)
            else:
                seen.add(_identity(entry))
                folders.append(entry)
        for link in links:
            if (identity := _identity(link)) in seen:
                what = "not read: it leads to a folder that is read already"
                warnings.append(SourceError(shown(link, sources), what, "Remove the link."))
            else:
                seen.add(identity)
                folders.append(link)
    yield from sorted(found, key=lambda file_and_error: file_and_error[0])


def _refusal(entry: Path, sources: Path) -> SourceError | None:
    if not is_utf8(entry.name):
        return SourceError(shown(entry, sources), "its name is not UTF-8", "Rename it.")
    return refusal_of_link(entry, shown(entry, sources))


def _no_log(file: Path, sources: Path) -> SourceError | None:
    """Return why a file is not read whose name is not that of a log; None for a log."""
    if file.name == "cluster.toml":
        what = "not read: it holds settings, and is no log"
        return SourceError(shown(file, sources), what, "Settings lie in the cluster's own folder.")
    if NOTES.fullmatch(file.name):
        return SourceError(shown(file, sources), "not read: by its name a note, and no log", "Rename it if it is one.")
    return None


def _entries(folder: Path, sources: Path, found: list[tuple[Path, SourceError | None]]) -> list[Path]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        found.append((folder, unreadable(shown(folder, sources), error)))
        return []
    return [entry for entry in entries if not _is_ignored(entry)]


def _in_place_of_a_file(folder: Path, sources: Path) -> SourceError:
    place = shown(folder, sources)
    return SourceError(place, "not a regular file but an empty folder", "Put the file in its place.")


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino
