"""Load one batch of files: read the lines, carry out the reader's plan, and prove that every line is accounted for."""

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
from assets.sources.intake.read.batch_lines import (
    Aside,
    estimated_text_bytes,
    read_batch_lines,
    scratch_folder,
    set_lines_aside,
)
from assets.sources.intake.read.copies import CopiesInFolder
from assets.sources.intake.read.growing import (
    MustBeReadWhole,
    add_earlier_account,
    note_resume_points,
    require_agreement,
)
from assets.sources.other_forms import translations_of
from assets.sources.reader import Batch, Reader, ReadingPlan, SourceFile, Step, WholeFileReader
from assets.sources.regular import require_regular, unreadable
from assets.sources.settings import ClusterSettings
from assets.sources.text.masking import masked
from assets.sources.text.pseudonyms import create_cut_function, replaced_columns, require_key, words_of
from assets.sql import identifier


class MustBeReadAlone(Exception):
    """Too much of a batch has to be read line by line for other batches to be read at the same time."""


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
    *,
    aside: Aside | None = None,
    max_bytes_by_lines: int | None = None,
) -> None:
    """Read a batch into raw and ops, inside the caller's transaction.

    Parameters
    ----------
    con
        A writing connection, in a transaction.
    cluster
        The cluster whose files they are.
    reader
        The format's module.
    files
        The batch; a file that is read on from where it grew is alone in it.
    run_id
        Kept beside every file.
    aside
        After a failure: lines of the only file that the reader is not to see. No file is read as a whole then.
    max_bytes_by_lines
        How many bytes of files may be read by lines; without it, any number.

    Raises
    ------
    SourceErrors
        A file that can only be refused once it is being read.
    MustBeReadAlone
        More bytes than that would be read by lines.
    MustBeReadWhole
        A file cannot be read on from where it grew.
    AssertionError
        The reader lost or doubled a line.
    """
    _require_regular_files(files)
    if cluster.is_pseudonymous:
        require_key(con)
        create_cut_function(con, words_of(cluster.settings.patterns_of_texts))
    with scratch_folder(con) as scratch:
        copies = CopiesInFolder(Path(scratch))
        taken = take_whole_files(con, reader, files if aside is None else (), cluster, copies)
        by_lines = (file for number, file in enumerate(files) if number not in taken)
        if max_bytes_by_lines is not None and sum(map(estimated_text_bytes, by_lines)) > max_bytes_by_lines:
            raise MustBeReadAlone
        _load(con, cluster, reader, files, run_id=run_id, aside=aside, copies=copies, taken=taken)
    drop_temporary(con)


def _load(
    con: duckdb.DuckDBPyConnection,
    cluster: ClusterSettings,
    reader: Reader,
    files: Sequence[SourceFile],
    *,
    run_id: str,
    aside: Aside | None,
    copies: CopiesInFolder,
    taken: set[int],
) -> None:
    try:
        has_aside = read_batch_lines(con, cluster, reader, files, copies, taken=taken)
        FILE_LINES.create_from(con, _COUNTS)
        ASIDE_LINES.create(con)
        if has_aside or aside is not None:
            set_lines_aside(con, aside)
        sample_lines(con, reader)
        plan = reader.plan_reading(Batch(cluster, frozenset(file.dialect for file in files)))
        carry_out(con, reader, plan, is_pseudonymous=cluster.is_pseudonymous)
    except SourceError as error:
        raise SourceErrors([error]) from None
    prove_every_line_accounted_for(con, reader)
    is_read_on = any(file.resume for file in files)
    if is_read_on:
        add_earlier_account(con, plan)
    account_for_batch(con, reader, cluster, run_id)
    if aside is None:
        note_resume_points(con, reader, plan, files)
    note_sightings(con, reader, is_read_on=is_read_on)
    blind = blind_files(con, reader)
    if blind and is_read_on:
        raise MustBeReadWhole("few of the lines where it grew are understood")
    mark_blind_files(con, reader, blind)
    keep_unknown_lines(con, is_pseudonymous=cluster.is_pseudonymous)
    for file in files:
        if file.resume:
            require_agreement(con, reader, file.resume)


