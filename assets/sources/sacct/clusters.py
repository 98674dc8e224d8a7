"""Gather the attempts of the cluster and what they say; an export may hold those of other clusters as well."""

from __future__ import annotations

import duckdb

from assets.sources.named_clusters import files_to_divide, names_another
from assets.sources.reader import Step
from assets.sources.sacct.columns import TEXTS
from assets.sources.sacct.distinct_values import seen_in
from assets.sources.settings import ClusterSettings


def see_step(cluster: ClusterSettings) -> Step:
    """Return the step that makes the view `sacct_texts` of the cluster's attempts, and `sacct_seen` of their values."""

    def see(con: duckdb.DuckDBPyConnection) -> None:
        con.execute(
            f"""
            create or replace temp table sacct_seen as
            {seen_in("sacct_line_texts")} union all by name from sacct_seen_in_files
            """
        )
        named = con.execute("select unnest(clusters, recursive := true) from sacct_seen").fetchall()
        files = files_to_divide(con, cluster, named)
        from_files = "from sacct_file_texts"
        if files:
            _set_aside(con, cluster, files)
            from_files = f"{from_files} anti join sacct_aside_in_files using (file_id, line_number)"
        con.execute(f"create or replace temp view sacct_texts as from sacct_line_texts union all {from_files}")
        if files:
            con.execute(f"create or replace temp table sacct_seen as {seen_in('sacct_texts')}")

    return see


def _set_aside(con: duckdb.DuckDBPyConnection, cluster: ClusterSettings, files: list[int]) -> None:
    con.execute(
        f"""
        create or replace temp table sacct_of_others as
        select file_id, line_number
        from (from sacct_line_texts union all from sacct_file_texts)
        where list_contains($files, file_id) and {names_another(TEXTS["Cluster"], cluster)}
        """,
        {"files": files},
    )
    for table in ("sacct_aside", "sacct_repaired"):
        con.execute(
            f"""
            delete from {table} using sacct_of_others as others
            where others.file_id = {table}.file_id and others.line_number = {table}.line_number
            """
        )
    con.execute("insert into sacct_aside (file_id, line_number, reason) select *, 'other_cluster' from sacct_of_others")
    con.execute(
        """
        insert into sacct_aside_in_files
        select *, 'other_cluster' from sacct_of_others
        semi join taken_files using (file_id) anti join odd_lines using (file_id, line_number)
        """
    )
