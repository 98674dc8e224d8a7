"""The sources folder: which clusters and files it holds, and everything that is wrong with it, told in one go."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from assets.sources.errors import SourceError, SourceErrors
from assets.sources.lines import inspect
from assets.sources.manifests import KIND as MANIFEST
from assets.sources.manifests import MANIFEST_SUFFIX, MAX_MANIFEST_BYTES
from assets.sources.reading import Reader, SourceFile, TimedReader, reader_key
from assets.sources.regular import require_regular, unreadable
from assets.sources.settings import ClusterSettings, Kind, read_settings

KINDS: tuple[str, ...] = get_args(Kind)
IGNORED_SUFFIXES = ("~", ".swp", ".tmp", ".part", ".md")


@dataclass(frozen=True)
class KnownFile:
    """What `ops.files` says of a file read before."""

    size_bytes: int
    modified_at: datetime
    sha256: str
    dialect: str
    reader: str


@dataclass
class Survey:
    """What the folder holds."""

    clusters: dict[str, ClusterSettings] = field(default_factory=dict)
    files: list[SourceFile] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def of_kind(self, kind: str) -> list[SourceFile]:
        """Give the files of one kind, in the order of their names."""
        return [file for file in self.files if file.kind == kind]


def is_as_it_was(file: SourceFile, before: KnownFile, reader: Reader) -> bool:
    """Tell whether a file would be read as it was: the same bytes, and the same time where its rows can tell it."""
    if file.sha256 != before.sha256:
        return False
    timed = isinstance(reader, TimedReader) and reader.is_timed_by_modification(file.path, file.dialect)
    return file.modified_at == before.modified_at or not timed


LookKey = tuple[str, int, int, str]
"""Absolute path, size, time of change in ns, and the reader's key."""
Progress = Callable[[str, int, int, int], None]
"""Called with what is being done, files done, files in all, bytes done."""


def no_progress(_doing: str, _done: int, _total: int, _bytes: int) -> None:
    """Report nothing."""


def _visible_folders(folder: Path) -> list[Path]:
    return sorted(entry for entry in folder.iterdir() if entry.is_dir() and not entry.name.startswith("."))


def _candidates(top: Path, warnings: list[str]) -> list[Path]:
    """List every file below a kind's folder, save hidden ones, editors' leftovers and notes.

    No folder is entered twice, whatever links lead to it: a link to a folder above would never end.
    """
    found, folders, seen = [], [top], {_identity(top)}
    while folders:
        links = []
        for entry in sorted(folders.pop().iterdir()):
            if entry.name.startswith(".") or entry.name.endswith(IGNORED_SUFFIXES):
                continue
            if not entry.is_dir():
                found.append(entry)
            elif entry.is_symlink():
                links.append(entry)
            else:
                seen.add(_identity(entry))
                folders.append(entry)
        for link in links:
            if (identity := _identity(link)) in seen:
                warnings.append(f"{link}: not read; it leads to a folder that is read already")
            else:
                seen.add(identity)
                folders.append(link)
    return sorted(found)


def _identity(folder: Path) -> tuple[int, int]:
    status = folder.stat()
    return status.st_dev, status.st_ino


def cluster_folders(folder: Path) -> list[Path]:
    """List the cluster folders; raises `SourceErrors` when the sources folder has none."""
    shown = str(folder)
    if not folder.exists():
        raise SourceErrors(
            [SourceError(shown, "the sources folder does not exist", "Create it or name another with --sources.")]
        )
    try:
        found = _visible_folders(folder)
    except OSError as error:
        raise SourceErrors(
            [SourceError(shown, f"unreadable ({error.strerror})", "It must be a folder this user can read.")]
        ) from error
    if any(entry.name == "sacct" for entry in found):
        raise SourceErrors(
            [
                SourceError(
                    shown,
                    "this is a cluster's folder, not the folder of all clusters",
                    f"Name the folder above it: {folder.resolve().parent}.",
                )
            ]
        )
    if not found:
        raise SourceErrors(
            [
                SourceError(
                    shown,
                    "no cluster folder in it",
                    "Make one folder per cluster with at least sacct/ in it: <cluster>/sacct/<export>.txt.",
                )
            ]
        )
    return found


