"""Account for every line in ops: it is loaded, skipped with a reason, or quarantined with a reason.

A batch is accounted for when it is read. The account is corrected when the tables are settled: only a whole table
shows which lines repeat others, and which hosts are nodes.
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import duckdb

from assets.sources.database_settings import joins_as_written
from assets.sources.intake.find.folder import CUT_OFF, READ, Survey
from assets.sources.intake.read.batch_lines import batches, read_batch_lines, scratch_folder
from assets.sources.reader import Reader, SourceFile, reader_key
from assets.sources.settings import ClusterSettings
from assets.sources.text import undated
from assets.sources.text.masking import excerpt, masked
from assets.sources.text.pseudonyms import HIDDEN, kept_detail
from assets.sql import fill, literal

MAX_DETAIL = 300
RULED_OUT = "'unknown_node', 'began_before_study', 'more_nodes_than_inventory'"
"""Dispositions of rows that are quarantined once all files are read: only together do they show what is impossible."""
LOST_END = "cut off: its end is missing, and what it held there is unknown"
OPEN_END = "cut off: its last line has no end, and what followed it is unknown"
ENDS_EARLY = "cut off: it ends before records that it held, and what followed its last line is unknown"
AFTER_LOST_END = "Copy or export it again. If its end is lost for good, take the file out: what was read of it stays."


def prove_every_line_accounted_for(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Raise an error unless every line is in raw or in exactly one of the reader's other two tables.

    Equal counts and equal sums of 64-bit hashes mean the same lines, each once. Lines are compared one by one only if
    these differ.
    """
    con.execute(fill("sources/intake/account/line_outcomes.sql"))
    fingerprint = "select count(*), sum(hash(file_id, line_number)::hugeint)"
    lines, outcomes = (
        con.execute(f"{fingerprint} from {view}").fetchone() or () for view in ("lines", "line_outcomes")
    )
    if lines != outcomes:
        wrong = con.execute(
            """
            select batch_files.path, line_number, count(outcomes.file_id) as outcome_count
            from lines left join line_outcomes as outcomes using (file_id, line_number)
            inner join batch_files using (file_id)
            group by all having outcome_count <> 1 order by all limit 1
            """
        ).fetchall()
        where = "a line that is not in the file"
        for path, line_number, outcome_count in wrong:
            where = f"{path}, line {line_number}: {outcome_count} outcomes, not one"
        raise AssertionError(f"{reader.KIND}: {lines[0]} lines, {outcomes[0]} outcomes; {where}")


def account_for_batch(con: duckdb.DuckDBPyConnection, reader: Reader, cluster: ClusterSettings, run_id: str) -> None:
    """Write into ops the account of each file, and what a reader left in addition to the rows."""
    con.execute(fill("sources/intake/account/batch_account.sql"))
    if con.execute("from all_quarantined limit 1").fetchall():
        detail, text = masked(f"left(found.detail, {MAX_DETAIL})"), excerpt("lines.line", "found.detail")
        if cluster.is_pseudonymous:
            detail, text = kept_detail("found.detail"), literal(HIDDEN)
        con.execute(fill("sources/intake/account/batch_quarantine.sql", detail=detail, text=text))
    first, last = reader.COVERS
    con.execute(
        fill(
            "sources/intake/account/batch_times.sql",
            table=reader.TABLE,
            first=first,
            last=last,
            has_no_year="dated_by_file_at is not null" if reader.ROWS.may_lack_years else "false",
            named_moment=undated.named_moment("batch_files.path"),
            named_end=undated.named_end("batch_files.path"),
        )
    )
    con.execute(
        fill(
            "sources/intake/account/batch_files.sql",
            kind=reader.KIND,
            run_id="$run_id",
            reader="$reader",
            cut_off=CUT_OFF,
            read=READ,
            lost_end=LOST_END,
            open_end=OPEN_END,
            logs=reader.ROWS.export.logs if reader.ROWS.export else "",
            next_step=AFTER_LOST_END,
        ),
        {"run_id": run_id, "reader": reader_key(reader, cluster)},
    )


def account_for_dispositions(con: duckdb.DuckDBPyConnection, reader: Reader, survey: Survey) -> None:
    """Correct the accounts of a kind's files by the dispositions of their rows."""
    about = {"table": reader.TABLE, "kind": reader.KIND}
    con.execute(fill("sources/intake/account/dispositions.sql", **about, ruled_out=RULED_OUT))
    _quarantine_ruled_out(con, reader, survey)
    con.execute(fill("sources/intake/account/line_counts.sql", **about))


def _quarantine_ruled_out(con: duckdb.DuckDBPyConnection, reader: Reader, survey: Survey) -> None:
    """Quarantine the lines that all logs together rule out; read their text from the files again, as rows lack it.

    The text of a missing file is lost, even if log rotation removes or truncates the file during the refresh.
    """
    wanted = set(con.execute("select distinct cluster_id, path from new_places").fetchall())
    if not wanted:
        return
    con.execute(
        f"""
        create or replace temp table newly_ruled_out as
        select cluster_id, path, line_number, new_places.reason, {reader.ROWS.why_ruled_out} as detail
        from raw.{reader.TABLE} inner join new_places using (cluster_id, path, line_number)
        where disposition = new_places.reason group by all
        """
    )
    by_cluster: dict[str, list[SourceFile]] = defaultdict(list)
    for file in survey.of_kind(reader.KIND):
        if file.key in wanted and file.absolute.is_file():
            by_cluster[file.cluster_id].append(file)
    for cluster_id, files in by_cluster.items():
        cluster = survey.clusters[cluster_id]
        for batch in batches(files):
            with scratch_folder(con) as scratch:
                read_batch_lines(con, cluster, reader, batch, Path(scratch))
            _quarantine_found_lines(con, is_pseudonymous=cluster.is_pseudonymous)
    con.execute(
        """
        insert into ops.quarantine by name
        select *, '' as raw
        from newly_ruled_out anti join ops.quarantine using (cluster_id, path, line_number)
        """
    )


def _quarantine_found_lines(con: duckdb.DuckDBPyConnection, *, is_pseudonymous: bool) -> None:
    """Quarantine the lines of `newly_ruled_out` that are in `lines`."""
    raw = excerpt("lines.line", "'=' || split_part(found.detail, ',', 1)")
    # The texts, up to a gigabyte, are on the side of the join that is not held in memory.
    with joins_as_written(con):
        con.execute(
            f"""
            insert into ops.quarantine by name
            select
                found.cluster_id, found.path, lines.line_number, found.reason, found.detail,
                {literal(HIDDEN) if is_pseudonymous else raw} as raw
            from lines inner join (
                select newly_ruled_out.*, file_id from newly_ruled_out inner join batch_files using (cluster_id, path)
            ) as found on found.file_id = lines.file_id and found.line_number = lines.line_number
            """
        )


def unknown_names(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """Return the clusters and host names that are not nodes of their cluster."""
    return con.execute(
        "select distinct cluster_id, detail from ops.quarantine where reason = 'unknown_node' order by all"
    ).fetchall()
