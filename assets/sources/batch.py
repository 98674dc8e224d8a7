"""One batch of files: lines in, the reader's steps run, every line proved accounted for, the result moved on."""

from __future__ import annotations

import tempfile
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
import pyarrow as pa

from assets.sources.folder import SourceFile
from assets.sources.lines import NUMBERED_LINES, is_compressed, read_lines, write_copy
from assets.sources.reading import (
    KEEP_ROWS,
    Batch,
    Reader,
    SourceError,
    SourceErrors,
    Step,
    WholeFileReader,
    reader_key,
)
from assets.sources.settings import ClusterSettings

BATCH_BYTES = 256 * 1024 * 1024
"""An accounting batch takes about four times its bytes of memory, or of temporary files beside the warehouse."""
BATCH_FILES = 2000
TYPICAL_COMPRESSION = 10
LONGEST_RAW = 64 * 1024


@contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commit what is done inside, or nothing of it."""
    con.begin()
    try:
        yield
        con.commit()
    except BaseException:
        # After a full disk DuckDB may have closed the database itself; what went wrong first is what counts.
        with suppress(duckdb.Error):
            con.rollback()
        raise
    finally:
        with suppress(duckdb.Error):
            con.execute("set preserve_insertion_order = true")


def run_steps(con: duckdb.DuckDBPyConnection, steps: Sequence[Step]) -> None:
    """Run a reader's steps in order."""
    for step in steps:
        if isinstance(step, str):
            con.execute(step)
        else:
            step(con)


def batches(files: Sequence[SourceFile]) -> Iterator[list[SourceFile]]:
    """Cut the files of one cluster into batches bounded by bytes and by count."""
    batch: list[SourceFile] = []
    total = 0
    for file in files:
        size = file.size_bytes * (TYPICAL_COMPRESSION if is_compressed(file.absolute) else 1)
        if batch and (total + size > BATCH_BYTES or len(batch) >= BATCH_FILES):
            yield batch
            batch, total = [], 0
        batch.append(file)
        total += size
    if batch:
        yield batch


def scratch_folder(con: duckdb.DuckDBPyConnection) -> tempfile.TemporaryDirectory[str]:
    """Make a folder for copies beside the warehouse file, where there is room for data."""
    row = con.execute("select path from duckdb_databases() where database_name = current_database()").fetchone()
    beside = Path(row[0]).parent if row and row[0] else None
    return tempfile.TemporaryDirectory(prefix="reading-", dir=beside)


def read_batch_lines(
    con: duckdb.DuckDBPyConnection,
    cluster: ClusterSettings,
    files: Sequence[SourceFile],
    scratch: Path,
    taken: Container[int] = (),
) -> list[int]:
    """Fill `batch_files`, and `lines` but for files already taken; give the ids of those whose archive is cut off."""
    paths: dict[int, Path] = {}
    cut, still_open, damaged = [], [], []
    for file_id, file in enumerate(files):
        is_open = file.last_line_open
        if file.is_plain and file_id not in taken:
            paths[file_id] = file.absolute
        elif file_id not in taken:
            copy = write_copy(file.absolute, scratch / f"{file_id}.txt")
            paths[file_id], is_open = copy.path, copy.last_line_open
            if copy.is_cut:
                cut.append(file_id)
            if copy.has_bad_bytes:
                damaged.append((file_id, "bad_encoding"))
        still_open.append(is_open)
    try:
        read_lines(con, paths)
    except duckdb.InvalidInputException as error:
        names = ", ".join(file.path for file in files) if len(files) < 4 else f"one of {len(files)} files"
        first_line = str(error).splitlines()[0]
        wrong = SourceError(names, f"cannot be read as lines ({first_line})", "Look for a line of many megabytes.")
        raise SourceErrors([wrong]) from None
    table = pa.table(
        {
            "file_id": pa.array(range(len(files)), pa.int32()),
            "cluster_id": [cluster.cluster_id] * len(files),
            "path": [file.path for file in files],
            "dialect": [file.dialect for file in files],
            "modified_at": pa.array([file.modified_at for file in files], pa.timestamp("us")),
            "timezone": [cluster.settings.timezone] * len(files),
            "last_line_open": still_open,
            "is_cut": [file_id in set(cut) for file_id in range(len(files))],
            "sha256": [file.sha256 for file in files],
            "size_bytes": pa.array([file.size_bytes for file in files], pa.int64()),
        }
    )
    con.register("batch_files_table", table)
    con.execute("create or replace temp table batch_files as select * from batch_files_table")
    con.unregister("batch_files_table")
    con.execute("create or replace temp table file_warnings (file_id integer, warning varchar)")
    if damaged:
        con.executemany("insert into file_warnings values (?, ?)", damaged)
    return cut