def survey(
    folder: Path,
    readers: Mapping[str, Reader],
    known: Mapping[tuple[str, str], KnownFile] | None = None,
    *,
    looked: dict[LookKey, SourceFile] | None = None,
    progress: Progress = no_progress,
) -> Survey:
    """Look at every file of the folder, in one pass each.

    Parameters
    ----------
    folder
        The sources folder.
    readers
        Reader by kind; only these kinds are looked at.
    known
        Files read before: one of the same size and time of change is not opened again.
    looked
        What was looked at before in this process; filled further.
    progress
        Told after every file.

    Raises
    ------
    SourceErrors
        Everything wrong with settings, folders and files.
    """
    result, errors = Survey(), []
    candidates: list[_Candidate] = []
    for cluster_folder in cluster_folders(folder):
        cluster, wrong = read_settings(cluster_folder, cluster_folder.name)
        result.clusters[cluster.cluster_id] = cluster
        errors.extend(wrong)
        try:
            found = list(_cluster_candidates(cluster, cluster_folder, readers, result.warnings))
        except OSError as error:
            shown = Path(str(error.filename or cluster_folder)).name
            wrong_folder = f"{cluster.cluster_id}/{shown}"
            errors.append(SourceError(wrong_folder, f"unreadable ({error.strerror})", "Make it readable."))
            continue
        if "sacct" in readers and not any(candidate.kind == "sacct" for candidate in found):
            errors.append(_no_accounting(cluster.cluster_id))
        candidates.extend(found)
    done_bytes = 0
    for count, candidate in enumerate(candidates, start=1):
        try:
            file = _look(folder, candidate, known or {}, {} if looked is None else looked)
            result.files.append(file)
            done_bytes += file.size_bytes
        except SourceError as error:
            errors.append(error)
        progress("looking at files", count, len(candidates), done_bytes)
    if errors:
        raise SourceErrors(errors)
    return result


@dataclass(frozen=True)
class _Candidate:
    cluster: ClusterSettings
    kind: str
    path: Path
    reader: Reader


def _no_accounting(cluster_id: str) -> SourceError:
    return SourceError(
        f"{cluster_id}/sacct",
        "no accounting export there, and nothing can be said of a cluster without one",
        f"Put one there: sacct -a -D -X -P --noconvert -o ALL -S <start> -E <end> > {cluster_id}/sacct/sacct.txt",
    )


def _cluster_candidates(
    cluster: ClusterSettings, folder: Path, readers: Mapping[str, Reader], warnings: list[str]
) -> Iterator[_Candidate]:
    for kind_folder in _visible_folders(folder):
        kind = kind_folder.name
        if kind not in KINDS:
            warnings.append(f"{cluster.cluster_id}/{kind}: not read; folders with a meaning are {', '.join(KINDS)}")
        elif kind in readers:
            for path in _candidates(kind_folder, warnings):
                read_as = MANIFEST if path.name.endswith(MANIFEST_SUFFIX) else kind
                if read_as in readers:
                    yield _Candidate(cluster, read_as, path, readers[read_as])


def _look(
    folder: Path,
    candidate: _Candidate,
    known: Mapping[tuple[str, str], KnownFile],
    looked: dict[LookKey, SourceFile],
) -> SourceFile:
    cluster, path = candidate.cluster, candidate.path
    relative = path.relative_to(folder).as_posix()
    try:
        status = require_regular(path)
    except OSError as error:
        raise unreadable(relative, error) from error
    if candidate.kind == MANIFEST and status.st_size > MAX_MANIFEST_BYTES:
        raise SourceError(relative, f"larger than {MAX_MANIFEST_BYTES:,} bytes, so no manifest", "Make it shorter.")
    reader = reader_key(candidate.reader, cluster)
    key = (str(path), status.st_size, status.st_mtime_ns, reader)
    if key in looked:
        return looked[key]
    file = SourceFile(
        cluster_id=cluster.cluster_id,
        kind=candidate.kind,
        path=relative,
        absolute=path,
        size_bytes=status.st_size,
        modified_at=datetime.fromtimestamp(status.st_mtime_ns // 1000 / 1_000_000, UTC).replace(tzinfo=None),
    )
    before = known.get(file.key)
    if before and (before.size_bytes, before.modified_at, before.reader) == (file.size_bytes, file.modified_at, reader):
        return replace(file, sha256=before.sha256, dialect=before.dialect)
    content = inspect(path, relative)
    dialect = candidate.reader.detect(content.sample, relative, cluster)
    if dialect not in candidate.reader.DIALECTS:
        raise ValueError(f"{candidate.kind}: detect gave {dialect!r}, which is not among its dialects")
    looked[key] = replace(
        file,
        sha256=content.sha256,
        dialect=dialect,
        is_plain=content.is_plain,
        last_line_open=content.last_line_open,
        object_lines=content.object_lines,
    )
    return looked[key]
