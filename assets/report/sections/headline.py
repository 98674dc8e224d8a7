"""The numbers a reader wants first: failure rates, MTTF at the sizes that matter, the infrastructure's share, use."""

from __future__ import annotations

from assets.model.failure_rate import MIN_NODE_DAYS
from assets.report.blocks import Block, Section, Text, Tiles
from assets.report.numbers import UNKNOWN, duration, gpus, moment, short, whole
from assets.report.queries import Frames, Row, of_cluster, only_row
from assets.report.sections.tiles import infrastructure_tile, mttf_tile, rate_tile, utilisation_tile
from assets.report.wording import plural


def headline(frames: Frames, cluster: Row) -> Section:
    """Build the opening section of a cluster."""
    cluster_id = cluster["cluster_id"]
    largest = only_row(frames, "attempts", cluster_id).get("largest_gpu_count")
    tiles = (
        rate_tile(frames, cluster_id, "gpus_gt_128", "Failure rate, jobs above 128 GPUs"),
        rate_tile(frames, cluster_id, "all", "Failure rate, all jobs"),
        mttf_tile(frames, cluster_id, cluster["gpu_count"], "MTTF of a job on the whole cluster"),
        mttf_tile(frames, cluster_id, largest, "MTTF at the largest run"),
        infrastructure_tile(frames, cluster_id),
        utilisation_tile(frames, cluster_id),
    )
    blocks: list[Block] = [Text(facts(frames, cluster))]
    if not has_enough(frames, cluster_id):
        blocks.append(Text(warn_of_little(reference_of(frames, cluster_id)), "note"))
    blocks.append(Tiles(tiles))
    if cluster["is_simulated"]:
        blocks.insert(
            0,
            Text(
                "Simulated: every log line of this cluster was made by a program. It shows the method, not a machine.",
                "warning",
            ),
        )
    return Section("headline", "The numbers, and what they rest on", tuple(blocks))


def reference_of(frames: Frames, cluster_id: str) -> Row:
    """Find the failure rate of a cluster that is quoted."""
    return next((row for row in of_cluster(frames, "rates", cluster_id) if row["is_reference"]), {})


def has_enough(frames: Frames, cluster_id: str) -> bool:
    """Tell whether enough was observed for a failure rate to say something of the machine."""
    return (reference_of(frames, cluster_id).get("node_days") or 0) >= MIN_NODE_DAYS


def facts(frames: Frames, cluster: Row) -> str:
    """Say what was observed: period, machine, records."""
    attempts = only_row(frames, "attempts", cluster["cluster_id"])
    open_count = attempts.get("record_count", 0) - attempts.get("attempt_count", 0)
    running = (
        f" ({plural(open_count, 'more', 'more')} still pending or running: these count as exposure, not as attempts)"
        if open_count
        else ""
    )
    jobs = plural(attempts.get("job_count", 0), "job")
    return (
        f"{moment(cluster['first_at'])} to {moment(cluster['last_at'])} UTC ({period(cluster)}): "
        f"{whole(cluster['node_count'])} nodes, {gpus(cluster['gpu_count'])}; "
        f"{plural(attempts.get('attempt_count', 0), 'ended attempt')} of {jobs}{running}, "
        f"{short(attempts.get('gpu_hours'))} GPU-hours."
    )


def warn_of_little(reference: Row) -> str:
    """Warn of rates that rest on very little.

    >>> warn_of_little({"node_days": 0.5})[:34]
    'Little was observed: 0.500 node-da'
    """
    return (
        f"Little was observed: {short(reference.get('node_days'))} node-days. The rates here say what happened in that "
        "time; of the machine they say next to nothing yet, as their intervals show."
    )


def period(cluster: Row) -> str:
    """Write the observed span of time."""
    if cluster["first_at"] is None or cluster["last_at"] is None:
        return UNKNOWN
    return duration((cluster["last_at"] - cluster["first_at"]).total_seconds() / 3600)
