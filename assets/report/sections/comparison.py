"""All clusters side by side, and what changed since the report before; real and simulated are never added together."""

from __future__ import annotations

from collections.abc import Sequence

from assets.report.addresses import anchor_of
from assets.report.blocks import Cell, Section, section
from assets.report.changes import Change
from assets.report.numbers import UNKNOWN, duration, gpus, moment, printable, share, short, whole
from assets.report.queries import Own, Row
from assets.report.sections.first_screen import projection_of, ratio_of_months
from assets.report.sections.headline import could_see, has_enough, period
from assets.report.tables import Col, ends, table
from assets.report.wording import LITTLE, RATE, exposure, mttf, rate


def _rate(heading: str, population: str) -> Col:
    def cell(row: Row) -> Cell:
        found = row["own"].row("rates", population=population, counted_as="attempts")
        if not has_enough(row["own"]):
            return Cell(LITTLE)
        if not found.get("node_days"):
            return Cell(UNKNOWN, detail=found.get("note") or "")
        limits = f"{ends(found, RATE)}; " if found["failure_count"] else ""
        return Cell(rate(found), detail=limits + exposure(found["failure_count"], found["node_days"]))

    return Col(heading, cell)


def _month(row: Row) -> Cell:
    month = ratio_of_months(row["own"])
    if not has_enough(row["own"]) or month.get("ratio") is None:
        return Cell("cannot tell")
    return Cell(short(month["ratio"]), detail=ends(month, "ratio"))


def _mttf(row: Row) -> Cell:
    found = projection_of(row["own"])
    if not found or not has_enough(row["own"]):
        return Cell(UNKNOWN if has_enough(row["own"]) else LITTLE)
    limits = f"{ends(found, 'mttf_hours', duration)}; " if found.get("event_count") else ""
    return Cell(mttf(found), detail=limits + gpus(row["gpu_count"]))


def _infrastructure(row: Row) -> Cell:
    found = row["own"].row("states", is_infrastructure=True)
    if not found.get("attempt_count"):
        return Cell("none seen" if could_see(row["own"]) else UNKNOWN)
    return Cell(
        share(found["gpu_time_ratio"]),
        link=f"#{anchor_of(row['cluster_id'])}/failures",
        detail=f"k = {whole(found['attempt_count'])} attempts, {short(found['gpu_hours'])} GPU-hours",
    )


def _name(row: Row) -> Cell:
    name = row["cluster_id"]
    return Cell(printable(name), is_simulated=bool(row["is_simulated"]), link=f"#{anchor_of(name)}")


CLUSTERS = (
    Col("Cluster", _name),
    Col("From (UTC)", lambda row: moment(row["first_at"])[:10], detail=period),
    Col("#Nodes", "node_count", whole),
    Col("#GPUs", "gpu_count", whole),
    Col("#Attempts", lambda row: whole(row["own"].row("attempts").get("attempt_count", 0))),
    _rate("#Failure rate, jobs above 128 GPUs", "gpus_gt_128"),
    _rate("#Failure rate, all jobs", "all"),
    Col("#Last 30 days over the 30 before", _month),
    Col("#MTTF, whole cluster", _mttf),
    Col("#GPU time in failed attempts", _infrastructure),
)
CHANGES = (
    Col("Cluster", lambda row: printable(row["cluster_id"]) if row["cluster_id"] else "all"),
    Col("What", "what", str),
    Col("Kind", "kind", str),
    Col("In words", "said", str),
)


def comparison(owns: Sequence[Own]) -> tuple[Section, ...]:
    """Build the table of all clusters, or nothing when there is none."""
    if not owns:
        return ()
    clusters = table(
        "All clusters",
        [{**own.cluster, "own": own} for own in owns],
        CLUSTERS,
        "Attempts: those that have ended. "
        f"Failure rate: failed attempts per {whole(1000)} node-days; the pages of a cluster also count incidents. "
        f"{LITTLE}: less than a week, or too few incidents, were observed. The ratio of the last days is that of "
        "incidents.",
    )
    return (section("comparison", "", clusters),)


def since_last_report(changes: Sequence[Change] | None) -> tuple[Section, ...]:
    """Build the table of what moved out of the interval that it had; nothing where there is no report before."""
    if changes is None:
        return ()
    title = "What changed since the last report"
    moved = table(
        title,
        [vars(change) for change in changes],
        CHANGES,
        "A number moved where its new value lies outside of its old interval. Numbers of different versions of a "
        "method are not compared.",
    )
    return (section("changes", "" if moved else title, moved or "No number moved out of the interval that it had."),)
