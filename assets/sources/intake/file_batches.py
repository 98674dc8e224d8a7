"""Read a batch of files in parallel with others, and without the files that make it fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import duckdb

from assets.bad_clusters.errors import is_machine_error
from assets.sources.database_settings import one_thread
from assets.sources.intake.batch import load_batch
from assets.sources.intake.find.folder import RefusedFile
from assets.sources.intake.find.known_files import Key, forget_files
from assets.sources.intake.isolating import load_good_files, named_files
from assets.sources.intake.read.batch_lines import MAX_BATCH_BYTES, estimated_text_bytes
from assets.sources.reader import Reader, SourceFile
from assets.sources.settings import ClusterSettings
from assets.warehouse import transaction


@dataclass
class Outcome:
    """The outcome of a batch."""

    batch: FileBatch
    refused: list[RefusedFile] = field(default_factory=list)
    must_be_read_alone: bool = False
    """Nothing was read in parallel with other batches, as that needs too much memory."""


@dataclass(frozen=True)
class FileBatch:
    """Files of one cluster and kind that are read in one transaction, on any connection."""

    reader: Reader
    cluster: ClusterSettings
    files: Sequence[SourceFile]
    run_id: str
    replaced: Mapping[Key, Sequence[Key]]
    """The keys in `ops.files` that each file replaces, by file."""

    @property
    def is_read_alone(self) -> bool:
        """Whether no other batch may be read at the same time.

        A file larger than a batch takes more memory than one reader may use. A function in Python makes pseudonyms:
        all connections share it, and it blocks the others.
        """
        return self.cluster.is_pseudonymous or sum(map(estimated_text_bytes, self.files)) > MAX_BATCH_BYTES

    def read_beside_others(self, con: duckdb.DuckDBPyConnection) -> Outcome:
        """Read the batch unless it needs the memory of the others; then it is read alone later."""
        try:
            self._load(con, self.files)
        except duckdb.OutOfMemoryException:
            return Outcome(self, must_be_read_alone=True)
        except Exception as error:
            if is_machine_error(error) and not named_files(self.files, error):
                raise
            return self.read(con)
        return Outcome(self)

    def read(self, con: duckdb.DuckDBPyConnection) -> Outcome:
        """Read the batch; if that fails, leave out the files that cause it."""
        return Outcome(self, load_good_files(partial(self._load, con), self.files))

    def _load(self, con: duckdb.DuckDBPyConnection, files: Sequence[SourceFile]) -> None:
        with one_thread(con), transaction(con):
            forget_files(con, self.reader, [key for file in files for key in self.replaced[file.key]])
            load_batch(con, self.cluster, self.reader, files, self.run_id)
