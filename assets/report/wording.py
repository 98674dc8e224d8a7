"""How an estimate is said: value, interval, event count and exposure together; a zero count becomes a bound."""

from __future__ import annotations

from typing import Any

from assets.report.numbers import confidence, duration, short, whole

POPULATIONS = {
    "gpus_gt_128": "jobs above 128 GPUs",
    "whole_nodes": "jobs on whole nodes",
    "all": "all jobs",
    "nodes": "the nodes in use",
}


def span(low: float | None, high: float | None, scale: float = 1.0) -> str:
    """Write the two ends of an interval.

    >>> span(5.9, 7.1), span(None, 7.1), span(3.0, None)
    ('5.90 to 7.10', 'below 7.10', 'above 3.00')
    """
    if low is None and high is None:
        return "not estimated"
    if low is None:
        return f"below {short((high or 0.0) * scale)}"
    if high is None:
        return f"above {short(low * scale)}"
    return f"{short(low * scale)} to {short(high * scale)}"


def hours_span(low: float | None, high: float | None) -> str:
    """Write the two ends of an interval of hours.

    >>> hours_span(1.5, 300.0), hours_span(12.0, None)
    ('1.50 h to 12.5 days', 'above 12.0 h')
    """
    if low is None and high is None:
        return "not estimated"
    if low is None:
        return f"below {duration(high)}"
    if high is None:
        return f"above {duration(low)}"
    return f"{duration(low)} to {duration(high)}"


def rate(count: float | None, value: float | None, high: float | None, level: float | None, scale: float = 1.0) -> str:
    """Write a rate; with no event seen, its upper bound.

    >>> rate(13, 6.5, 10.0, 0.9), rate(0, 0.0, 2.996, 0.9), rate(None, None, None, None)
    ('6.50', 'none seen; rate below 3.00 (90%)', 'unknown')
    """
    if count == 0:
        bound = (
            f"rate below {short(high * scale)} ({confidence(level)})" if high is not None else "no exposure to judge by"
        )
        return f"none seen; {bound}"
    return short(None if value is None else value * scale)


def mttf(count: float | None, value: float | None, low: float | None, level: float | None) -> str:
    """Write a mean time to failure; with no failure seen, its lower bound.

    >>> mttf(3, 28.85, 10.0, 0.9), mttf(0, None, 12.0, 0.9), mttf(0, None, None, 0.9)
    ('28.9 h', 'none failed; MTTF above 12.0 h (90%)', 'none failed; no exposure to judge by')
    """
    if count == 0:
        if low is None:
            return "none failed; no exposure to judge by"
        return f"none failed; MTTF above {duration(low)} ({confidence(level)})"
    return duration(value)


def exposure(count: float | None, amount: float | None, unit: str, event: str = "failure") -> str:
    """Write what an estimate rests on.

    >>> exposure(1, 12.5, "node-days"), exposure(None, None, "node-days")
    ('k = 1 failure in 12.5 node-days', 'k unknown in unknown node-days')
    """
    counted = "k unknown" if count is None else f"k = {plural(count, event)}"
    return f"{counted} in {short(amount)} {unit}"


def number(count: float) -> str:
    """Write a count, or a sum of probabilities.

    >>> number(12), number(12.0), number(11.96), number(0.04)
    ('12', '12', '12.0', '0.0400')
    """
    return whole(count) if float(count).is_integer() else short(count)


def known(row: dict[str, Any], *names: str) -> Any:
    """Return the first of the named columns that the row has and that is not NULL."""
    return next((row[name] for name in names if row.get(name) is not None), None)


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
    return f"{number(count)} {singular if count == 1 else many or singular + 's'}"


def loss_rule(checkpoint_minutes: float) -> str:
    """Say how the work lost at an interruption is reckoned.

    >>> loss_rule(60.0)
    'half the 60 minutes between checkpoints, or the runtime where that is shorter, times the GPUs.'
    """
    return (
        f"half the {checkpoint_minutes:g} minutes between checkpoints, or the runtime where that is shorter, times the "
        "GPUs."
    )
