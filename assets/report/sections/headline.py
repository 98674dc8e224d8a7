"""What was observed of a cluster, and the failure rates and MTTF that are quoted, with what each rests on."""

from __future__ import annotations

import datetime as dt

from assets.report.blocks import Section, section
from assets.report.numbers import UNKNOWN, duration, gpus, moment, printable, share, short, whole
from assets.report.queries import Own, Row
from assets.report.sections.mttf import projected
from assets.report.tables import Col, interval, table
from assets.report.wording import POPULATIONS, event_of, exposure, plural, rate


def _doubt(row: Row) -> str:
    note = printable(row["note"], 200) if row["note"] else ""
    more = plural(row["unexplained_count"] or 0, "more attempt")
    bound = f"a lower bound: unknown is what ended {more}" if row["is_lower_bound"] and row["unexplained_count"] else ""
    return "; ".join(filter(None, (note, bound)))


COUNTED = ("attempts", "incidents")
"""Ways of counting that are shown."""
RATES = (
    Col("Failure rate of", lambda row: POPULATIONS.get(row["population"], printable(row["population"]))),
    Col("Counted as", "counted_as", detail=lambda row: "quoted" if row["is_reference"] else ""),
    Col("#Per 1,000 node-days", lambda row: rate(row) if row["node_days"] else UNKNOWN),
    interval("failures_per_1000_node_days", unless="failure_count"),
    Col("#Rests on", lambda row: exposure(row["failure_count"], row["node_days"], "node-days", *event_of(row))),
    Col("What to know", _doubt),
)


def headline(own: Own) -> Section:
    """Build the section on what was observed, and on the numbers that are quoted."""
    quoted = [row for row in own.rows("projections") if row["is_cluster_size"] or row["is_largest_job"]]
    return section(
        "headline",
        "The numbers, and what they rest on",
        facts(own),
        table(
            "Failure rates",
            [row for row in own.rows("rates") if row["counted_as"] in COUNTED],
            RATES,
            "Attempts measure what users suffer, incidents what machines do. An attempt counts with the probability "
            "that infrastructure ended it; attempts that share a node or an event are one incident. Of the nodes in "
            "use, every node that an incident took down counts.",
        ),
        projected("MTTF of the largest jobs", quoted, own),
        f"{_infrastructure(own)} {utilisation_in_words(own)}",
    )


def reference_of(own: Own) -> Row:
    """Find the failure rate of a cluster that is quoted."""
    return own.row("rates", is_reference=True)


def is_doubtful(own: Own) -> bool:
    """Tell whether the logs may miss much of what failed, so that losses are at least what is told."""
    return bool(own.row("evidence_reach").get("is_doubtful"))


def has_enough(own: Own) -> bool:
    """Tell whether enough was observed for the estimates to say something of the machine."""
    return bool(reference_of(own).get("has_enough_data"))


def facts(own: Own) -> str:
    """Say what was observed: period, machine, records."""
    attempts, cluster = own.row("attempts"), own.cluster
    begin, end = observed(cluster)
    ended = attempts.get("attempt_count", 0)
    more = attempts.get("record_count", 0) - ended
    running = f" ({plural(more, 'more', 'more')} still pending or running: these count as exposure, not as attempts)"
    return (
        f"{moment(begin)} to {moment(end)} UTC ({period(cluster)}): "
        f"{whole(cluster['node_count'])} nodes, {gpus(cluster['gpu_count'])}; {plural(ended, 'ended attempt')} of "
        f"{plural(attempts.get('job_count', 0), 'job')}{running if more else ''}, "
        f"{short(attempts.get('gpu_hours'))} GPU-hours."
    )


def through(cluster: Row) -> dt.datetime | None:
    """Give the end of what was observed: that of accounting, where there is any. An inventory may be much younger."""
    end: dt.datetime | None = cluster.get("data_through_at") or cluster["last_at"]
    return end


def observed(cluster: Row) -> tuple[dt.datetime | None, dt.datetime | None]:
    """Give begin and end of what was observed: those of the study period, where there is one."""
    return cluster.get("study_from_at") or cluster["first_at"], cluster.get("study_to_at") or through(cluster)


def period(cluster: Row) -> str:
    """Write the observed span of time, and how much of it accounting lacks."""
    begin, end = observed(cluster)
    if begin is None or end is None:
        return UNKNOWN
    span = duration((end - begin).total_seconds() / 3600)
    return f"{span}, {duration(24 * cluster['gap_days'])} of them without accounting" if cluster["gap_days"] else span


def _infrastructure(own: Own) -> str:
    found, attempts = own.row("states", is_infrastructure=True), own.row("attempts")
    of_all = plural(attempts.get("attempt_count", 0), "attempt")
    if not found.get("attempt_count"):
        return f"No attempt of {of_all} is known to have ended by an infrastructure failure."
    expected = found["expected_failure_count"]
    return (
        f"{plural(expected, 'infrastructure failure')}, each counted with the probability that it is one: "
        f"{share(expected / attempts['attempt_count'])} of {of_all}."
    )


def utilisation(own: Own) -> tuple[float | None, float | None]:
    """Add up the GPU-hours allocated and those in service; None where no day knows them."""
    names, days = ("allocated_gpu_hours", "in_service_gpu_hours"), own.rows("daily_work")
    known = ([day[name] for day in days if day[name] is not None] for name in names)
    allocated, in_service = (sum(values) if values else None for values in known)
    return allocated, in_service


def utilisation_in_words(own: Own) -> str:
    """Say how much of the GPU time in service was allocated, and what that leaves out."""
    allocated, in_service = utilisation(own)
    if allocated is None or not in_service:
        return "How much of the GPU time was allocated is unknown: the GPU counts of nodes or of jobs are."
    ratio, hours = share(allocated / in_service), f"{short(allocated)} of {short(in_service)} GPU-hours"
    days = own.rows("daily_work")
    unwatched = sum(day["unknown_outage_count"] > 0 for day in days)
    without = f"; outages are unknown on {plural(unwatched, 'day')}, so none is taken off there" if unwatched else ""
    if unwatched == len(days):
        without = "; no outage is known, so none is taken off"
    unknown = sum(day["unknown_allocation_count"] for day in days)
    bound = f"; a lower bound: the GPU time of {plural(unknown, 'node-day')} is unknown" if unknown else ""
    unseen = sum(day["unseen_gpu_hours"] for day in days)
    absent = f"; {short(unseen)} of these are of nodes that no log names yet, or any more" if unseen else ""
    return f"Allocated: {ratio} of the time in service, {hours}{absent}{without}{bound}."
