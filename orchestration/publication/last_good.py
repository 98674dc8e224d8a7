"""Clusters that could not be built keep the rows of the last publication, marked as stale.

This step runs after everything is built and checked, and before the report is written. Rows of another version of the
code are not taken over, as they may have another meaning. A cluster without usable rows is published without numbers.
Comparisons between clusters are then computed again. A cluster whose newest accounting could not be fetched from Slurm
was built from what was there; it is marked as stale too, as is one whose accounting ends with an older version of a
file that is refused now.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import dagster as dg
import duckdb

from assets.estimates import est_rate_ratios
from assets.estimates.prepared import QUERIES, prepare
from assets.estimates.table import write
from assets.sources.intake.cluster_failures import failing_clusters
from assets.sql import identifier, literal
from assets.warehouse import PUBLICATION, Warehouse, transaction
from orchestration.dbt.reusable_rows import forget_what_was_built
from orchestration.home import Home, code_version

LAST = "last_publication"
_TABLES = f"""
    select columns.schema_name, columns.table_name
    from duckdb_columns() as columns
    inner join duckdb_tables() as tables using (database_name, schema_name, table_name)
    where columns.database_name = '{PUBLICATION}' and columns.column_name = 'cluster_id'
    order by all
"""
_OF_WORKING_FILE = ("ops.spans", "ops.sight", "raw.clusters")
"""Tables of the working file that belong to a cluster's numbers: what its logs cover, and its settings."""
_MARK_NOT_PULLED = f"""
    update {PUBLICATION}.marts.dim_clusters as clusters set
        is_stale = true,
        stale_reason = 'its logs could not be fetched from Slurm: ' || pulls.reason,
        built_at = coalesce(pulls.pulled_to, clusters.data_through_at, pulls.ended_at)
    from ops.pulls as pulls
    where pulls.cluster_id = clusters.cluster_id and pulls.status = 'failed' and not clusters.is_stale
"""
_MARK_ENDED = f"""
    update {PUBLICATION}.marts.dim_clusters as clusters set
        is_stale = true,
        stale_reason = ended.reason,
        built_at = coalesce(clusters.data_through_at, ended.since_at)
    from (
        select
            files.cluster_id, max(older.last_at) as since_at,
            string_agg(distinct concat(files.path, ': ', files.reason, '; older versions of it count'), '; ') as reason
        from ops.files
        inner join ops.files as older on older.cluster_id = files.cluster_id and older.version_of = files.path
        where files.kind = 'sacct' and files.is_present and files.status in ('refused', 'cut_off')
            and older.status <> 'refused'
        group by files.cluster_id
    ) as ended
    where ended.cluster_id = clusters.cluster_id and not clusters.is_stale
"""


def keep_last_good(
    con: duckdb.DuckDBPyConnection, failing: Mapping[str, Sequence[str]], published_file: Path, version: str
) -> list[str]:
    """Replace the rows of failing clusters in all published tables by those of the last publication.

    Parameters
    ----------
    con
        A writing connection to the working file, with the publication attached.
    failing
        Reasons by cluster.
    published_file
        The last publication.
    version
        Of the code that runs.

    Returns
    -------
    The failing clusters that now have the numbers of the last publication.
    """
    if not failing:
        return []
    names = list(failing)
    tables = con.execute(_TABLES).fetchall()
    stale: list[str] = []
    with transaction(con):
        for table in tables:
            name = identifier(PUBLICATION, *table)
            con.execute(f"delete from {name} where cluster_id in (select unnest(?))", [names])
    if _is_attached(con, published_file):
        try:
            stale = _clusters_of(con, names, version)
            if stale:
                _take_over(con, tables, stale, failing)
        finally:
            con.execute(f"detach {LAST}")
    for name in QUERIES:
        prepare(con, name)
    ratios = est_rate_ratios.with_ratios(con.execute(est_rate_ratios.TABLE.query).df())
    write(con, est_rate_ratios.TABLE, ratios, est_rate_ratios.headline(ratios))
    forget_what_was_built(con)
    return stale


