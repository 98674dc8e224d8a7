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
from assets.sources.intake.batch_lines import batches, read_batch_lines, scratch_folder
from assets.sources.intake.folder import REFUSED, KnownFile, Progress, RefusedFile, Survey, is_unchanged, no_progress
from assets.sources.intake.growing import MustBeReadWhole, as_whole, forget_lines_read_again, write_tail
from assets.sources.intake.isolating import Aside, is_machine_error, load_good_parts
from assets.sources.reader import Reader, ResumePoint, SourceFile, WholeFileReader, reader_key
from assets.sources.settings import ClusterSettings
from assets.sources.sql.one_thread import one_thread
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


def load_kind(
    con: duckdb.DuckDBPyConnection,
    survey: Survey,
    reader: Reader,
    run_id: str,
    *,
    full: bool = False,
    progress: Progress = no_progress,
) -> LoadResult:
    """Bring one kind's raw table up to what the folder holds now; `settling.settle` finishes it.

    Parameters
    ----------
    con
        A writing connection with the raw and ops tables.
    survey
        The folder; every file of the reader's kind must be in it.
    reader
        The format's module.
    run_id
        Kept beside every file read.
    full
        Read every file again.
    progress
        Told after every batch.
    """
    known = known_files(con, reader.KIND)
    present, refused = survey.of_kind(reader.KIND), survey.refused_of_kind(reader.KIND)
    result = LoadResult()
    looked_at = {file.key for file in present} | {refused_file.file.key for refused_file in refused}
    # Nobody knows what became of the files of a cluster that is left out, or whose folder is gone.
    vanished = sorted(key for key in known.keys() - looked_at if key[0] in survey.clusters)
    _keep_vanished(con, reader, {key: known[key] for key in vanished}, present, result)
    loading = _Loading(con, survey, reader, run_id, known, result)
    for refused_file in refused:
        loading.refuse(refused_file)
    pending: dict[str, list[SourceFile]] = {}
    for file in present:
        before = known.get(file.key)
        key = reader_key(reader, survey.clusters[file.cluster_id])
        is_read = before is not None and before.status != REFUSED and before.reader == key
        if full or before is None or not is_read or not is_unchanged(file, before, reader):
            pending.setdefault(file.cluster_id, []).append(file)
            continue
        result.files_unchanged += 1
        if before.modified_at != file.modified_at or not before.is_present:
            _note_modification(con, file)
    total, done, done_bytes = sum(map(len, pending.values())), 0, 0
    for cluster_id, files in pending.items():
        cluster = survey.clusters[cluster_id]
        whole = []
        for file in files:
            to_read = loading.read_on(cluster, file, file.resume) if file.resume else file
            whole += [to_read] if to_read else []
        done += len(files) - len(whole)
        for batch in batches(whole):
            loading.read(cluster, batch)
            done += len(batch)
            done_bytes += sum(file.size_bytes for file in batch)
            progress(f"reading {reader.KIND}", done, total, done_bytes)
    return result


class _TrialOverError(Exception):
    """Ends a trial, so that nothing of it is kept."""


@dataclass(frozen=True)
class _Loading:
    """Loads the files of one kind."""

    con: duckdb.DuckDBPyConnection
    survey: Survey
    reader: Reader
    run_id: str
    known: dict[tuple[str, str], KnownFile]
    result: LoadResult

    def read(self, cluster: ClusterSettings, batch: Sequence[SourceFile]) -> None:
        """Read a batch in one transaction; where that fails, leave out the files and lines that are at fault."""
        findings = load_good_parts(partial(self._load, cluster), partial(self._count_lines, cluster), batch)

        def told(what: str) -> str:
            return what.partition(":")[0] if cluster.is_pseudonymous else what

        for refused in findings.refused:
            self.refuse(refused)
        self.result.files_read += len(batch) - len(findings.refused)
        self.result.warnings += [
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

    def read_on(self, cluster: ClusterSettings, file: SourceFile, resume: ResumePoint) -> SourceFile | None:
        """Read a file from where it grew, or return it as one that must be read whole."""
        try:
            with self._threads(), transaction(self.con), scratch_folder(self.con) as scratch:
                forget_files(self.con, self.reader, [])
                forget_lines_read_again(self.con, self.reader, file, resume)
                tail = write_tail(file, resume, Path(scratch) / "tail.txt")
                load_batch(self.con, cluster, self.reader, [tail], self.run_id)
        except Exception as error:
            is_of_file = isinstance(error, OSError) and error.filename == str(file.absolute)
            if is_machine_error(error) and not is_of_file:
                raise
            if not isinstance(error, MustBeReadWhole):
                self.result.warnings.append(
                    f"{file.path}: read whole, as reading it from where it grew failed ({type(error).__name__})"
                )
            try:
                return as_whole(file)
            except SourceError as refusal:
                self.refuse(RefusedFile(file, refusal))
                return None
        self.result.files_read += 1
        self.result.files_read_on += 1
        return None

    def _threads(self) -> AbstractContextManager[object]:
        """Whole files are read in the order of their lines, and so by one thread."""
        return one_thread(self.con) if isinstance(self.reader, WholeFileReader) else nullcontext()

    def _load(
        self,
        cluster: ClusterSettings,
        files: Sequence[SourceFile],
        aside: Aside | None = None,
        *,
        is_trial: bool = False,
    ) -> None:
        with suppress(_TrialOverError), self._threads(), transaction(self.con):
            forget_files(self.con, self.reader, [file.key for file in files if file.key in self.known])
            load_batch(self.con, cluster, self.reader, files, self.run_id, aside=aside)
            if is_trial:
                raise _TrialOverError

    def _count_lines(self, cluster: ClusterSettings, file: SourceFile) -> int:
        with suppress(_TrialOverError), transaction(self.con):
            with scratch_folder(self.con) as scratch:
                read_batch_lines(self.con, cluster, self.reader, [file], Path(scratch))
            ((count,),) = self.con.execute("select coalesce(max(line_number), 0) from lines").fetchall()
            raise _TrialOverError
        return count

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
    con.execute(
        "insert into ops.unsettled select $name, false where not exists (from ops.unsettled where table_name = $name)",
        {"name": reader.TABLE},
    )
    if not keys:
        return
    con.execute("update ops.unsettled set lost_rows = true where table_name = ?", [reader.TABLE])
    REMOVED_FILES.fill(con, keys)
    for table in (f"raw.{reader.TABLE}", "ops.files", "ops.quarantine", "ops.skips", "ops.resume_points"):
        con.execute(
            f"delete from {table} using removed_files as removed "
            f"where {table}.cluster_id = removed.cluster_id and {table}.path = removed.path"
        )
