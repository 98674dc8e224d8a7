"""raw.tickets: what was repaired."""

import dagster as dg

from assets.raw.folder import SourcesFolder, load_table
from assets.warehouse import Warehouse


@dg.asset(key=["raw", "tickets"], group_name="raw", deps=[dg.AssetKey(["raw", "sacct"]), dg.AssetKey(["raw", "nodes"])])
def tickets(context: dg.AssetExecutionContext, warehouse: Warehouse, sources: SourcesFolder) -> dg.MaterializeResult:
    """Repair tickets, their columns mapped in cluster.toml.

    Source: tickets/ of every cluster (CSV). One row per ticket and node.
    """
    return load_table(context, warehouse, sources, "tickets")
