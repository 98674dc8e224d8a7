"""Load one batch of files: read the lines, run the reader's plan, and prove that every line is accounted for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import duckdb

from assets.sources.batch_tables import (
    ASIDE_LINES,
    EMPTY_AT_FIRST,
    FILE_LINES,
    LOADED_LINES,
    QUARANTINED_LINES,
    SKIPPED_LINES,
)
from assets.sources.errors import SourceError, SourceErrors
from assets.sources.intake.account.line_accounts import account_for_batch, prove_every_line_accounted_for
from assets.sources.intake.account.sight import blind_files, mark_blind_files, note_sightings, sample_lines
from assets.sources.intake.account.unknown_lines import keep_unknown_lines
from assets.sources.intake.read.batch_lines import read_batch_lines, scratch_folder, set_lines_aside
from assets.sources.reader import Batch, Reader, ReadingPlan, SourceFile, Step
from assets.sources.regular import require_regular, unreadable
from assets.sources.settings import ClusterSettings
from assets.sources.text.masking import masked
from assets.sources.text.pseudonyms import create_cut_function, replaced_columns, require_key, words_of
from assets.sql import identifier


def run_steps(con: duckdb.DuckDBPyConnection, steps: Sequence[Step]) -> None:
    """Run a reader's steps in order."""
    for step in steps:
        if isinstance(step, str):
            con.execute(step)
        else:
            step(con)


def load_batch(
    con: duckdb.DuckDBPyConnection,
    cluster: ClusterSettings,
    reader: Reader,
    files: Sequence[SourceFile],
    run_id: str,
) -> None:
    """Read a batch into raw and ops, inside the caller's transaction.

    Parameters
    ----------
    con
        A writing connection, in a transaction.
    cluster
        The cluster of the files.
    reader
        The format's module.
    files
        The batch.
    run_id
        Stored with every file.

    Raises
    ------
    SourceErrors
        A file is refused for what shows only when it is read.
    AssertionError
        The reader lost or doubled a line.
    """
    _require_regular_files(files)
    if cluster.is_pseudonymous:
        require_key(con)
        create_cut_function(con, words_of(cluster.settings.patterns_of_texts))
    with scratch_folder(con) as scratch:
        try:
            has_aside = read_batch_lines(con, cluster, reader, files, Path(scratch))
            FILE_LINES.create_from(con, _COUNTS)
            ASIDE_LINES.create(con)
            if has_aside:
                set_lines_aside(con)
            sample_lines(con, reader)
            plan = reader.plan_reading(Batch(cluster, frozenset(file.dialect for file in files)))
            carry_out(con, reader, plan, is_pseudonymous=cluster.is_pseudonymous)
        except SourceError as error:
            raise SourceErrors([error]) from None
        prove_every_line_accounted_for(con, reader)
        account_for_batch(con, reader, cluster, run_id)
        note_sightings(con, reader)
        mark_blind_files(con, reader, blind_files(con, reader))
        keep_unknown_lines(con, is_pseudonymous=cluster.is_pseudonymous)
    drop_temporary(con)


def _require_regular_files(files: Sequence[SourceFile]) -> None:
    """Check the files again before DuckDB opens their paths, as they may have been replaced since the survey."""
    wrong = []
    for file in files:
        try:
            require_regular(file.absolute)
        except OSError as error:
            wrong.append(unreadable(file.path, error))
    if wrong:
        raise SourceErrors(wrong)


_COUNTS = """
select file_id, count(*) as lines_in, max(line_number) as last_line from lines group by file_id"""


def carry_out(
    con: duckdb.DuckDBPyConnection, reader: Reader, plan: ReadingPlan, *, is_pseudonymous: bool = False
) -> None:
    """Move the rows of a plan into raw; fill `loaded_lines`, `quarantined_lines` and `skipped_lines`."""
    for table in EMPTY_AT_FIRST:
        table.create(con)
    run_steps(con, plan.prepare)
    _keep_rows(con, reader, plan, is_pseudonymous=is_pseudonymous)
    run_steps(con, plan.after_keeping)
    QUARANTINED_LINES.create_from(con, plan.quarantined)
    SKIPPED_LINES.create_from(con, plan.skipped)


def _keep_rows(con: duckdb.DuckDBPyConnection, reader: Reader, plan: ReadingPlan, *, is_pseudonymous: bool) -> None:
    """Move the loaded rows into raw, with secrets masked, and fill `loaded_lines`."""
    # The inventory defines the nodes: its rows have an id from the start, which settling makes final.
    provisional = ", lower(loaded_rows.node_name) as node_id" if reader.TABLE == "nodes" else ""
    texts: Sequence[str] = reader.ROWS.free_texts
    if texts:
        columns = con.execute(f"select column_name from (describe {plan.loaded})").fetchall()
        texts = [name for name in texts if (name,) in columns]
    replaced = ", ".join(f"{masked(name)} as {name}" for name in texts)
    # Mask before the join: DuckDB compiles an expression above joins once more per join.
    rows = f"(select * replace ({replaced}) from ({plan.loaded}))" if texts else f"({plan.loaded})"
    if is_pseudonymous:
        columns = con.execute(f"select column_name from (describe {rows})").fetchall()
        hashed = replaced_columns(reader.PRIVACY, [name for (name,) in columns])
        rows = f"(select * replace ({hashed}) from {rows})" if hashed else rows
    # The order of rows in raw has no meaning, and keeping it doubles the work of the widest insert (measured).
    con.execute("set session preserve_insertion_order = false")
    con.execute(
        f"""
        insert into raw.{reader.TABLE} by name
        select
            batch_files.cluster_id, batch_files.path, 'loaded' as disposition,
            loaded_rows.* exclude (file_id){provisional}
        from {rows} as loaded_rows inner join batch_files on batch_files.file_id = loaded_rows.file_id
        """
    )
    LOADED_LINES.create_from(
        con,
        f"""
        select distinct batch_files.file_id, kept.line_number
        from raw.{reader.TABLE} as kept
        inner join batch_files on batch_files.path = kept.path and batch_files.cluster_id = kept.cluster_id
        """,
    )


def drop_temporary(con: duckdb.DuckDBPyConnection) -> None:
    """Drop the temp tables and views of a batch."""
    for kind, query in (
        ("view", "select view_name from duckdb_views() where temporary and not internal"),
        ("table", "select table_name from duckdb_tables() where temporary and not internal"),
    ):
        for (name,) in con.execute(query).fetchall():
            con.execute(f"drop {kind} if exists temp.{identifier(name)}")
