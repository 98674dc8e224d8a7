"""raw.clusters: the clusters of the sources folder and their settings."""

import dagster as dg

from assets.raw.folder import SourcesFolder
from assets.sources.intake.clusters import write_clusters
from assets.warehouse import Warehouse


@dg.asset(key=["raw", "clusters"], group_name="raw")
def clusters(context: dg.AssetExecutionContext, warehouse: Warehouse, sources: SourcesFolder) -> dg.MaterializeResult:
    """Keep the settings of every cluster, after a look at every file.

    Source: the folders of the sources folder and their cluster.toml. One row per cluster.
    """
    with warehouse.writing() as con:
        found = sources.look(con, context.log)
        for warning in found.warnings:
            context.log.warning(warning)
        count = write_clusters(con, found)
    return dg.MaterializeResult(metadata={"dagster/row_count": count, "files": len(found.files)})