def _require_regular_files(files: Sequence[SourceFile]) -> None:
    """Check the files again before DuckDB opens them by path, as they may have been replaced since the survey."""
    wrong = []
    for file in files:
        try:
            require_regular(file.absolute)
        except OSError as error:
            wrong.append(unreadable(file.path, error))
    if wrong:
        raise SourceErrors(wrong)


_COUNTS = """
select file_id, count(*) as lines_in, max(line_number) as last_line
from lines anti join taken_files using (file_id) group by file_id
union all
select file_id, line_count, line_count from taken_files"""


def take_whole_files(
    con: duckdb.DuckDBPyConnection,
    reader: Reader,
    files: Sequence[SourceFile],
    cluster: ClusterSettings,
    copies: CopiesInFolder,
) -> set[int]:
    """Let a `WholeFileReader` read whole files, and return their ids."""
    for table in EMPTY_AT_FIRST:
        table.create(con)
    if isinstance(reader, WholeFileReader):
        translated = translations_of(reader.KIND)
        as_they_are = {number: file for number, file in enumerate(files) if file.dialect not in translated}
        reader.take(con, as_they_are, cluster, copies)
    return {file_id for (file_id,) in con.execute("select file_id from taken_files").fetchall()}


def carry_out(
    con: duckdb.DuckDBPyConnection, reader: Reader, plan: ReadingPlan, *, is_pseudonymous: bool = False
) -> None:
    """Move the rows of a plan into raw, and fill `loaded_lines`, `quarantined_lines` and `skipped_lines`."""
    run_steps(con, plan.prepare)
    _keep_rows(con, reader, plan, is_pseudonymous=is_pseudonymous)
    run_steps(con, plan.after_keeping)
    QUARANTINED_LINES.create_from(con, plan.quarantined)
    SKIPPED_LINES.create_from(con, plan.skipped)


def _keep_rows(con: duckdb.DuckDBPyConnection, reader: Reader, plan: ReadingPlan, *, is_pseudonymous: bool) -> None:
    """Move the loaded rows into raw, with secrets masked, and fill `loaded_lines`."""
    # Inventory defines the nodes: its rows have an id from the start, and settling makes it final.
    provisional = ", lower(loaded_rows.node_name) as node_id" if reader.TABLE == "nodes" else ""
    texts: Sequence[str] = reader.ROWS.free_texts
    if texts:
        columns = con.execute(f"select column_name from (describe {plan.loaded})").fetchall()
        texts = [name for name in texts if (name,) in columns]
    replaced = ", ".join(f"{masked(name)} as {name}" for name in texts)
    # The mask stands before the join: DuckDB compiles an expression above a join once more for each join.
    rows = f"(select * replace ({replaced}) from ({plan.loaded}))" if texts else f"({plan.loaded})"
    if is_pseudonymous:
        columns = con.execute(f"select column_name from (describe {rows})").fetchall()
        hashed = replaced_columns(reader.PRIVACY, [name for (name,) in columns])
        rows = f"(select * replace ({hashed}) from {rows})" if hashed else rows
    # The order of rows means nothing in raw, and keeping it doubles the work of the widest insert (measured).
    con.execute("set session preserve_insertion_order = false")
    con.execute(
        f"""
        insert into raw.{reader.TABLE} by name
        select
            batch_files.cluster_id, batch_files.path, 'loaded' as disposition,
            loaded_rows.* exclude (file_id) replace (line_number + batch_files.lines_before as line_number){provisional}
        from {rows} as loaded_rows inner join batch_files on batch_files.file_id = loaded_rows.file_id
        """
    )
    LOADED_LINES.create_from(
        con,
        f"""
        select distinct batch_files.file_id, kept.line_number - batch_files.lines_before as line_number
        from raw.{reader.TABLE} as kept
        inner join batch_files on batch_files.path = kept.path and batch_files.cluster_id = kept.cluster_id
            and kept.line_number > batch_files.lines_before
        anti join earlier_lines as earlier
            on earlier.file_id = batch_files.file_id
            and earlier.line_number = kept.line_number - batch_files.lines_before
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
