"""Keep the last publication's rows of clusters that could not be built, marked as stale.

This step runs after everything is built and checked, and before the report is written. If a check failed for a cluster
that was built, the marts are built once more without it. Rows of another code version are not kept, because their
meaning may differ, and neither are rows of a cluster with changed privacy. A cluster without usable rows is published
without numbers. Comparisons between clusters are then computed again.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import dagster as dg
import duckdb

from assets.bad_clusters.left_out import CHANGED_PRIVACY, failing_clusters
from assets.estimates import est_rate_ratios
from assets.estimates.table import publish_without_rows, write
from assets.not_computed import NOT_COMPUTED
from assets.sql import identifier, literal
from assets.warehouse import PUBLICATION, Warehouse, transaction
from orchestration.dbt.build import PROJECT, build_again
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import code_version

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
_STALE = f"""
    * replace (
        true as is_stale,
        ($reasons::map(varchar, varchar))[cluster_id] as stale_reason,
        coalesce(
            built_at, (select published_at from {LAST}.ops.published order by rowid desc limit 1)
        ) as built_at
    )
"""


def remove_estimates(con: duckdb.DuckDBPyConnection, failing: Collection[str]) -> None:
    """Delete the estimates of clusters that failed later."""
    for schema, table in con.execute(_TABLES).fetchall():
        if schema == "estimates":
            name = identifier(PUBLICATION, schema, table)
            con.execute(f"delete from {name} where cluster_id in (select unnest($failing))", {"failing": [*failing]})


def keep_last_good(
    con: duckdb.DuckDBPyConnection, failing: Mapping[str, Sequence[str]], published_file: Path, version: str
) -> list[str]:
    """Add the last publication's rows of clusters without new rows.

    Parameters
    ----------
    con
        A writing connection to the working file, with the publication attached.
    failing
        Reasons by cluster.
    published_file
        The last publication.
    version
        Version of the running code.

    Returns
    -------
    The failing clusters that keep the numbers of the last publication.
    """
    if not failing:
        return []
    stale: list[str] = []
    if _is_attached(con, published_file):
        try:
            stale = _clusters_of(con, list(failing), version)
            if stale:
                _take_over(con, stale, failing)
        finally:
            con.execute(f"detach {LAST}")
    return stale


def compare_clusters(con: duckdb.DuckDBPyConnection) -> None:
    """Compare all clusters again, including the rows of the last publication."""
    if est_rate_ratios.TABLE.name not in {row[0] for row in con.execute(NOT_COMPUTED).fetchall()}:
        try:
            ratios = est_rate_ratios.compared(con, with_left_out=True)
            write(con, est_rate_ratios.TABLE, ratios, est_rate_ratios.headline(ratios))
        except Exception as error:  # noqa: BLE001 -- publish_without_rows raises some errors again
            publish_without_rows(con, est_rate_ratios.TABLE, error)


def _is_attached(con: duckdb.DuckDBPyConnection, published_file: Path) -> bool:
    """Attach the last publication; a damaged one counts as absent, because the refresh will replace it."""
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


def _take_over(con: duckdb.DuckDBPyConnection, stale: list[str], failing: Mapping[str, Sequence[str]]) -> None:
    reasons = {cluster_id: "\n".join(failing[cluster_id]) for cluster_id in stale}
    with transaction(con):
        for table in con.execute(_TABLES).fetchall():
            name, last = identifier(PUBLICATION, *table), identifier(LAST, *table)
            shown = _STALE if table == ("marts", "dim_clusters") else "*"
            con.execute(
                f"insert into {name} by name select {shown} from {last} where cluster_id in (select unnest($stale))",
                {"stale": stale, **({"reasons": reasons} if shown is _STALE else {})},
            )
    with transaction(con):
        for own in _OF_WORKING_FILE:
            con.execute(f"delete from {own} where cluster_id in (select unnest(?))", [stale])
            con.execute(f"insert into {own} by name from {LAST}.{own} where cluster_id in (select unnest(?))", [stale])


def last_good_asset(settings: HomeSettings, upstream: Sequence[dg.AssetKey]) -> dg.AssetsDefinition:
    """Return the asset that adds last good rows once everything is built and checked."""

    @dg.asset(key=["ops", "cluster_failures"], group_name="ops", deps=upstream, kinds={"duckdb"})
    def cluster_failures(
        context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]
    ) -> dg.MaterializeResult:
        """Clusters that could not be built; marts and estimates keep their rows of the last publication.

        One row per run, cluster and reason.
        """
        with warehouse.writing() as con:
            failing = failing_clusters(con, context.run_id)
            changed = {cluster_id for (cluster_id,) in con.execute(CHANGED_PRIVACY).fetchall()}
            built = con.execute(f"select cluster_id from {PUBLICATION}.marts.dim_clusters").fetchall()
        if any(cluster_id in failing for (cluster_id,) in built):
            with warehouse.writing() as con:
                remove_estimates(con, failing)
            build_again(settings, warehouse)
        with warehouse.writing() as con:
            may_stay = {cluster_id: reasons for cluster_id, reasons in failing.items() if cluster_id not in changed}
            stale = keep_last_good(con, may_stay, settings.home.published_file, code_version())
        if stale:
            build_again(settings, warehouse, ["run", "--select", f"fqn:{PROJECT.name}.inputs"])
        if failing:
            with warehouse.writing() as con:
                compare_clusters(con)
        for cluster_id, reasons in failing.items():
            what = "keeps its last good numbers" if cluster_id in stale else "is published without numbers"
            context.log.warning(f"{cluster_id} {what}: {'; '.join(reasons)}")
        return dg.MaterializeResult(metadata={"failing": len(failing), "stale": len(stale)})

    return cluster_failures
