"""Correct the accounts of files when the tables are settled: repeated lines, and lines of unknown hosts.

`accounts` says what became of a line when it was read; only the whole table says whether its rows count.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from assets.sources.database_settings import joins_as_written
from assets.sources.intake.batch_lines import batches, read_batch_lines, scratch_folder
from assets.sources.intake.find.folder import Survey
from assets.sources.intake.read.copies import CopiesInFolder
from assets.sources.reader import Reader, SourceFile
from assets.sources.text.masking import excerpt
from assets.sources.text.pseudonyms import HIDDEN
from assets.sql import literal

DERIVED_SKIPS = ("duplicate", "coalesced")


def account_for_dispositions(con: duckdb.DuckDBPyConnection, reader: Reader, survey: Survey) -> None:
    """Recompute what dispositions change in `ops`: a line is loaded when any of its rows is."""
    con.execute(
        f"""
        create or replace temp table odd_lines as
        select
            cluster_id, path, line_number,
            case
                when bool_or(disposition = 'unknown_node') then 'unknown_node'
                when bool_or(disposition = 'coalesced') then 'coalesced'
                else 'duplicate'
            end as outcome
        from raw.{reader.TABLE} where disposition <> 'loaded' group by cluster_id, path, line_number
        """
    )
    # The few files with odd rows are known now; the rows of the others need not be compared with any line.
    con.execute(
        f"""
        delete from odd_lines using (
            select cluster_id, path, line_number from raw.{reader.TABLE}
            where disposition = 'loaded' and path in (select path from odd_lines)
        ) as fine
        where fine.cluster_id = odd_lines.cluster_id and fine.path = odd_lines.path
            and fine.line_number = odd_lines.line_number
        """
    )
    files = f"(select cluster_id, path from ops.files where kind = '{reader.KIND}') as files"
    con.execute(
        f"""
        delete from ops.skips using {files}
        where files.cluster_id = skips.cluster_id and files.path = skips.path and skips.reason in {DERIVED_SKIPS}
        """
    )
    con.execute(
        f"""
        insert into ops.skips by name
        select cluster_id, path, outcome as reason, count(*) as line_count
        from odd_lines where outcome in {DERIVED_SKIPS} group by all
        """
    )
    con.execute(
        f"""
        delete from ops.quarantine using {files}
        where files.cluster_id = quarantine.cluster_id and files.path = quarantine.path
            and quarantine.reason = 'unknown_node'
            and not exists (
                from odd_lines where outcome = 'unknown_node' and odd_lines.cluster_id = quarantine.cluster_id
                    and odd_lines.path = quarantine.path and odd_lines.line_number = quarantine.line_number
            )
        """
    )
    _quarantine_unknown_nodes(con, reader, survey)
    _count_lines(con, reader)


def _count_lines(con: duckdb.DuckDBPyConnection, reader: Reader) -> None:
    """Count anew what became of every file's lines.

    Rows are never fewer than lines. Where the account is complete with them, each line gave one row; only in the other
    files are lines told apart, which takes ten times as long.
    """
    con.execute(
        f"""
        create or replace temp table line_counts as
        select
            files.cluster_id, files.path, files.lines_in,
            coalesce(loaded.row_count, 0) as loaded,
            coalesce(skipped.line_count, 0) as skipped,
            coalesce(quarantined.line_count, 0) as quarantined
        from ops.files
        left join (
            select cluster_id, path, count(*) as row_count
            from raw.{reader.TABLE} where disposition = 'loaded' group by all
        ) as loaded using (cluster_id, path)
        left join (
            select cluster_id, path, sum(line_count) as line_count from ops.skips group by all
        ) as skipped using (cluster_id, path)
        left join (
            select cluster_id, path, count(*) as line_count from ops.quarantine group by all
        ) as quarantined using (cluster_id, path)
        where files.kind = '{reader.KIND}'
        """
    )
    con.execute(
        f"""
        update line_counts set loaded = counted.line_count
        from (
            select cluster_id, path, count(distinct line_number) as line_count
            from raw.{reader.TABLE}
            inner join (
                select cluster_id, path from line_counts where lines_in <> loaded + skipped + quarantined
            ) as unclear using (cluster_id, path)
            where disposition = 'loaded' group by all
        ) as counted
        where counted.cluster_id = line_counts.cluster_id and counted.path = line_counts.path
        """
    )
    con.execute(
        """
        update ops.files set loaded = counts.loaded, skipped = counts.skipped, quarantined = counts.quarantined
        from line_counts as counts
        where counts.cluster_id = files.cluster_id and counts.path = files.path
            and (counts.loaded, counts.skipped, counts.quarantined) <> (files.loaded, files.skipped, files.quarantined)
        """
    )


def _quarantine_unknown_nodes(con: duckdb.DuckDBPyConnection, reader: Reader, survey: Survey) -> None:
    """Quarantine the lines of unknown hosts; their text is read from the files again, as rows do not hold it.

    The text of a file that is gone is lost, also if log rotation takes it or cuts it off while the refresh runs.
    """
    con.execute(
        """
        create or replace temp table new_places as
        select cluster_id, path, line_number from odd_lines where outcome = 'unknown_node'
        except
        select cluster_id, path, line_number from ops.quarantine where reason = 'unknown_node'
        """
    )
    wanted = set(con.execute("select distinct cluster_id, path from new_places").fetchall())
    if not wanted:
        return
    con.execute(
        f"""
        create or replace temp table newly_unknown as
        select cluster_id, path, line_number, string_agg(distinct node_name, ', ') as detail
        from raw.{reader.TABLE} semi join new_places using (cluster_id, path, line_number)
        where disposition = 'unknown_node'
        group by all
        """
    )
    pending: dict[str, list[SourceFile]] = {}
    for file in survey.of_kind(reader.KIND):
        if file.key in wanted and file.absolute.is_file():
            pending.setdefault(file.cluster_id, []).append(file)
    for cluster_id, files in pending.items():
        for batch in batches(files):
            with scratch_folder(con) as scratch:
                read_batch_lines(con, survey.clusters[cluster_id], reader, batch, CopiesInFolder(Path(scratch)))
            _quarantine_found_lines(con, is_pseudonymous=survey.clusters[cluster_id].is_pseudonymous)
    con.execute(
        """
        insert into ops.quarantine by name
        select *, 'unknown_node' as reason, '' as raw
        from newly_unknown anti join ops.quarantine using (cluster_id, path, line_number)
        """
    )


def _quarantine_found_lines(con: duckdb.DuckDBPyConnection, *, is_pseudonymous: bool) -> None:
    """Quarantine those of `newly_unknown` that are in `lines`."""
    raw = excerpt("lines.line", "'=' || split_part(unknown.detail, ',', 1)")
    # The texts are on the side of the join that is not held in memory, which may be a gigabyte of them.
    with joins_as_written(con):
        con.execute(
            f"""
            insert into ops.quarantine by name
            select
                unknown.cluster_id, unknown.path, lines.line_number, 'unknown_node' as reason, unknown.detail,
                {literal(HIDDEN) if is_pseudonymous else raw} as raw
            from lines
            inner join (
                select newly_unknown.*, batch_files.file_id
                from newly_unknown inner join batch_files using (cluster_id, path)
            ) as unknown
                on unknown.file_id = lines.file_id and unknown.line_number = lines.line_number
            """
        )


def unknown_names(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str]]:
    """List the host names that are no nodes of their cluster."""
    return con.execute(
        "select distinct cluster_id, detail from ops.quarantine where reason = 'unknown_node' order by all"
    ).fetchall()
