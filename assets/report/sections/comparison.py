"""All clusters side by side; real and simulated ones are never added together."""

from __future__ import annotations

from assets.model.failure_rate import MIN_NODE_DAYS
from assets.report.addresses import anchor_of
from assets.report.blocks import Cell, Section, Table, columns, row
from assets.report.numbers import UNKNOWN, gpus, moment, printable, share, short, whole
from assets.report.queries import Frames, Row, of_cluster, only_row
from assets.report.sections.first_screen import LITTLE, ratio_of_months
from assets.report.sections.headline import has_enough, period
from assets.report.sections.tiles import estimate_of, rate_span, rate_text
from assets.report.wording import exposure, hours_span, span
from assets.report.wording import mttf as mttf_words


def comparison(frames: Frames) -> tuple[Section, ...]:
    """Build the table of all clusters, or nothing when there is none."""
    clusters = frames["clusters"]
    if not clusters:
        return ()
    table = Table(
        "All clusters",
        columns(
            "Cluster",
            "From (UTC)",
            "#Nodes",
            "#GPUs",
            "#Attempts",
            "#Failure rate, jobs above 128 GPUs",
            "#Failure rate, all jobs",
            "#Last 30 days over the 30 before",
            "#MTTF, whole cluster",
            "#GPU time in failed attempts",
        ),
        tuple(_row(frames, cluster) for cluster in clusters),
        note=f"Failure rate: failed attempts per {whole(1000)} node-days; the pages of a cluster also count incidents. "
        f"{LITTLE}: less than {whole(MIN_NODE_DAYS)} node-days were observed. The ratio of the last days is that of "
        "incidents.",
    )
    return (Section("comparison", "", (table,)),)


def _row(frames: Frames, cluster: Row) -> tuple[Cell, ...]:
    cluster_id = cluster["cluster_id"]
    said = has_enough(frames, cluster_id)
    month = ratio_of_months(frames, cluster_id)
    return row(
        Cell(printable(cluster_id), is_simulated=bool(cluster["is_simulated"]), link=f"#{anchor_of(cluster_id)}"),
        Cell(moment(cluster["first_at"])[:10], detail=period(cluster)),
        whole(cluster["node_count"]),
        whole(cluster["gpu_count"]),
        whole(only_row(frames, "attempts", cluster_id).get("attempt_count", 0)),
        _rate(frames, cluster_id, "gpus_gt_128") if said else Cell(LITTLE),
        _rate(frames, cluster_id, "all") if said else Cell(LITTLE),
        Cell(short(month["ratio"]), detail=span(month["ratio_low"], month["ratio_high"]))
        if said and month.get("ratio") is not None
        else Cell("cannot tell"),
        _mttf(frames, cluster) if said else Cell(LITTLE),
        _infrastructure(frames, cluster_id),
    )


def _rate(frames: Frames, cluster_id: str, population: str) -> Cell:
    estimate = estimate_of(frames, cluster_id, population, "attempts")
    if not estimate.get("node_days"):
        return Cell(UNKNOWN, detail=estimate.get("note") or "")
    rests_on = exposure(estimate["failure_count"], estimate["node_days"], "node-days")
    ends = f"{rate_span(estimate)}; " if estimate["failure_count"] else ""
    return Cell(rate_text(estimate), detail=ends + rests_on)


def _mttf(frames: Frames, cluster: Row) -> Cell:
    rows = of_cluster(frames, "projections", cluster["cluster_id"])
    found = next((projection for projection in rows if projection["gpu_count"] == cluster["gpu_count"]), None)
    if found is None:
        return Cell(UNKNOWN)
    words = mttf_words(
        found.get("event_count"), found["mttf_hours"], found["mttf_hours_low"], found.get("confidence_level")
    )
    ends = f"{hours_span(found['mttf_hours_low'], found['mttf_hours_high'])}; " if found.get("event_count") else ""
    return Cell(words, detail=f"{ends}{gpus(cluster['gpu_count'])}")


def _infrastructure(frames: Frames, cluster_id: str) -> Cell:
    found = next((state for state in of_cluster(frames, "states", cluster_id) if state["is_infrastructure"]), None)
    if found is None or not found["attempt_count"]:
        return Cell("none seen")
    return Cell(
        share(found["gpu_time_ratio"]),
        link=f"#{anchor_of(cluster_id)}/failures",
        detail=f"k = {whole(found['attempt_count'])} attempts, {short(found['gpu_hours'])} GPU-hours",
    )
