"""raw.manifests: what manifests say that the files beside them cover."""

import dagster as dg

from assets.raw.folder import SourcesFolder, load_table
from assets.warehouse import Warehouse


@dg.asset(key=["raw", "manifests"], group_name="raw", deps=[dg.AssetKey(["raw", "clusters"])])
def manifests(context: dg.AssetExecutionContext, warehouse: Warehouse, sources: SourcesFolder) -> dg.MaterializeResult:
    """Windows that exports were made for.

    Source: `*.manifest.json` in the folders of any kind. One row per manifest.
    """
    return load_table(context, warehouse, sources, "manifest")