def mark_not_pulled(con: duckdb.DuckDBPyConnection, run_id: str) -> None:
    """Mark the clusters as stale whose newest accounting could not be fetched; their numbers stay as they were built.

    Clusters that are pulled no more have left their rows in `ops.pulls`, which go.
    """
    con.execute("delete from ops.pulls where run_id <> ?", [run_id])
    con.execute(_MARK_NOT_PULLED)


def mark_ended(con: duckdb.DuckDBPyConnection) -> None:
    """Mark the clusters as stale of which an accounting file was refused or is cut off, and only older versions count.

    Without an older version such a cluster is not built.
    """
    con.execute(_MARK_ENDED)


def _is_attached(con: duckdb.DuckDBPyConnection, published_file: Path) -> bool:
    """Attach the last publication; a damaged one is treated as absent, as the refresh is about to replace it."""
    if not published_file.exists():
        return False
    try:
        con.execute(f"attach {literal(str(published_file))} as {LAST} (read_only)")
    except (duckdb.IOException, duckdb.SerializationException, duckdb.InternalException, duckdb.FatalException):
        return False
    return True


def _clusters_of(con: duckdb.DuckDBPyConnection, names: Sequence[str], version: str) -> list[str]:
    """List the clusters with rows in the last publication, if this version of the code made it."""
    last = con.execute(f"select code_version from {LAST}.ops.published order by rowid desc limit 1").fetchone()
    if last is None or last[0] != version:
        return []
    found = con.execute(
        f"select cluster_id from {LAST}.marts.dim_clusters where cluster_id in (select unnest(?)) order by 1",
        [list(names)],
    ).fetchall()
    return [cluster_id for (cluster_id,) in found]


def _take_over(
    con: duckdb.DuckDBPyConnection,
    tables: Sequence[tuple[str, str]],
    stale: list[str],
    failing: Mapping[str, Sequence[str]],
) -> None:
    with transaction(con):
        for table in tables:
            name, last = identifier(PUBLICATION, *table), identifier(LAST, *table)
            con.execute(f"insert into {name} by name from {last} where cluster_id in (select unnest(?))", [stale])
        for cluster_id in stale:
            con.execute(
                f"""
                update {PUBLICATION}.marts.dim_clusters set
                    is_stale = true,
                    stale_reason = $reason,
                    built_at = coalesce(
                        built_at, (select published_at from {LAST}.ops.published order by rowid desc limit 1)
                    )
                where cluster_id = $cluster_id
                """,
                {"reason": "\n".join(failing[cluster_id]), "cluster_id": cluster_id},
            )
    with transaction(con):
        for own in _OF_WORKING_FILE:
            con.execute(f"delete from {own} where cluster_id in (select unnest(?))", [stale])
            con.execute(f"insert into {own} by name from {LAST}.{own} where cluster_id in (select unnest(?))", [stale])


def last_good_asset(home: Home, upstream: Sequence[dg.AssetKey]) -> dg.AssetsDefinition:
    """Build the asset that puts last good rows in place once everything is built and checked."""

    @dg.asset(key=["ops", "cluster_failures"], group_name="ops", deps=upstream, kinds={"duckdb"})
    def cluster_failures(
        context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]
    ) -> dg.MaterializeResult:
        """Clusters that could not be built; in marts and estimates their rows are those of the last publication.

        One row per run, cluster and reason.
        """
        with warehouse.writing() as con:
            failing = failing_clusters(con, context.run_id)
            stale = keep_last_good(con, failing, home.published_file, code_version())
            mark_not_pulled(con, context.run_id)
            mark_ended(con)
        for cluster_id, reasons in failing.items():
            what = "keeps its last good numbers" if cluster_id in stale else "is published without numbers"
            context.log.warning(f"{cluster_id} {what}: {'; '.join(reasons)}")
        return dg.MaterializeResult(metadata={"failing": len(failing), "stale": len(stale)})

    return cluster_failures
