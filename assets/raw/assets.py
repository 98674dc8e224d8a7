"""Schema raw, and the accounts of what was read: one step turns the sources folder into tables.

The tables are made together: accounting and inventory say which nodes exist, repeated lines are found once all files
are read, and only then is the account of each file final. The folder is surveyed once and settled once.
"""

from collections.abc import Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb

from assets.bad_clusters.left_out import PRIVACY, record_failures
from assets.log_kinds import LOG_KINDS
from assets.raw.folder import SourcesFolder, quoting_no_log, reporter
from assets.raw.logs import log_key, observed
from assets.sources.formats import READERS
from assets.sources.intake.account.doubtful_files import cut_files, mark_cut_exports, mark_doubtful_files
from assets.sources.intake.account.line_accounts import unknown_names
from assets.sources.intake.account.sight import write_sight
from assets.sources.intake.account.spans import write_spans
from assets.sources.intake.account.superseding import shortened_files
from assets.sources.intake.across_files import settle
from assets.sources.intake.cluster_failures import SOURCES, failing_by_sources
from assets.sources.intake.excluded_clusters import settle_good_clusters
from assets.sources.intake.find.clusters import write_clusters
from assets.sources.intake.find.folder import Survey
from assets.sources.intake.loading import LoadResult, load_kinds
from assets.warehouse import Warehouse, one_value

TABLES: Mapping[str, str] = {
    "raw.clusters": """Settings of every cluster.

    Source: the folders of the sources folder and their cluster.toml. One row per cluster.
    """,
    "raw.sacct": """Allocation records of accounting, typed; repeats of the same attempt are marked, not removed.

    Source: sacct/ of every cluster, one `sacct -P` export or many, overlapping or not. One row per allocation record.
    """,
    "raw.nodes": """Nodes as `scontrol show node` lists them: the newest snapshot gives GPUs, all give reasons.

    Source: inventory/ of every cluster. One row per node of a snapshot.
    """,
    "raw.health_checks": """Results of node health checks, good and bad, with the job during which they ran.

    Source: health/ of every cluster (GCM records, NHC logs). One row per check result.
    """,
    "raw.kernel_messages": """Kernel lines worth reading: Xid, SXid, memory, PCIe, links, mounts.

    Repeats within seconds are coalesced. Source: kernel/ of every cluster (syslog, journal, dmesg). One row per kernel
    line worth reading.
    """,
    "raw.node_events": """Intervals in which a node was down or drained, with the reason and who gave it.

    Source: events/ of every cluster (`sacctmgr show event`). One row per row of the export.
    """,
    "raw.slurmctld_events": """Lines of the controller's log that name a culprit node, a preemption or a node's state.

    Source: slurmctld/ of every cluster. One row per line and node.
    """,
    "raw.unknown_lines": """Lines of the kernel and the controller with the weight of an error that no rule knows.

    Of each file the 1,000 commonest shapes. Source: kernel/ and slurmctld/ of every cluster. One row per file, shape,
    node and five minutes.
    """,
    "raw.squeue_exclusions": """Nodes that waiting or running jobs asked not to get.

    Source: squeue/ of every cluster (snapshots with %x). One row per line and excluded node.
    """,
    "raw.tickets": """Repair tickets, their columns mapped in cluster.toml.

    Source: tickets/ of every cluster (CSV). One row per ticket and node.
    """,
    "raw.unit_failures": """Records of failures and repairs of nodes or other units.

    Source: failures/ of every cluster (CSV, columns mapped in cluster.toml). One row per record and node.
    """,
    "raw.manifests": """Windows that exports were made for.

    Source: `*.manifest.json` in the folders of any kind. One row per manifest.
    """,
    "raw.sightings": """Days on which a log has lines of a host, whatever they say.

    Source: lines of health/ and kernel/ with a time and host that were read: all that matter, a sample of the others.
    One row per file, host and day.
    """,
    "raw.node_lists": """Every node list of the accounting records, expanded once.

    Source: raw.sacct. One row per cluster and list.
    """,
    "raw.node_names": """Every spelling of a node that a source uses, and the node it means.

    Source: all raw tables; node lists of accounting and the inventory say which nodes exist. One row per cluster and
    spelling.
    """,
    "raw.host_names": """Every spelling of a host that a source uses for a node, and when it means the node.

    Source: the hosts and addresses in raw.nodes. One row per cluster, spelling and time.
    """,
    "ops.files": """Files of the sources folder, with an account of their lines.

    Source: every file of every cluster. One row per file.
    """,
    "ops.spans": """Intervals that the logs of each kind cover.

    Source: cluster.toml, manifests, and the times in the logs. One row per cluster, kind and interval.
    """,
    "ops.pulls": """How the last fetching of logs from Slurm ended.

    Source: the asset `sources/pulls`. One row per cluster that is pulled.
    """,
    "ops.sight": """Days on which a log could have shown a fault of a node.

    Source: raw.sightings and ops.spans. One row per cluster, node, kind of log and day.
    """,
}
"""Description of each table."""

