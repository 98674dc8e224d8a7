"""The headline numbers one by one, each with its interval, its count and its exposure."""

from __future__ import annotations

from assets.report.blocks import Tile
from assets.report.numbers import UNKNOWN, confidence, gpus, share, short, whole
from assets.report.queries import Frames, Row, of_cluster, only_row
from assets.report.wording import POPULATIONS, exposure, hours_span, mttf, number, plural, rate, span


def estimate_of(frames: Frames, cluster_id: str, population: str, counted_as: str) -> Row:
    """Find one failure rate of a cluster."""
    rows = of_cluster(frames, "rates", cluster_id)
    return next((row for row in rows if row["population"] == population and row["counted_as"] == counted_as), {})


def rate_text(row: Row) -> str:
    """Write a failure rate per 1,000 node-days, without its unit."""
    return rate(
        row.get("failure_count"),
        row.get("failures_per_1000_node_days"),
        row.get("failures_per_1000_node_days_high"),
        row.get("confidence_level"),
    )


def rate_span(row: Row) -> str:
    """Write the interval of a failure rate."""
    return span(row.get("failures_per_1000_node_days_low"), row.get("failures_per_1000_node_days_high"))


def rate_tile(frames: Frames, cluster_id: str, population: str, label: str) -> Tile:
    """State a population's failure rate by attempts, and by incidents in small print."""
    attempts = estimate_of(frames, cluster_id, population, "attempts")
    incidents = estimate_of(frames, cluster_id, population, "incidents")
    if not attempts.get("node_days"):
        return Tile(label, UNKNOWN, details=(attempts.get("note") or "not estimated",))
    details = []
    if attempts["failure_count"]:
        details.append(f"{confidence(attempts['confidence_level'])} interval {rate_span(attempts)}")
    details.append(exposure(attempts["failure_count"], attempts["node_days"], "node-days", "failed attempt"))
    if attempts["note"] and attempts["failure_count"]:
        details.append(attempts["note"])
    if attempts["unexplained_count"]:
        details.append(
            "a lower bound: unknown is what ended "
            + plural(attempts["unexplained_count"], "more attempt", "more attempts")
        )
    if incidents and incidents["failure_count"]:
        details.append(
            f"by incidents: {rate_text(incidents)} ({rate_span(incidents)}), k = {number(incidents['failure_count'])}"
        )
    return Tile(label, rate_text(attempts), f"per {whole(1000)} node-days", tuple(details))


def mttf_tile(frames: Frames, cluster_id: str, gpu_count: int | None, label: str) -> Tile:
    """State the mean time to failure projected for a job size."""
    rows = of_cluster(frames, "projections", cluster_id)
    row = next((row for row in rows if row["gpu_count"] == gpu_count), None)
    if gpu_count is None:
        return Tile(label, UNKNOWN, details=("the number of GPUs is unknown",))
    if row is None:
        return Tile(f"{label} ({gpus(gpu_count)})", UNKNOWN, details=("no failure rate to project from",))
    count = row.get("event_count")
    details = []
    if count:
        ends = hours_span(row["mttf_hours_low"], row["mttf_hours_high"])
        details.append(f"{confidence(row['confidence_level'])} interval {ends}")
    details.append(f"projected from {exposure(count, row.get('exposure'), 'node-days')}")
    if row["population"] in POPULATIONS:
        details.append(f"by the rate of {POPULATIONS[row['population']]}")
    return Tile(
        f"{label} ({gpus(gpu_count)})",
        mttf(count, row["mttf_hours"], row["mttf_hours_low"], row["confidence_level"]),
        details=tuple(details),
    )


def infrastructure_tile(frames: Frames, cluster_id: str) -> Tile:
    """State how much of the work the infrastructure broke."""
    label = "Ended by an infrastructure failure"
    row = next((row for row in of_cluster(frames, "states", cluster_id) if row["is_infrastructure"]), None)
    attempts = only_row(frames, "attempts", cluster_id)
    if row is None or not row["attempt_count"]:
        return Tile(label, "none seen", details=(f"k = 0 of {plural(attempts.get('attempt_count', 0), 'attempt')}",))
    return Tile(
        label,
        share(row["attempt_ratio"]),
        f"of attempts, {share(row['gpu_time_ratio'])} of GPU time",
        (
            f"k = {whole(row['attempt_count'])} of {plural(attempts.get('attempt_count', 0), 'attempt')}",
            f"{short(row['gpu_hours'])} of {short(attempts.get('gpu_hours'))} GPU-hours",
        ),
    )


def utilisation_tile(frames: Frames, cluster_id: str) -> Tile:
    """State the allocated share of the GPU-hours in service."""
    label = "GPU time allocated"
    row = only_row(frames, "utilisation", cluster_id)
    allocated, in_service = row.get("allocated_gpu_hours"), row.get("in_service_gpu_hours")
    if allocated is None or not in_service:
        return Tile(label, UNKNOWN, details=("the GPU counts of nodes or of jobs are unknown",))
    details = [f"{short(allocated)} of {short(in_service)} GPU-hours"]
    if row["unknown_outage_count"]:
        details.append("no outage is known, so none is taken off")
    if row["unknown_allocation_count"]:
        details.append(
            f"a lower bound: the GPU time of {plural(row['unknown_allocation_count'], 'node-day')} is unknown"
        )
    return Tile(
        label,
        share(allocated / in_service),
        "of the time in service",
        tuple(details),
    )
