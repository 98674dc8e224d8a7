"""A kind's files into its raw table, a batch at a time, each one transaction: a crash leaves only whole batches.

What the warehouse holds afterwards depends only on the files that are there, not on when or in which order they came.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from assets.sources.batch import load_batch, transaction
from assets.sources.batch_lines import batches
from assets.sources.folder import KnownFile, Progress, Survey, is_as_it_was, no_progress
from assets.sources.one_thread import one_thread
from assets.sources.reading import Reader, SourceFile, WholeFileReader, reader_key


@dataclass
class LoadResult:
    """What one kind's files came to."""

    files_read: int = 0
    files_unchanged: int = 0
    files_removed: int = 0
    warnings: list[str] = field(default_factory=list)


def known_files(con: duckdb.DuckDBPyConnection, kind: str | None = None) -> dict[tuple[str, str], KnownFile]:
    """Give what `ops.files` says, by cluster and path."""
    rows = con.execute(
        """
        select cluster_id, path, size_bytes, modified_at, sha256, dialect, reader
        from ops.files where $kind is null or kind = $kind
        """,
        {"kind": kind},
    ).fetchall()
    return {(row[0], row[1]): KnownFile(*row[2:]) for row in rows}


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
    present = survey.of_kind(reader.KIND)
    result = LoadResult()
    vanished = sorted(known.keys() - {file.key for file in present})
    if vanished:
        with transaction(con):
            _forget(con, reader, vanished)
        result.files_removed = len(vanished)
        result.warnings = [f"{path}: gone from the sources folder, its rows are removed" for _, path in vanished]
    pending: dict[str, list[SourceFile]] = {}
    for file in present:
        before = known.get(file.key)
        key = reader_key(reader, survey.clusters[file.cluster_id])
        if full or before is None or before.reader != key or not is_as_it_was(file, before, reader):
            pending.setdefault(file.cluster_id, []).append(file)
            continue
        result.files_unchanged += 1
        if before.modified_at != file.modified_at:
            _note_modification(con, file)
    total, done_bytes = sum(map(len, pending.values())), 0
    for cluster_id, files in pending.items():
        for batch in batches(files):
            # Whole files are read in the order of their lines, and so by one thread.
            threads = one_thread(con) if isinstance(reader, WholeFileReader) else nullcontext()
            with threads, transaction(con):
                _forget(con, reader, [file.key for file in batch if file.key in known])
                load_batch(con, survey.clusters[cluster_id], reader, batch, run_id)
            result.files_read += len(batch)
            done_bytes += sum(file.size_bytes for file in batch)
            progress(f"reading {reader.KIND}", result.files_read, total, done_bytes)
    return result


def _note_modification(con: duckdb.DuckDBPyConnection, file: SourceFile) -> None:
    con.execute(
        "update ops.files set modified_at = ? where cluster_id = ? and path = ?",
        [file.modified_at, file.cluster_id, file.path],
    )


def _forget(con: duckdb.DuckDBPyConnection, reader: Reader, keys: Sequence[tuple[str, str]]) -> None:
    """Delete everything that files left in the warehouse, and have the table settled again."""
    con.execute(
        "insert into ops.unsettled select $name, false where not exists (from ops.unsettled where table_name = $name)",
        {"name": reader.TABLE},
    )
    if not keys:
        return
    con.execute("update ops.unsettled set lost_rows = true where table_name = ?", [reader.TABLE])
    con.register("gone_files", pa.table({"cluster_id": [key[0] for key in keys], "path": [key[1] for key in keys]}))
    try:
        for table in (f"raw.{reader.TABLE}", "ops.files", "ops.quarantine", "ops.skips"):
            con.execute(
                f"delete from {table} using gone_files as gone "
                f"where {table}.cluster_id = gone.cluster_id and {table}.path = gone.path"
            )
    finally:
        con.unregister("gone_files")
