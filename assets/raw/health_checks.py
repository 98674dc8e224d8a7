"""raw.health_checks: what the health checks of the nodes found."""

import dagster as dg

from assets.raw.folder import SourcesFolder, load_table
from assets.warehouse import Warehouse


@dg.asset(
    key=["raw", "health_checks"], group_name="raw", deps=[dg.AssetKey(["raw", "sacct"]), dg.AssetKey(["raw", "nodes"])]
)
def health_checks(
    context: dg.AssetExecutionContext, warehouse: Warehouse, sources: SourcesFolder
) -> dg.MaterializeResult:
    """Results of node health checks, good and bad, with the job during which they ran.

    Source: health/ of every cluster (GCM records, NHC logs). One row per check result.
    """
    return load_table(context, warehouse, sources, "health")
