"""Estimates in words: value, interval, event count and exposure together; a zero count becomes a bound."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from assets.report.numbers import confidence, duration, moment, printable, short, whole

POPULATIONS = {
    "gpus_gt_128": "jobs above 128 GPUs",
    "whole_nodes": "jobs on whole nodes",
    "all": "all jobs",
    "nodes": "the nodes in use",
}
SIGNALS = {
    "excl_jobid_count": "jobs that exclude the node",
    "xid_cnt": "different Xid codes",
    "tickets": "repair tickets",
    "out_count": "times out of service by faults",
    "multi_node_node_fails": "failures of jobs on several nodes",
    "single_node_node_fails": "failures of jobs on it alone",
    "single_node_node_failure_rate": "share of jobs on it alone that failed",
}
"""The paper's signals of lemons, in words."""
MAX_REASON_CHARACTERS = 600
RATE = "failures_per_1000_node_days"
LITTLE = "too little to tell"
AT_THE_END_SECONDS = 5.0


def stale(cluster: Mapping[str, Any]) -> str:
    """Return the time of a stale cluster's numbers and why newer ones are missing; empty for any other cluster."""
    if not cluster["is_stale"]:
        return ""
    reason = printable("; ".join(cluster["stale_reason"].splitlines()), MAX_REASON_CHARACTERS)
    return f"stale, as of {moment(cluster['built_at'])} UTC. Newer numbers could not be built: {reason}"


def span(low: float | None, high: float | None, write: Callable[[float], str] = short) -> str:
    """Write the two ends of an interval.

    >>> span(5.9, 7.1), span(None, 7.1), span(3.0, None), hours_span(1.5, 300.0)
    ('5.90 to 7.10', 'below 7.10', 'above 3.00', '1.50 h to 12.5 days')
    """
    if low is None or high is None:
        return "not estimated" if low is high else f"below {write(high or 0)}" if low is None else f"above {write(low)}"
    return f"{write(low)} to {write(high)}"


hours_span = partial(span, write=duration)


def rate(row: dict[str, Any], stem: str = RATE, count: str = "failure_count") -> str:
    """Write a rate; with no event seen, its upper bound.

    >>> rate({"failure_count": 13, "r": 6.5}, "r")
    '6.50'
    >>> rate({"failure_count": 0, "r": 0.0, "r_high": 2.996, "confidence_level": 0.9}, "r"), rate({})
    ('none seen; rate below 3.00 (90%)', 'unknown')
    """
    if row.get(count) != 0:
        return short(row.get(stem))
    high = row.get(f"{stem}_high")
    level = confidence(row.get("confidence_level"))
    return f"none seen; {'no exposure to judge by' if high is None else f'rate below {short(high)} ({level})'}"


def unit_rate(row: dict[str, Any]) -> str:
    """Write the rate of recorded failures in service, or that too little was seen for one."""
    enough = row["has_enough_data"] or not row["unit_days"]
    return rate(row, "failures_per_1000_unit_days") if enough else LITTLE


def mttf(row: dict[str, Any]) -> str:
    """Write a mean time to failure; with no failure seen, its lower bound.

    >>> mttf({"event_count": 3, "mttf_hours": 28.85}), mttf({"event_count": 0, "mttf_hours_low": 12.0})
    ('28.9 h', 'none failed; MTTF above 12.0 h (90%)')
    """
    if row.get("event_count") != 0:
        return duration(row["mttf_hours"])
    low = row["mttf_hours_low"]
    bound = f"MTTF above {duration(low)} ({confidence(row.get('confidence_level'))})"
    return f"none failed; {'no exposure to judge by' if low is None else bound}"


def bounded(row: Mapping[str, Any], stem: str) -> str:
    """Write an estimate; with no event seen, its lower bound.

    >>> bounded({"hours": 28.85}, "hours"), bounded({"hours": None, "hours_low": 12.0}, "hours")
    ('28.9', 'above 12.0')
    """
    value, low = row[stem], row.get(f"{stem}_low")
    return f"above {short(low)}" if value is None and low is not None else short(value)


def exposure(
    count: float | None,
    amount: float | None,
    unit: str = "node-days",
    event: str = "failure",
    events: str = "",
) -> str:
    """Write the event count and the exposure of an estimate.

    >>> exposure(1, 12.5), exposure(None, None)
    ('1 failure in 12.5 node-days', 'an unknown number of failures in unknown node-days')
    """
    counted = f"an unknown number of {events or event + 's'}" if count is None else plural(count, event, events)
    return f"{counted} in {short(amount)} {unit}"


def job_name(row: Mapping[str, Any], stem: str = "") -> str:
    """Name a job as Slurm prints it, followed by the number of the attempt.

    >>> job_name({"job_id": "17_4", "attempt_number": 2}), job_name({"job_id": "17", "attempt_number": 1})
    ('17_4, attempt 2', '17')
    """
    number = row[f"{stem}attempt_number"]
    return printable(row[f"{stem}job_id"]) + (f", attempt {whole(number)}" if number and number > 1 else "")


