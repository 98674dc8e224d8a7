"""raw.sacct: what Slurm accounted for."""

import dagster as dg

from assets.raw.folder import SourcesFolder, load_table
from assets.warehouse import Warehouse


@dg.asset(key=["raw", "sacct"], group_name="raw", deps=[dg.AssetKey(["raw", "clusters"])])
def sacct(context: dg.AssetExecutionContext, warehouse: Warehouse, sources: SourcesFolder) -> dg.MaterializeResult:
    """Allocation records of accounting, typed; repeats of the same attempt are marked, not removed.

    Source: sacct/ of every cluster, one `sacct -P` export or many, overlapping or not. One row per allocation record.
    """
    return load_table(context, warehouse, sources, "sacct")
