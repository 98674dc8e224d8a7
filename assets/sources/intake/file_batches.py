"""Read a batch of files: beside others, from where its file grew, or without the files and lines that are at fault."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import duckdb

from assets.bad_clusters.errors import is_machine_error
from assets.sources.database_settings import one_thread
from assets.sources.errors import SourceError
from assets.sources.intake.batch import MustBeReadAlone, load_batch
from assets.sources.intake.find.folder import RefusedFile
from assets.sources.intake.find.known_files import Key, forget_files, mark_unsettled
from assets.sources.intake.find.versions import note_unsettled
from assets.sources.intake.isolating import Findings, load_good_parts, named_files
from assets.sources.intake.read.batch_lines import (
    MAX_BATCH_BYTES,
    Aside,
    estimated_text_bytes,
    read_batch_lines,
    scratch_folder,
)
from assets.sources.intake.read.copies import CopiesInFolder
from assets.sources.intake.read.growing import MustBeReadWhole, as_whole, forget_lines_read_again, write_tail
from assets.sources.reader import Reader, ResumePoint, SourceFile, WholeFileReader
from assets.sources.settings import ClusterSettings
from assets.warehouse import transaction

MAX_BYTES_BESIDE_OTHERS = 2 * 1024**3
"""Size of a file that DuckDB's own reader may take whole. Two of 1.4 GB beside each other took 1.9 GB of memory."""


class _TrialOverError(Exception):
    """Ends a trial, so that its transaction is undone."""


@dataclass
class Outcome:
    """The outcome of a batch."""

    batch: FileBatch
    findings: Findings = field(default_factory=Findings)
    files_read_on: int = 0
    warnings: list[str] = field(default_factory=list)
    must_be_read_alone: bool = False
    """Nothing of it was read beside others, as it takes too much memory for that."""


@dataclass(frozen=True)
class FileBatch:
    """Files of one cluster and kind that are read in one transaction, on any connection."""

    reader: Reader
    cluster: ClusterSettings
    files: Sequence[SourceFile]
    run_id: str
    replaced: Mapping[Key, Sequence[Key]]
    """By each file, the keys in `ops.files` of what it takes the place of."""

    @property
    def is_read_alone(self) -> bool:
        """Tell whether no other batch may be read at the same time.

        A file larger than a batch takes more memory than one reader may have, unless DuckDB's own reader takes it.
        Pseudonyms are made by a function in Python, which is that of all connections and lets no other run.
        """
        most = MAX_BYTES_BESIDE_OTHERS if isinstance(self.reader, WholeFileReader) else MAX_BATCH_BYTES
        return self.cluster.is_pseudonymous or sum(map(estimated_text_bytes, self.files)) > most

    def read_beside_others(self, con: duckdb.DuckDBPyConnection) -> Outcome:
        """Read the batch, unless it needs the memory of the others: then it is read alone later."""
        if not self.files[0].resume:
            try:
                self._load(con, self.files, is_beside_others=True)
            except (duckdb.OutOfMemoryException, MustBeReadAlone):
                return Outcome(self, must_be_read_alone=True)
            except Exception as error:
                if is_machine_error(error) and not named_files(self.files, error):
                    raise
            else:
                return Outcome(self)
        return self.read(con)

    def read(self, con: duckdb.DuckDBPyConnection) -> Outcome:
        """Read the batch; where that fails, leave out the files and lines that are at fault."""
        outcome, files = Outcome(self), self.files
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
            mark_unsettled(con, self.reader)
            forget_lines_read_again(con, self.reader, file)
            note_unsettled(con, [file.key])
            tail = write_tail(file, resume, Path(scratch) / "tail.txt")
            load_batch(con, self.cluster, self.reader, [tail], self.run_id)

    def _threads(self, con: duckdb.DuckDBPyConnection) -> AbstractContextManager[object]:
        """Whole files are read in the order of their lines, and so by one thread."""
        return one_thread(con) if isinstance(self.reader, WholeFileReader) else nullcontext()

    def _load(
        self,
        con: duckdb.DuckDBPyConnection,
        files: Sequence[SourceFile],
        aside: Aside | None = None,
        *,
        is_trial: bool = False,
        is_beside_others: bool = False,
    ) -> None:
        max_bytes_by_lines = MAX_BATCH_BYTES if is_beside_others else None
        with suppress(_TrialOverError), self._threads(con), transaction(con):
            forget_files(con, self.reader, [key for file in files for key in self.replaced[file.key]])
            note_unsettled(con, [file.key for file in files])
            load_batch(
                con, self.cluster, self.reader, files, self.run_id, aside=aside, max_bytes_by_lines=max_bytes_by_lines
            )
            if is_trial:
                raise _TrialOverError

    def _count_lines(self, con: duckdb.DuckDBPyConnection, file: SourceFile) -> int:
        with suppress(_TrialOverError), transaction(con):
            with scratch_folder(con) as scratch:
                read_batch_lines(con, self.cluster, self.reader, [file], CopiesInFolder(Path(scratch)))
            ((count,),) = con.execute("select coalesce(max(line_number), 0) from lines").fetchall()
            raise _TrialOverError
        return count
