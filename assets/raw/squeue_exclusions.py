"""raw.squeue_exclusions: which nodes users avoided."""

import dagster as dg

from assets.raw.folder import SourcesFolder, load_table
from assets.warehouse import Warehouse


@dg.asset(
    key=["raw", "squeue_exclusions"],
    group_name="raw",
    deps=[dg.AssetKey(["raw", "sacct"]), dg.AssetKey(["raw", "nodes"])],
)
def squeue_exclusions(
    context: dg.AssetExecutionContext, warehouse: Warehouse, sources: SourcesFolder
) -> dg.MaterializeResult:
    """Nodes that waiting or running jobs asked not to get.

    Source: squeue/ of every cluster (snapshots with %x). One row per line and excluded node.
    """
    return load_table(context, warehouse, sources, "squeue")
