"""raw.nodes: which nodes a cluster has."""

import dagster as dg

from assets.raw.folder import SourcesFolder, load_table
from assets.warehouse import Warehouse


@dg.asset(key=["raw", "nodes"], group_name="raw", deps=[dg.AssetKey(["raw", "clusters"])])
def nodes(context: dg.AssetExecutionContext, warehouse: Warehouse, sources: SourcesFolder) -> dg.MaterializeResult:
    """Nodes as `scontrol show node` lists them; of several snapshots of a node the newest counts.

    Source: inventory/ of every cluster. One row per node of a snapshot.
    """
    return load_table(context, warehouse, sources, "inventory")
