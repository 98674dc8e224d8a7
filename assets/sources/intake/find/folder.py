"""The sources folder: its clusters, their files, and what cannot be used.

A file that cannot be read is refused; a cluster without accounting or with wrong settings is left out. It is an error
if no cluster is left.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

from assets.log_kinds import LOG_KINDS
from assets.sources.errors import SourceError, SourceErrors, without_quotes
from assets.sources.intake.find.candidates import (
    Candidate,
    candidates,
    is_utf8,
    shown,
    unreachable_folders,
    visible_folders,
)
from assets.sources.intake.find.privacy import Privacy
from assets.sources.intake.read.lines import inspect
from assets.sources.links import leads_into_cluster, refusal_of_link
from assets.sources.manifests import KIND as MANIFEST
from assets.sources.manifests import MAX_MANIFEST_BYTES
from assets.sources.other_forms import translation_of
from assets.sources.reader import Reader, SourceFile, TimedReader, reader_key
from assets.sources.regular import require_regular, unreadable
from assets.sources.settings import ClusterSettings, read_settings

READ, REFUSED, CUT_OFF = "read", "refused", "cut_off"
"""Values of `ops.files.status`: all of a file was read, nothing, or all but its missing end."""
NEVER = datetime(1970, 1, 1)
"""Stands for the modification time of a file that cannot be examined."""


@dataclass(frozen=True)
class KnownFile:
    """The row of `ops.files` for a file of an earlier refresh."""

    size_bytes: int
    modified_at: datetime
    sha256: str
    dialect: str
    reader: str
    status: str = READ
    reason: str | None = None
    next_step: str | None = None
    is_present: bool = True
    loaded: int = 0
    version_of: str | None = None
    text_sha256: str | None = None
    text_bytes: int | None = None
    has_open_line: bool = False


EMPTIED = ("health", "kernel", "slurmctld")
"""Kinds of logs that rotation leaves empty: an empty file is not an error if it had content before."""
ALONE = ("sacct", "failures")
"""A cluster needs one of these kinds of logs: accounting, or a list of failures."""


def needed_kind(*, has_accounting: bool) -> str:
    """Return the kind of logs that a cluster needs."""
    return "sacct" if has_accounting else "failures"


@dataclass(frozen=True)
class RefusedFile:
    """A file that is not read, and why."""

    file: SourceFile
    error: SourceError


@dataclass
class Survey:
    """The content of the folder."""

    clusters: dict[str, ClusterSettings] = field(default_factory=dict)
    files: list[SourceFile] = field(default_factory=list)
    refused: list[RefusedFile] = field(default_factory=list)
    left_out: dict[str, list[SourceError]] = field(default_factory=dict)
    """Clusters whose files are not examined, and why."""
    warnings: list[SourceError] = field(default_factory=list)
    """Entries that are not read, which stops nothing."""
    with_history: Collection[tuple[str, str]] = ()
    """Keys of files of the kinds `ALONE` that were read, at least in part, before."""
    privacy: Privacy | None = None
    """How the names of clusters were read before."""
    changed_privacy: set[str] = field(default_factory=set)
    """Clusters that are left out because their names are to be stored in another way than before."""

    def of_kind(self, kind: str) -> list[SourceFile]:
        """Return the files of one kind, ordered by name."""
        return [file for file in self.files if file.kind == kind]

    def refused_of_kind(self, kind: str) -> list[RefusedFile]:
        """Return the refused files of one kind, ordered by name."""
        return [refused for refused in self.refused if refused.file.kind == kind]

    def of_cluster(self, cluster_id: str) -> Survey:
        """Return the part of the survey for one cluster; empty if its folder is missing."""
        return Survey(
            clusters={name: cluster for name, cluster in self.clusters.items() if name == cluster_id},
            files=[file for file in self.files if file.cluster_id == cluster_id],
        )

    @property
    def failing(self) -> dict[str, list[SourceError]]:
        """Clusters that cannot be built, and why, as far as the folder shows before it is read."""
        accounted = {file.cluster_id for file in self.of_kind("sacct")}
        accounted |= {found.file.cluster_id for found in self.refused_of_kind("sacct")}
        refused = {
            found.file.key: found.error
            for found in self.refused
            if found.file.kind == needed_kind(has_accounting=found.file.cluster_id in accounted)
        }
        return self.failing_for(refused, self.with_history)

    def failing_for(
        self, bad_files: Mapping[tuple[str, str], SourceError], read_before: Collection[tuple[str, str]]
    ) -> dict[str, list[SourceError]]:
        """Return the clusters that cannot be built, with reasons: those left out, and those that need a bad file.

        A bad file stops nothing if something of it was read before, which stays.
        """
        found = {cluster_id: list(errors) for cluster_id, errors in self.left_out.items()}
        for key, error in bad_files.items():
            if key[0] in self.clusters and key not in read_before:
                found.setdefault(key[0], []).append(error)
        return found


def is_unchanged(file: SourceFile, before: KnownFile, reader: Reader) -> bool:
    """Return whether a file gives the same rows again: its bytes are the same, and its time if rows depend on it."""
    if file.sha256 != before.sha256:
        return False
    timed = isinstance(reader, TimedReader) and reader.is_timed_by_modification(file.path, file.dialect)
    return file.modified_at == before.modified_at or not timed


Progress = Callable[[str, int, int, int, int], None]
"""Called with the activity, files done, files in total, bytes done, bytes in total."""


def no_progress(_doing: str, _done: int, _total: int, _done_bytes: int, _total_bytes: int) -> None:
    """Report nothing."""


def cluster_folders(folder: Path) -> list[Path]:
    """Return the cluster folders; raise `SourceErrors` if the sources folder has none, not even an unreachable one."""
    place = str(folder)
    if not folder.exists():
        raise SourceErrors(
            [SourceError(place, "the sources folder does not exist", "Create it or name another with --sources.")]
        )
    try:
        found, unreachable = visible_folders(folder), [*unreachable_folders(folder)]
    except OSError as error:
        raise SourceErrors(
            [SourceError(place, f"unreadable ({error.strerror})", "It must be a folder this user can read.")]
        ) from None
    if any(entry.name == "sacct" for entry in found):
        raise SourceErrors(
            [
                SourceError(
                    place,
                    "this is a cluster's folder, not the folder of all clusters",
                    f"Name the folder above it: {folder.resolve().parent}.",
                )
            ]
        )
    if not found and not unreachable:
        raise SourceErrors(
            [
                SourceError(
                    place,
                    "no cluster folder in it",
                    "Make one folder per cluster with at least sacct/ in it: <cluster>/sacct/<export>.txt.",
                )
            ]
        )
    return found


def survey(
    folder: Path,
    readers: Mapping[str, Reader],
    known_files: Mapping[tuple[str, str], KnownFile] | None = None,
    *,
    full: bool = False,
    progress: Progress = no_progress,
    with_history: Collection[tuple[str, str]] = (),
    privacy: Privacy | None = None,
) -> Survey:
    """Look at every file of the folder, in one pass each.

    Parameters
    ----------
    folder
        The sources folder.
    readers
        Reader by kind; only these kinds are looked at.
    known_files
        Files of an earlier refresh: one of the same size and time of change is not opened again, unless `full`.
    full
        Open every file.
    progress
        Called before every file and at the end.
    with_history
        Keys of accounting files that were read, at least in part, before: their clusters are not left out if the files
        are missing or refused now.
    privacy
        How the names of clusters were stored before; None: none were.

    Raises
    ------
    SourceErrors
        No cluster is left to build; its text lists all errors.
    """
    result = Survey(with_history=with_history, privacy=privacy)
    found = _all_candidates(folder, readers, result)
    for link, why in unreachable_folders(folder):
        name = shown(link, folder)
        result.left_out[name] = [unreadable(name, why)]
    described = [_described(folder, candidate) for candidate in found]
    done_bytes, total_bytes = 0, sum(file.size_bytes for file in described)
    for count, (candidate, file) in enumerate(zip(found, described, strict=True)):
        progress("looking at files", count, len(found), done_bytes, total_bytes)
        done_bytes += file.size_bytes
        try:
            result.files.append(_look(candidate, file, (known_files or {}).get(file.key), is_opened=full))
        except SourceError as error:
            shown_error = without_quotes(error) if candidate.cluster.is_pseudonymous else error
            result.refused.append(RefusedFile(file, shown_error))
    progress("looking at files", len(found), len(found), done_bytes, total_bytes)
    if not result.clusters.keys() - result.failing.keys():
        left_out_errors = [error for errors in result.left_out.values() for error in errors]
        raise SourceErrors([*left_out_errors, *(refused.error for refused in result.refused)])
    return result


def are_of_known_sizes(
    folder: Path,
    readers: Mapping[str, Reader],
    known_files: Mapping[tuple[str, str], KnownFile],
    *,
    with_history: Collection[tuple[str, str]] = (),
    privacy: Privacy | None = None,
) -> bool:
    """Return whether every file is known and has the size that it had when it was read. No file is opened.

    A file of another size has other bytes, so a survey would find something new.
    The parameters, and what is raised, are those of `survey`.
    """
    for candidate in _all_candidates(folder, readers, Survey(with_history=with_history, privacy=privacy)):
        file = _described(folder, candidate)
        before = known_files.get(file.key)
        if before is None or (before.status != REFUSED and before.size_bytes != file.size_bytes):
            return False
    return True


def _all_candidates(folder: Path, readers: Mapping[str, Reader], survey: Survey) -> list[Candidate]:
    return [
        candidate
        for cluster_folder in cluster_folders(folder)
        for candidate in _cluster_candidates(cluster_folder, readers, survey)
    ]


def _cluster_candidates(folder: Path, readers: Mapping[str, Reader], survey: Survey) -> list[Candidate]:
    """Return the files of a cluster, or leave the cluster out."""
    cluster_id = shown(folder, folder.parent)
    if not is_utf8(folder.name):
        survey.left_out[cluster_id] = [SourceError(cluster_id, "its name is not UTF-8", "Rename the folder.")]
        return []
    if refusal := refusal_of_link(folder, cluster_id):
        survey.left_out[cluster_id] = [refusal]
        return []
    if leads_into_cluster(folder):
        what = "a link into another cluster's folder; the settings there are not its own, and the defaults hold"
        survey.warnings.append(SourceError(cluster_id, what, "Make it a folder with links to the folders of logs."))
    cluster, wrong = read_settings(folder, cluster_id)
    if survey.privacy and not wrong and (change := survey.privacy.change_of(cluster)):
        survey.left_out[cluster_id] = [change]
        survey.changed_privacy.add(cluster_id)
        return []
    found: list[Candidate] = []
    try:
        found = list(candidates(cluster, folder, readers, survey.warnings))
    except OSError as error:
        wrong.append(unreadable(cluster_id, error))
    else:
        has_any = any(candidate.kind in ALONE for candidate in found) or any(
            known == cluster_id for known, _ in survey.with_history
        )
        if "sacct" in readers and not has_any:
            wrong.append(_no_accounting(cluster_id))
    if wrong:
        survey.left_out[cluster_id] = wrong
        return []
    survey.clusters[cluster_id] = cluster
    return found


def _no_accounting(cluster_id: str) -> SourceError:
    return SourceError(
        f"{cluster_id}/sacct",
        "no accounting export there, and nothing can be said of a cluster without one",
        f"Put one there: {LOG_KINDS['sacct'].export_to(f'{cluster_id}/sacct')}",
    )


def _described(folder: Path, candidate: Candidate) -> SourceFile:
    """Return a file with its size and time, as far as the file system gives them."""
    size, modified_at = 0, NEVER
    # A file system may give a time that is out of the calendar's range.
    with suppress(OSError, OverflowError, ValueError):
        status = require_regular(candidate.path)
        size = status.st_size
        modified_at = datetime.fromtimestamp(status.st_mtime_ns // 1000 / 1_000_000, UTC).replace(tzinfo=None)
    return SourceFile(
        cluster_id=candidate.cluster.cluster_id,
        kind=candidate.kind,
        path=shown(candidate.path, folder),
        absolute=candidate.path,
        size_bytes=size,
        modified_at=modified_at,
    )


def _look(candidate: Candidate, file: SourceFile, before: KnownFile | None, *, is_opened: bool) -> SourceFile:
    """Return a file with its hash and dialect, or raise `SourceError` to refuse it."""
    if candidate.error is not None:
        raise candidate.error
    try:
        status = require_regular(candidate.path)
    except OSError as error:
        raise unreadable(file.path, error) from error
    if candidate.kind == MANIFEST and status.st_size > MAX_MANIFEST_BYTES:
        raise SourceError(file.path, f"larger than {MAX_MANIFEST_BYTES:,} bytes, so no manifest", "Make it shorter.")
    reader = reader_key(candidate.reader, candidate.cluster)
    now = (file.size_bytes, file.modified_at, reader)
    if before and not is_opened and (before.size_bytes, before.modified_at, before.reader) == now:
        if before.status == REFUSED:
            raise SourceError(file.path, before.reason or "", before.next_step or "")
        return replace(file, sha256=before.sha256, dialect=before.dialect)
    return _opened(candidate, file, before)


def _opened(candidate: Candidate, file: SourceFile, before: KnownFile | None) -> SourceFile:
    had_content = before is not None and before.status != REFUSED and candidate.kind in EMPTIED
    content = inspect(candidate.path, file.path, may_be_empty=had_content)
    if before is not None and had_content and not content.sample.strip():
        dialect = before.dialect
    else:
        dialect = candidate.reader.detect(content.sample, file.path, candidate.cluster)
    if dialect not in candidate.reader.DIALECTS and translation_of(candidate.kind, dialect) is None:
        raise ValueError(f"{candidate.kind}: detect gave {dialect!r}, which is not among its dialects")
    return replace(
        file,
        sha256=content.sha256,
        size_bytes=content.size_bytes or file.size_bytes,
        dialect=dialect,
        is_plain=content.is_plain,
        last_line_open=content.last_line_open,
    )