def lead(seconds: float) -> str:
    """Say how long before the end of a job an alarm came.

    >>> lead(240.0), lead(-1.5), lead(-60.0)
    ('4.00 min before', 'at the end', '1.00 min after')
    """
    if abs(seconds) < AT_THE_END_SECONDS:
        return "at the end"
    return f"{duration(abs(seconds) / 3600)} {'after' if seconds < 0 else 'before'}"


def event_of(row: Mapping[str, Any]) -> tuple[str, str]:
    """Return the singular and plural of what a failure rate counts; a projected rate counts attempts or nodes.

    >>> event_of({"population": "nodes", "counted_as": "incidents"})[1], event_of({"population": "all"})[1]
    ('nodes taken down by incidents', 'failed attempts')
    """
    if row["population"] == "nodes":
        return "node taken down by incidents", "nodes taken down by incidents"
    return ("incident", "incidents") if row.get("counted_as") == "incidents" else ("failed attempt", "failed attempts")


def number(count: float) -> str:
    """Write a count, or a sum of probabilities.

    >>> number(12), number(12345.0), number(11.96), number(0.04)
    ('12', '12,345', '12', '0.0400')
    """
    if float(count).is_integer():
        return whole(count)
    before, _, after = short(count).partition(".")
    return f"{before}.{after}" if after.strip("0") else before


def signal(name: str) -> str:
    """Write a signal of lemons in words."""
    return SIGNALS[name]


def reasons_in_words(reasons: str | None) -> str:
    """Write the signals in the reasons of a verdict in words.

    >>> reasons_in_words("6 failures in 19 node-days in use; excl_jobid_count 379 (limit 346)")
    '6 failures in 19 node-days in use; jobs that exclude the node 379 (limit 346)'
    """
    said = (part.partition(" ") for part in (reasons or "").split("; "))
    return "; ".join(SIGNALS.get(name, name) + space + rest for name, space, rest in said)


def extrapolation(gpu_count: float, largest_job_gpu_count: int | None) -> str:
    """Return a warning for a size above the largest job that ran; empty for others, or if the largest is unknown.

    >>> extrapolation(1024, 512)
    'larger than any job seen (512 GPUs): an extrapolation that the limits do not cover'
    >>> extrapolation(512, 512), extrapolation(512, None)
    ('', '')
    """
    if largest_job_gpu_count is None or gpu_count <= largest_job_gpu_count:
        return ""
    return f"larger than any job seen ({largest_job_gpu_count:,} GPUs): an extrapolation that the limits do not cover"


def sentence(text: str) -> str:
    """Make a note a sentence, without touching any other letter.

    >>> sentence("too few attempts of 512 GPUs")
    'Too few attempts of 512 GPUs.'
    """
    return f"{text[:1].upper()}{text[1:]}."


def plural(count: float, singular: str, many: str = "") -> str:
    """Write a count with its noun.

    >>> plural(1, "node"), plural(2, "node"), plural(2, "history", "histories"), plural(1.96, "failure")
    ('1 node', '2 nodes', '2 histories', '1.96 failures')
    """
    said = number(count)
    return f"{said} {singular if said == '1' else many or singular + 's'}"


def listed(names: Sequence[str], joint: str = "and") -> str:
    """Join names.

    >>> listed(["rack"]), listed(["rack", "switch", "GPU model"], "or")
    ('rack', 'rack, switch or GPU model')
    """
    return f" {joint} ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def caveats(row: Mapping[str, Any]) -> str:
    """Return the caveats of a failure rate: its note, and for a lower bound the number of unexplained attempts."""
    note = printable(row["note"], 200) if row["note"] else ""
    more = plural(row["unexplained_count"] or 0, "more attempt")
    bound = f"a lower bound: {more} of unknown cause" if row["is_lower_bound"] and row["unexplained_count"] else ""
    return "; ".join(filter(None, (note, bound)))


def brackets(interval: str, level: float | None = None) -> str:
    """Write an interval in brackets, followed by its level.

    >>> brackets("13.3 to 24.0", 0.9), brackets("above 12.0 h")
    ('[13.3, 24.0] (90%)', '[above 12.0 h]')
    """
    return f"[{interval.replace(' to ', ', ')}]" + (f" ({confidence(level)})" if level else "")


def money(amount: float | None, currency: str) -> str:
    """Write a sum of money, in whole units.

    >>> money(14078.2, "USD"), money(3.0, "EUR"), money(None, "USD")
    ('$14,078', '3 EUR', 'unknown')
    """
    if amount is None:
        return whole(None)
    return f"${whole(amount)}" if currency == "USD" else f"{whole(amount)} {printable(currency, 8)}"


def yes_no(flag: bool | None) -> str:
    """Write a flag; empty if it is unknown."""
    return "" if flag is None else "yes" if flag else "no"


def loss_rule(checkpoint_minutes: float) -> str:
    """Describe how the work lost at an interruption is computed.

    >>> loss_rule(60.0)
    'half the 60 minutes between checkpoints, or the runtime where that is shorter, times the GPUs.'
    """
    return (
        f"half the {checkpoint_minutes:g} minutes between checkpoints, or the runtime where that is shorter, times the "
        "GPUs."
    )