_KINDS = {f"raw.{reader.TABLE}": kind for kind, reader in READERS.items()}
_OF_ALL_KINDS = (None, "manifest")
_SPECS = [
    dg.AssetSpec(
        table.split("."),
        group_name=table.split(".")[0],
        description=cleandoc(text),
        deps=[log_key(kind) for kind in LOG_KINDS if _KINDS.get(table) in {kind, *_OF_ALL_KINDS}],
        skippable=True,
    )
    for table, text in TABLES.items()
]


@dg.multi_asset(name="raw", specs=_SPECS)
def raw(
    context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse], sources: SourcesFolder
) -> Iterator[dg.MaterializeResult[None]]:
    """Update all raw tables to the current content of the sources folder; skip the whole run if nothing is new."""
    if not sources.has_news():
        context.log.info("nothing is new since the last publication; what follows is skipped")
        return
    with warehouse.writing() as con:
        found = sources.survey(con, context.log)
        for observation in observed(found):
            context.log_event(observation)
        if found.privacy and (said := found.privacy.begin(con, found.clusters, Path(sources.path))):
            context.log.warning(said)
        write_clusters(con, found)
        with quoting_no_log(found):
            progress = reporter(context.log)
            results = load_kinds(con, found, READERS, context.run_id, full=sources.full, progress=progress)
            context.log.info("settling which lines repeat others, which nodes there are, and what the logs cover")
            failing = finish(con, found, context.run_id)
        unknown = unknown_names(con)
        odd_files = [*shortened_files(con, context.run_id), *cut_files(con, context.run_id)]
        metadata = {table: account(con, table, results) for table in TABLES}
    metadata["raw.clusters"]["files"] = len(found.files)
    metadata["raw.node_names"]["unknown"] = len(unknown)
    for warning in [
        *map(str, found.warnings),
        *(warning for result in results.values() for warning in result.warnings),
        *odd_files,
    ]:
        context.log.warning(warning)
    for cluster_id, reasons in failing.items():
        context.log.warning(f"{cluster_id} cannot be built: {'; '.join(reasons)}")
    for cluster_id, name in unknown:
        context.log.warning(f"{cluster_id}: {name} is not a node of the cluster; its lines are in ops.quarantine")
    for table in TABLES:
        yield dg.MaterializeResult(asset_key=table.split("."), metadata=metadata[table])


def finish(con: duckdb.DuckDBPyConnection, found: Survey, run_id: str) -> dict[str, list[str]]:
    """Settle all tables; record and return the clusters that cannot be built, with reasons."""

    def settle_all(con: duckdb.DuckDBPyConnection, clusters: Survey) -> None:
        settle(con, clusters, READERS)
        mark_doubtful_files(con)
        mark_cut_exports(con, READERS["sacct"])
        write_spans(con, clusters)
        write_sight(con)

    failing = failing_by_sources(con, found, settle_good_clusters(con, found, settle_all))
    for stage, is_of_privacy in ((SOURCES, False), (PRIVACY, True)):
        of_stage = {name: why for name, why in failing.items() if (name in found.changed_privacy) is is_of_privacy}
        record_failures(con, run_id, stage, of_stage)
    return failing


def account(con: duckdb.DuckDBPyConnection, table: str, results: Mapping[str, LoadResult]) -> dict[str, Any]:
    """Return the row count of a table and, if files are read into it, the outcomes of their lines."""
    kind = _KINDS.get(table)
    which = "where disposition = 'loaded'" if kind else ""
    rows = one_value(con, f"select count(*) from {table} {which}")
    if kind is None:
        return {"dagster/row_count": rows}
    (lines,) = con.execute(
        "select count(*), sum(lines_in), sum(loaded), sum(skipped), sum(quarantined) from ops.files where kind = ?",
        [kind],
    ).fetchall()
    names = ("files", "lines_in", "lines_loaded", "lines_skipped", "lines_quarantined")
    result = results[kind]
    return {
        "dagster/row_count": rows,
        "files_read": result.files_read,
        "files_removed": result.files_removed,
        "files_refused": result.files_refused,
        "files_vanished": result.files_vanished,
        **{name: int(value or 0) for name, value in zip(names, lines, strict=True)},
    }
