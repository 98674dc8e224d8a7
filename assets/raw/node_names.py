"""raw.node_names: which node every spelling of a host name means."""

import dagster as dg

from assets.raw.folder import SourcesFolder
from assets.sources.formats import READERS
from assets.sources.intake.doubt import mark_doubtful_files
from assets.sources.intake.failing import SOURCES, failing_by_sources, record_failures
from assets.sources.intake.folder import Survey
from assets.sources.intake.settled_accounts import unknown_names
from assets.sources.intake.settling import settle
from assets.sources.intake.spans import write_spans
from assets.sources.intake.sparing import spare_clusters
from assets.warehouse import Warehouse

LOADED_BEFORE = sorted(reader.TABLE for reader in READERS.values())


@dg.asset(key=["raw", "node_names"], group_name="raw", deps=[dg.AssetKey(["raw", table]) for table in LOADED_BEFORE])
def node_names(context: dg.AssetExecutionContext, warehouse: Warehouse, sources: SourcesFolder) -> dg.MaterializeResult:
    """Every spelling of a node that any source uses.

    When this is done, the accounts of all files are final, and ops.spans says what they cover.

    Source: all raw tables; node lists of accounting and the inventory say which nodes there are. One row per
    cluster and spelling.
    """
    with warehouse.writing() as con:
        found = sources.look(con, context.log)

        def finish(clusters: Survey) -> None:
            settle(con, clusters, READERS)
            mark_doubtful_files(con)
            write_spans(con, clusters)

        failing = failing_by_sources(con, found, spare_clusters(con, found, finish))
        record_failures(con, context.run_id, SOURCES, failing)
        row = con.execute("select count(*) from raw.node_names").fetchone()
        unknown = unknown_names(con)
    for cluster_id, reasons in failing.items():
        context.log.warning(f"{cluster_id} cannot be built: {'; '.join(reasons)}")
    for cluster_id, name in unknown:
        context.log.warning(f"{cluster_id}: {name} is not a node of the cluster; its lines are in ops.quarantine")
    return dg.MaterializeResult(metadata={"dagster/row_count": int(row[0]) if row else 0, "unknown": len(unknown)})