def load_batch(
    con: duckdb.DuckDBPyConnection,
    cluster: ClusterSettings,
    reader: Reader,
    files: Sequence[SourceFile],
    run_id: str,
) -> None:
    """Read a batch into raw and ops, inside the caller's transaction.

    Raises
    ------
    SourceErrors
        A file that can only be refused once it is being read.
    AssertionError
        The reader lost or doubled a line.
    """
    taken = _take_whole_files(con, reader, files)
    with scratch_folder(con) as scratch:
        cut = read_batch_lines(con, cluster, files, Path(scratch), taken)
    con.execute(
        """
        create or replace temp table file_lines as
        select file_id, count(*) as lines_in, max(line_number) as last_line from lines group by file_id
        union all
        select file_id, line_count, line_count from taken_files
        """
    )
    con.execute("create or replace temp table cut_lines as from lines limit 0")
    if cut:
        _set_cut_lines_aside(con)
    steps = list(reader.statements(Batch(cluster, frozenset(file.dialect for file in files))))
    until = steps.index(KEEP_ROWS) if KEEP_ROWS in steps else len(steps)
    try:
        run_steps(con, steps[:until])
        _keep_rows(con, reader)
        run_steps(con, steps[until + 1 :])
    except SourceError as error:
        raise SourceErrors([error]) from None
    _prove_every_line_accounted_for(con, reader)
    _move(con, reader, cluster, run_id)
    drop_temporary(con)


def _take_whole_files(con: duckdb.DuckDBPyConnection, reader: Reader, files: Sequence[SourceFile]) -> set[int]:
    """Let a reader that can do so read whole files at once; give their ids."""
    con.execute("create or replace temp table taken_files (file_id integer, line_count bigint)")
    if isinstance(reader, WholeFileReader):
        reader.take(con, dict(enumerate(files)))
    return {file_id for (file_id,) in con.execute("select file_id from taken_files").fetchall()}


def drop_temporary(con: duckdb.DuckDBPyConnection) -> None:
    """Free what a batch leaves in temp tables and views."""
    for kind, query in (
        ("view", "select view_name from duckdb_views() where temporary and not internal"),
        ("table", "select table_name from duckdb_tables() where temporary and not internal"),
    ):
        for (name,) in con.execute(query).fetchall():
            con.execute(f'drop {kind} if exists temp."{name}"')


def _set_cut_lines_aside(con: duckdb.DuckDBPyConnection) -> None:
    """Take the last line of every cut-off archive out of what the reader sees."""
    con.execute(
        """
        insert into cut_lines
        select lines.*
        from lines
        inner join batch_files on batch_files.file_id = lines.file_id and batch_files.is_cut
        inner join file_lines on file_lines.file_id = lines.file_id and file_lines.last_line = lines.line_number
        """
    )
    con.execute(
        f"""
        create or replace temp view lines as
        select * from ({NUMBERED_LINES}) anti join cut_lines using (file_id, line_number)
        """
    )


