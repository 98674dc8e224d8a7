"""News of a cluster, one line each, for alerts."""

from __future__ import annotations

from assets.report.actions import lemon_words
from assets.report.queries import Row
from assets.rounding import rounded

BURN_DAYS = (1, 3, 7, 28)
"""The windows of `marts.agg_availability_monthly`."""


def lemon_line(node: Row) -> str:
    """Say that a node is on the list of lemons."""
    return f"{node['node_name']}: {lemon_words(node)}; {_number(node['event_count'])} failures"


def change_line(change: Row) -> str:
    """Say how a rate changed, and what was noted near that day."""
    what = "all failures" if change["failure_category"] == "all" else change["failure_category"]
    near = f"; near {change['annotation']}" if change["annotation"] else ""
    by = f", {_interval(change, 'ratio')} times" if change["ratio"] else ""
    return (
        f"{what}: since {change['changed_at']:%Y-%m-%d} {_interval(change, 'rate_after')} incidents per 1,000"
        f" node-days, before {_interval(change, 'rate_before')}{by}{near}"
    )


def burn_line(month: Row) -> str:
    """Say how fast a month's error budget burns."""
    rates = ", ".join(
        f"{_number(month[f'burn_rate_{days}d'])} over {'1 day' if days == 1 else f'{days} days'}" for days in BURN_DAYS
    )
    left = month["error_budget_left_high"]
    used = "an unknown part" if left is None else f"{_number(100 * (1 - left))}%"
    return (
        f"{month['burn_pace']} burn, in failed node-hours against those that the objective of"
        f" {100 * month['objective']:g}% allows: {rates}; {used} of the budget of the month's hours so far is used"
    )


def not_built_line(cluster: Row) -> str:
    """Say why a cluster could not be built, and what readers see instead."""
    built = cluster["built_at"]
    stays = f"keeps its numbers of {built:%Y-%m-%d %H:%M} UTC" if built else "is published without numbers"
    return f"it could not be built and {stays}: {'; '.join(cluster['reasons'])}"


def not_fetched_line(cluster: Row) -> str:
    """Say why a cluster was built without its newest accounting, and where its accounting ends."""
    is_any = cluster["data_through_at"] is not None
    ends = f"its accounting ends {cluster['built_at']:%Y-%m-%d %H:%M} UTC" if is_any else None
    return f"{cluster['stale_reason']}; {ends or 'it has no accounting yet'}"


def _interval(row: Row, name: str) -> str:
    return f"{_number(row[name])} [{_number(row[f'{name}_low'])}, {_number(row[f'{name}_high'])}]"


def _number(value: float | None) -> str:
    """Three significant digits; unknown stays unknown."""
    return "unknown" if value is None else rounded(value)
