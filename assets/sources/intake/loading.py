"""Load the files of a kind into its raw table. Each batch is one transaction, so a crash leaves only whole batches.

What the warehouse holds afterwards depends only on the files that are there, not on when or in which order they came.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from assets.sources.errors import without_quotes
from assets.sources.intake.batch_lines import batches
from assets.sources.intake.file_batches import FileBatch, Outcome
from assets.sources.intake.folder import REFUSED, KnownFile, Progress, RefusedFile, Survey, is_unchanged, no_progress
from assets.sources.intake.known_files import forget_files, known_files, note_modification
from assets.sources.intake.side_by_side import run_side_by_side
from assets.sources.reader import Reader, SourceFile, reader_key
from assets.sources.sql.database_settings import joins_as_written
from assets.sql import identifier
from assets.warehouse import transaction


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
    loadings = {kind: _Loading(con, survey, reader, run_id, known_files(con, kind)) for kind, reader in readers.items()}
    batches_of_all = [batch for loading in loadings.values() for batch in loading.batches_to_read(full=full)]
    total, done, done_bytes = sum(len(batch.files) for batch in batches_of_all), 0, 0

    alone = [batch for batch in batches_of_all if batch.is_read_alone]

    def tell(outcome: Outcome) -> None:
        nonlocal done, done_bytes
        batch = outcome.batch
        if outcome.must_be_read_alone:
            alone.append(batch)
            return
        loadings[batch.reader.KIND].take_note(outcome)
        done += len(batch.files)
        done_bytes += sum(file.size_bytes for file in batch.files)
        progress(f"reading {batch.reader.KIND}", done, total, done_bytes)

    with joins_as_written(con):
        run_side_by_side(con, [batch.read_beside_others for batch in batches_of_all if not batch.is_read_alone], tell)
        for batch in alone:
            tell(batch.read(con))
    return {kind: loading.result for kind, loading in loadings.items()}


@dataclass
class _Loading:
    """Loads the files of one kind."""

    con: duckdb.DuckDBPyConnection
    survey: Survey
    reader: Reader
    run_id: str
    known: dict[tuple[str, str], KnownFile]
    result: LoadResult = field(default_factory=LoadResult)

    def batches_to_read(self, *, full: bool) -> list[FileBatch]:
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
            found += [
                FileBatch(self.reader, self.survey.clusters[cluster_id], group, self.run_id, self.known)
                for group in groups
            ]
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
                note_modification(self.con, file)
        return pending

    def take_note(self, outcome: Outcome) -> None:
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
            _insert_row(self.con, "ops.files", row)


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
        f"{path}: gone from the sources folder; its rows stay until"
        f" `faultline forget {shlex.join([cluster_id, path])}` is run"
        for cluster_id, path in news
    ]


def _insert_row(con: duckdb.DuckDBPyConnection, table: str, row: dict[str, Any]) -> None:
    """Insert one row, given by its columns."""
    columns = ", ".join(identifier(column) for column in row)
    con.execute(f"insert into {table} ({columns}) values ({', '.join('?' * len(row))})", list(row.values()))