def _keep_rows(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Move `loaded_rows` into raw, and leave the lines that raw now holds of the batch in `loaded_lines`."""
    # Inventory defines the nodes: its rows have an id from the start, and settling makes it final.
    provisional = ", lower(loaded_rows.node_name) as node_id" if reader.TABLE == "nodes" else ""
    # The order of rows means nothing in raw, and keeping it doubles the work of the widest insert (measured).
    con.execute("set preserve_insertion_order = false")
    con.execute(
        f"""
        insert into raw.{reader.TABLE} by name
        select
            batch_files.cluster_id, batch_files.path, 'loaded' as disposition,
            loaded_rows.* exclude (file_id){provisional}
        from loaded_rows inner join batch_files on batch_files.file_id = loaded_rows.file_id
        """
    )
    con.execute(
        f"""
        create or replace temp table loaded_lines as
        select distinct batch_files.file_id, kept.line_number
        from raw.{reader.TABLE} as kept
        inner join batch_files on batch_files.path = kept.path and batch_files.cluster_id = kept.cluster_id
        """
    )


def _prove_every_line_accounted_for(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Fail unless every line is in raw or in exactly one of the reader's other two tables.

    Equal counts and equal sums of 64-bit hashes mean the same lines, each once; only when they differ are lines
    compared one by one.
    """
    outcomes = """(
        from loaded_lines
        union all
        select file_id, line_number from skipped_lines
        union all
        select file_id, line_number from quarantined_lines
    ) as outcomes"""
    lines = """(
        select file_id, line_number from lines
        union all
        select file_id, unnest(range(1, line_count + 1)) as line_number from taken_files
    ) as lines"""
    print_of = "select count(*), sum(hash(file_id, line_number)::hugeint) from"
    there, told = (con.execute(f"{print_of} {rows}").fetchone() for rows in (lines, outcomes))
    if there is None or told is None or there == told:
        return
    row = con.execute(
        f"""
        select batch_files.path, line_number, count(outcomes.file_id) as outcome_count
        from {lines}
        left join {outcomes} using (file_id, line_number)
        inner join batch_files using (file_id)
        group by all having outcome_count <> 1 order by all limit 1
        """
    ).fetchone()
    where = "a line that is not in the file" if row is None else f"{row[0]}, line {row[1]}: {row[2]} outcomes, not one"
    raise AssertionError(f"{reader.KIND}: {there[0]} lines, {told[0]} outcomes; {where}")


def _move(con: duckdb.DuckDBPyConnection, reader: Reader, cluster: ClusterSettings, run_id: str) -> None:
    """Move what a reader left beside the rows into ops."""
    con.execute(
        """
        create or replace temp table all_quarantined as
        select
            found.file_id,
            found.line_number,
            case
                when batch_files.last_line_open and found.line_number = file_lines.last_line then 'truncated_record'
                else found.reason
            end as reason,
            found.detail
        from (
            select file_id, line_number, reason, detail from quarantined_lines
            union all
            select file_id, line_number, 'truncated_record', 'the archive is cut off here' from cut_lines
        ) as found
        inner join batch_files on batch_files.file_id = found.file_id
        inner join file_lines on file_lines.file_id = found.file_id
        """
    )
    if con.execute("from all_quarantined limit 1").fetchone() is not None:
        _keep_quarantined_lines(con)
    con.execute(
        """
        insert into ops.skips by name
        select batch_files.cluster_id, batch_files.path, skipped_lines.reason, count(*) as line_count
        from skipped_lines inner join batch_files on batch_files.file_id = skipped_lines.file_id
        group by all
        """
    )
    _account_for_files(con, reader, cluster, run_id)


def _keep_quarantined_lines(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        f"""
        insert into ops.quarantine by name
        select
            batch_files.cluster_id, batch_files.path, found.line_number, found.reason, found.detail,
            left(coalesce(texts.line, ''), {LONGEST_RAW}) as raw
        from all_quarantined as found
        inner join batch_files on batch_files.file_id = found.file_id
        inner join (from lines union all from cut_lines) as texts
            on texts.file_id = found.file_id and texts.line_number = found.line_number
        """
    )


def _account_for_files(con: duckdb.DuckDBPyConnection, reader: Reader, cluster: ClusterSettings, run_id: str) -> None:
    con.execute(
        """
        insert into ops.files by name
        with loaded as (select file_id, count(*) as line_count from loaded_lines group by file_id),
        skipped as (select file_id, count(*) as line_count from skipped_lines group by file_id),
        quarantined as (
            select
                file_id,
                count(*) as line_count,
                bool_or(reason = 'truncated_record') as is_partial
            from all_quarantined
            group by file_id
        ),
        warned as (
            select file_id, list(distinct warning order by warning) as warnings from file_warnings group by file_id
        )
        select
            batch_files.cluster_id,
            batch_files.path,
            batch_files.sha256,
            $kind as kind,
            batch_files.dialect,
            coalesce(file_lines.lines_in, 0) as lines_in,
            coalesce(loaded.line_count, 0) as loaded,
            coalesce(skipped.line_count, 0) as skipped,
            coalesce(quarantined.line_count, 0) as quarantined,
            $run_id as run_id,
            batch_files.size_bytes,
            batch_files.modified_at,
            coalesce(quarantined.is_partial, false) or batch_files.is_cut as is_partial,
            $reader as reader,
            coalesce(warned.warnings, []::varchar[]) as warnings
        from batch_files
        left join file_lines on file_lines.file_id = batch_files.file_id
        left join loaded on loaded.file_id = batch_files.file_id
        left join skipped on skipped.file_id = batch_files.file_id
        left join quarantined on quarantined.file_id = batch_files.file_id
        left join warned on warned.file_id = batch_files.file_id
        """,
        {"kind": reader.KIND, "run_id": run_id, "reader": reader_key(reader, cluster)},
    )
