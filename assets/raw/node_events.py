"""raw.node_events: when nodes were out of service, as Slurm recorded it."""

import dagster as dg

from assets.raw.folder import SourcesFolder, load_table
from assets.warehouse import Warehouse


@dg.asset(
    key=["raw", "node_events"], group_name="raw", deps=[dg.AssetKey(["raw", "sacct"]), dg.AssetKey(["raw", "nodes"])]
)
def node_events(
    context: dg.AssetExecutionContext, warehouse: Warehouse, sources: SourcesFolder
) -> dg.MaterializeResult:
    """Intervals in which a node was down or drained, with the reason and who gave it.

    Source: events/ of every cluster (`sacctmgr show event`). One row per row of the export.
    """
    return load_table(context, warehouse, sources, "events")
