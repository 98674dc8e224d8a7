"""raw.slurmctld_events: what the controller logged about nodes and preemptions."""

import dagster as dg

from assets.raw.folder import SourcesFolder, load_table
from assets.warehouse import Warehouse


@dg.asset(
    key=["raw", "slurmctld_events"],
    group_name="raw",
    deps=[dg.AssetKey(["raw", "sacct"]), dg.AssetKey(["raw", "nodes"])],
)
def slurmctld_events(
    context: dg.AssetExecutionContext, warehouse: Warehouse, sources: SourcesFolder
) -> dg.MaterializeResult:
    """Lines of the controller's log that name a culprit node, a preemption or a change of a node's state.

    Source: slurmctld/ of every cluster. One row per line and node.
    """
    return load_table(context, warehouse, sources, "slurmctld")
