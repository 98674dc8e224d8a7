"""Load the files of a kind into its raw table. Each batch is one transaction, so a crash leaves only whole batches.

What the warehouse holds afterwards depends only on the files that are there, not on when or in which order they came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import duckdb

from assets.sources.errors import SourceError, without_quotes
from assets.sources.intake.batch import load_batch
from assets.sources.intake.batch_lines import (
    MAX_BATCH_BYTES,
    batches,
    read_batch_lines,
    read_bytes,
    scratch_folder,
)
from assets.sources.intake.copies import CopiesInFolder
from assets.sources.intake.folder import REFUSED, KnownFile, Progress, RefusedFile, Survey, is_unchanged, no_progress
from assets.sources.intake.growing import MustBeReadWhole, as_whole, forget_lines_read_again, write_tail
from assets.sources.intake.isolating import Aside, Findings, is_machine_error, load_good_parts
from assets.sources.intake.side_by_side import run_side_by_side
from assets.sources.reader import Reader, ResumePoint, SourceFile, WholeFileReader, reader_key
from assets.sources.settings import ClusterSettings
from assets.sources.sql.database_settings import joins_as_written, one_thread
from assets.sources.sql.temp_tables import TempTable
from assets.sql import identifier
from assets.warehouse import transaction

REMOVED_FILES = TempTable("removed_files", {"cluster_id": "varchar", "path": "varchar"})


@dataclass
class LoadResult:
    """Counts and warnings of loading one kind."""

    files_read: int = 0
    """Read whole or from where they grew."""
    files_read_on: int = 0
    """Those of them that were read from where they grew."""
    files_unchanged: int = 0
    files_removed: int = 0
    files_vanished: int = 0
    files_refused: int = 0
    warnings: list[str] = field(default_factory=list)


def known_files(con: duckdb.DuckDBPyConnection, kind: str | None = None) -> dict[tuple[str, str], KnownFile]:
    """Return what `ops.files` says, by cluster and path."""
    rows = con.execute(
        """
        select
            cluster_id, path, size_bytes, modified_at, sha256, dialect, reader, status, reason, next_step, is_present,
            line_number, byte_offset, lines_again, not_before, left_out
        from ops.files left join ops.resume_points using (cluster_id, path)
        where $kind is null or kind = $kind
        """,
        {"kind": kind},
    ).fetchall()
    known = {}
    for row in rows:
        line_number, byte_offset, lines_again, not_before, left_out = row[11:]
        resume = None
        if line_number is not None:
            resume = ResumePoint(line_number, byte_offset, lines_again, not_before, tuple(left_out))
        known[row[0], row[1]] = replace(KnownFile(*row[2:11]), resume=resume)
    return known


def with_accounting(known: Mapping[tuple[str, str], KnownFile]) -> set[str]:
    """Name the clusters of which accounting was read."""
    return {
        cluster_id for (cluster_id, path), file in known.items() if file.status != REFUSED and is_of_kind(path, "sacct")
    }


def is_of_kind(path: str, kind: str) -> bool:
    """Tell by a file's path whether it lies in the folder of a kind.

    >>> is_of_kind("c1/sacct/2024/may.psv", "sacct")
    True
    """
    return path.split("/")[1] == kind


def load_kinds(
    con: duckdb.DuckDBPyConnection,
    survey: Survey,
    readers: Mapping[str, Reader],
    run_id: str,
    *,
    full: bool = False,
    progress: Progress = no_progress,
) -> dict[str, LoadResult]:
    """Bring the raw tables of some kinds up to what the folder holds now; `settling.settle` finishes them.

    Batches are read side by side, whatever their kinds and clusters, but for those that need much memory.

    Parameters
    ----------
    con
        A writing connection with the raw and ops tables, outside a transaction.
    survey
        The folder; every file of the readers' kinds must be in it.
    readers
        The formats' modules by kind.
    run_id
        Kept beside every file read.
    full
        Read every file again.
    progress
        Told after every batch.

    Returns
    -------
    What was read by kind.
    """
    loadings = [_Loading(con, survey, reader, run_id, known_files(con, kind)) for kind, reader in readers.items()]
    batches_of_all = [batch for loading in loadings for batch in loading.batches_to_read(full=full)]
    total, done, done_bytes = sum(len(batch.files) for batch in batches_of_all), 0, 0

    alone = [batch for batch in batches_of_all if batch.is_read_alone]

    def tell(outcome: _Outcome) -> None:
        nonlocal done, done_bytes
        batch = outcome.batch
        if outcome.lacked_memory:
            alone.append(batch)
            return
        batch.loading.take_note(outcome)
        done += len(batch.files)
        done_bytes += sum(file.size_bytes for file in batch.files)
        progress(f"reading {batch.loading.reader.KIND}", done, total, done_bytes)

    with joins_as_written(con):
        run_side_by_side(con, [batch.read_beside_others for batch in batches_of_all if not batch.is_read_alone], tell)
        for batch in alone:
            tell(batch.read(con))
    return {loading.reader.KIND: loading.result for loading in loadings}


class _TrialOverError(Exception):
    """Ends a trial, so that nothing of it is kept."""


@dataclass
class _Outcome:
    """What became of a batch."""

    batch: _Batch
    findings: Findings = field(default_factory=Findings)
    files_read_on: int = 0
    warnings: list[str] = field(default_factory=list)
    lacked_memory: bool = False
    """Nothing of it was read beside others; it has to be read alone."""


@dataclass
class _Loading:
    """Loads the files of one kind."""

    con: duckdb.DuckDBPyConnection
    survey: Survey
    reader: Reader
    run_id: str
    known: dict[tuple[str, str], KnownFile]
    result: LoadResult = field(default_factory=LoadResult)

    def batches_to_read(self, *, full: bool) -> list[_Batch]:
        """Note the files that are gone, refused or as they were, and return the batches of all others."""
        present, refused = self.survey.of_kind(self.reader.KIND), self.survey.refused_of_kind(self.reader.KIND)
        looked_at = {file.key for file in present} | {refused_file.file.key for refused_file in refused}
        # Nobody knows what became of the files of a cluster that is left out, or whose folder is gone.
        vanished = sorted(key for key in self.known.keys() - looked_at if key[0] in self.survey.clusters)
        _keep_vanished(self.con, self.reader, {key: self.known[key] for key in vanished}, present, self.result)
        for refused_file in refused:
            self.refuse(refused_file)
        pending, found = self._pending(present, full=full), []
        for cluster_id in dict.fromkeys(file.cluster_id for file in pending):
            files = [file for file in pending if file.cluster_id == cluster_id]
            apart = [[file] for file in files if file.resume]
            groups = [*apart, *batches([file for file in files if not file.resume])]
            found += [_Batch(self, self.survey.clusters[cluster_id], group) for group in groups]
        return found

    def _pending(self, present: Sequence[SourceFile], *, full: bool) -> list[SourceFile]:
        pending = []
        for file in present:
            before = self.known.get(file.key)
            key = reader_key(self.reader, self.survey.clusters[file.cluster_id])
            is_read = before is not None and before.status != REFUSED and before.reader == key
            if full or before is None or not is_read or not is_unchanged(file, before, self.reader):
                pending.append(file)
                continue
            self.result.files_unchanged += 1
            if before.modified_at != file.modified_at or not before.is_present:
                _note_modification(self.con, file)
        return pending

    def take_note(self, outcome: _Outcome) -> None:
        """Count what became of a batch, and record the files that it does not hold."""
        batch, findings = outcome.batch, outcome.findings
        for refused in findings.refused:
            self.refuse(refused)
        self.result.files_read += len(batch.files) - len(findings.refused)
        self.result.files_read_on += outcome.files_read_on

        def told(what: str) -> str:
            return what.partition(":")[0] if batch.cluster.is_pseudonymous else what

        self.result.warnings += [
            *outcome.warnings,
            *(
                f"{file.path}, line {number}: quarantined, as the reader of {self.reader.KIND} failed at it "
                f"({told(what)})"
                for file, number, what in findings.set_aside
            ),
            *(
                f"{file.path}: read line by line, as it failed otherwise ({told(what)})"
                for file, what in findings.by_lines
            ),
        ]

    def refuse(self, refused: RefusedFile) -> None:
        """Record in `ops.files` that a file is not read, and delete its rows."""
        file, error = refused.file, refused.error
        if self.survey.clusters[file.cluster_id].is_pseudonymous:
            error = without_quotes(error)
        self.result.files_refused += 1
        self.result.warnings.append(f"not read: {error}")
        before = self.known.get(file.key)
        reader = reader_key(self.reader, self.survey.clusters[file.cluster_id])
        now = KnownFile(
            file.size_bytes, file.modified_at, file.sha256, file.dialect, reader, REFUSED, error.what, error.next_step
        )
        if before == now:
            return
        row = {
            "cluster_id": file.cluster_id, "path": file.path, "kind": self.reader.KIND, "run_id": self.run_id,
            "lines_in": 0, "loaded": 0, "skipped": 0, "quarantined": 0, "is_partial": False, "warnings": [],
            **{name: value for name, value in now.__dict__.items() if name != "resume"},
        }  # fmt: skip
        with transaction(self.con):
            if before is not None:
                forget_files(self.con, self.reader, [file.key])
            insert_row(self.con, "ops.files", row)


@dataclass(frozen=True)
class _Batch:
    """Files of one cluster and kind that are read in one transaction, on any connection."""

    loading: _Loading
    cluster: ClusterSettings
    files: Sequence[SourceFile]

    @property
    def is_read_alone(self) -> bool:
        """Tell whether nothing is to be read beside the batch.

        A file larger than a batch takes more memory than one reader may have. Pseudonyms are made by a function in
        Python, which is that of all connections and lets no other run.
        """
        return self.cluster.is_pseudonymous or sum(map(read_bytes, self.files)) > MAX_BATCH_BYTES

    def read_beside_others(self, con: duckdb.DuckDBPyConnection) -> _Outcome:
        """Read the batch, unless it lacks the memory that others have: no file is refused for that."""
        if not self.files[0].resume:
            try:
                self._load(con, self.files)
            except duckdb.OutOfMemoryException:
                return _Outcome(self, lacked_memory=True)
            except Exception as error:
                if is_machine_error(error):
                    raise
            else:
                return _Outcome(self)
        return self.read(con)

    def read(self, con: duckdb.DuckDBPyConnection) -> _Outcome:
        """Read the batch; where that fails, leave out the files and lines that are at fault."""
        outcome, files = _Outcome(self), self.files
        (first, *_) = files
        if first.resume:
            try:
                self._read_on(con, first, first.resume)
            except Exception as error:
                is_of_file = isinstance(error, OSError) and error.filename == str(first.absolute)
                if is_machine_error(error) and not is_of_file:
                    raise
                if not isinstance(error, MustBeReadWhole):
                    what = f"reading it from where it grew failed ({type(error).__name__})"
                    outcome.warnings.append(f"{first.path}: read whole, as {what}")
                try:
                    files = [as_whole(first)]
                except SourceError as refusal:
                    outcome.findings.refused.append(RefusedFile(first, refusal))
                    return outcome
            else:
                outcome.files_read_on = 1
                return outcome
        outcome.findings = load_good_parts(partial(self._load, con), partial(self._count_lines, con), files)
        return outcome

    def _read_on(self, con: duckdb.DuckDBPyConnection, file: SourceFile, resume: ResumePoint) -> None:
        """Read a file from where it grew."""
        with self._threads(con), transaction(con), scratch_folder(con) as scratch:
            forget_files(con, self.loading.reader, [])
            forget_lines_read_again(con, self.loading.reader, file, resume)
            tail = write_tail(file, resume, Path(scratch) / "tail.txt")
            load_batch(con, self.cluster, self.loading.reader, [tail], self.loading.run_id)

    def _threads(self, con: duckdb.DuckDBPyConnection) -> AbstractContextManager[object]:
        """Whole files are read in the order of their lines, and so by one thread."""
        return one_thread(con) if isinstance(self.loading.reader, WholeFileReader) else nullcontext()

    def _load(
        self,
        con: duckdb.DuckDBPyConnection,
        files: Sequence[SourceFile],
        aside: Aside | None = None,
        *,
        is_trial: bool = False,
    ) -> None:
        reader, known = self.loading.reader, self.loading.known
        with suppress(_TrialOverError), self._threads(con), transaction(con):
            forget_files(con, reader, [file.key for file in files if file.key in known])
            load_batch(con, self.cluster, reader, files, self.loading.run_id, aside=aside)
            if is_trial:
                raise _TrialOverError

    def _count_lines(self, con: duckdb.DuckDBPyConnection, file: SourceFile) -> int:
        with suppress(_TrialOverError), transaction(con):
            with scratch_folder(con) as scratch:
                read_batch_lines(con, self.cluster, self.loading.reader, [file], CopiesInFolder(Path(scratch)))
            ((count,),) = con.execute("select coalesce(max(line_number), 0) from lines").fetchall()
            raise _TrialOverError
        return count


def insert_row(con: duckdb.DuckDBPyConnection, table: str, row: dict[str, Any]) -> None:
    """Insert one row, given by its columns."""
    columns = ", ".join(identifier(column) for column in row)
    con.execute(f"insert into {table} ({columns}) values ({', '.join('?' * len(row))})", list(row.values()))


def _keep_vanished(
    con: duckdb.DuckDBPyConnection,
    reader: Reader,
    vanished: Mapping[tuple[str, str], KnownFile],
    present: Sequence[SourceFile],
    result: LoadResult,
) -> None:
    """Keep what was read of files that are gone, unless the same bytes are there under another name.

    Logs are rotated and tidied away; what they told stays true. A file that was refused has left nothing to keep.
    """
    present_hashes = {(file.cluster_id, file.sha256) for file in present if file.sha256}
    moved = [key for key, file in vanished.items() if file.status == REFUSED or (key[0], file.sha256) in present_hashes]
    kept = [key for key in vanished if key not in set(moved)]
    news = [key for key in kept if vanished[key].is_present]
    if moved:
        with transaction(con):
            forget_files(con, reader, moved)
    if news:
        with transaction(con):
            con.executemany("update ops.files set is_present = false where cluster_id = ? and path = ?", news)
    result.files_removed, result.files_vanished = len(moved), len(kept)
    result.warnings += [
        f"{path}: gone from the sources folder; its rows stay until `faultline forget {cluster_id} {path}` is run"
        for cluster_id, path in news
    ]


def _note_modification(con: duckdb.DuckDBPyConnection, file: SourceFile) -> None:
    con.execute(
        "update ops.files set modified_at = ?, is_present = true where cluster_id = ? and path = ?",
        [file.modified_at, file.cluster_id, file.path],
    )


def forget_files(con: duckdb.DuckDBPyConnection, reader: Reader, keys: Sequence[tuple[str, str]]) -> None:
    """Delete everything that files left in the warehouse, and have the table settled again."""
    # Another batch may do the same at the same time: rows that are added do not stand in each other's way.
    con.execute("insert into ops.unsettled values (?, ?)", [reader.TABLE, bool(keys)])
    if not keys:
        return
    REMOVED_FILES.fill(con, keys)
    for table in (f"raw.{reader.TABLE}", "ops.files", "ops.quarantine", "ops.skips", "ops.resume_points"):
        con.execute(
            f"delete from {table} using removed_files as removed "
            f"where {table}.cluster_id = removed.cluster_id and {table}.path = removed.path"
        )
