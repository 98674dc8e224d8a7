"""Update what depends on all files: years of lines without one, node ids, repeated lines, counts.

Everything here is recomputed from the whole tables, so the time and order in which files arrived do not matter.
Afterwards the counts of `ops.files` are final; the suite of `ops.files` checks them.
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from assets.sources.intake.account import unknown_lines
from assets.sources.intake.account.file_warnings import warn_of_files
from assets.sources.intake.account.line_accounts import account_for_dispositions
from assets.sources.intake.account.node_ids import resolve_nodes
from assets.sources.intake.account.superseding import supersede
from assets.sources.intake.account.years import settle_years
from assets.sources.intake.batch import run_steps
from assets.sources.intake.find.folder import Survey
from assets.sources.reader import Reader


def settle(con: duckdb.DuckDBPyConnection, survey: Survey, readers: Mapping[str, Reader]) -> None:
    """Update node ids, dispositions and counts.

    Call it when all kinds are loaded. The transaction is the caller's: `excluded_clusters.settle_good_clusters`.
    """
    by_table = {reader.TABLE: reader for reader in readers.values()}
    tables = {**{table: reader.ROWS for table, reader in by_table.items()}, unknown_lines.TABLE: unknown_lines.ROWS}
    _keep_each_node_list_once(con)
    settle_years(con, survey, tables)
    for reader in by_table.values():
        supersede(con, reader)
    _forget_unused_node_lists(con)
    resolve_nodes(con, survey, tables)
    for reader in by_table.values():
        try:
            run_steps(con, reader.dispositions())
            account_for_dispositions(con, reader, survey)
        except Exception as error:
            error.add_note(f"kind: {reader.KIND}")
            raise
    warn_of_files(con)


def _keep_each_node_list_once(con: duckdb.DuckDBPyConnection) -> None:
    """Delete repeated node lists, which parallel batches may add."""
    con.execute(
        """
        delete from raw.node_lists
        where rowid in (
            select rowid from raw.node_lists
            semi join (
                select cluster_id, node_list from raw.node_lists group by all having count(*) > 1
            ) as repeated using (cluster_id, node_list)
            qualify row_number() over (partition by cluster_id, node_list order by rowid) > 1
        )
        """
    )


def _forget_unused_node_lists(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        delete from raw.node_lists
        where not exists (
            from (select distinct cluster_id, node_list from raw.sacct) as used
            where used.cluster_id = node_lists.cluster_id and used.node_list = node_lists.node_list
        )
        """
    )
