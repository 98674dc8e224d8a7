"""raw.kernel_messages: what the kernels of the nodes complained about."""

import dagster as dg

from assets.raw.folder import SourcesFolder, load_table
from assets.warehouse import Warehouse


@dg.asset(
    key=["raw", "kernel_messages"],
    group_name="raw",
    deps=[dg.AssetKey(["raw", "sacct"]), dg.AssetKey(["raw", "nodes"])],
)
def kernel_messages(
    context: dg.AssetExecutionContext, warehouse: Warehouse, sources: SourcesFolder
) -> dg.MaterializeResult:
    """Kernel lines worth reading: Xid, SXid, memory, PCIe, links, mounts; repeats within seconds are coalesced.

    Source: kernel/ of every cluster (syslog, journal, dmesg). One row per kernel line worth reading.
    """
    return load_table(context, warehouse, sources, "kernel")
