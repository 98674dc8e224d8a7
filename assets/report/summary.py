"""The report in ten lines of Markdown, for mail and chat: each cluster's numbers, what to do, what changed.

Strings from the logs are escaped, so that they are text in Markdown too.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Sequence
from dataclasses import dataclass

from assets.model.failure_rate import MIN_NODE_DAYS
from assets.report.actions import Action, actions_of
from assets.report.changes import Change
from assets.report.numbers import confidence, duration, moment, printable, share, short, whole
from assets.report.queries import Frames, Row
from assets.report.wording import plural, span

MAX_LINES = 10
FIXED_LINES = 4
MAX_NAMES = 4
MIN_WHOLE = 100
_SPECIAL = re.compile(r"([!-+./:-@\[-`{-~])")
"""ASCII punctuation but comma and hyphen, which mean nothing inside a line."""


@dataclass(frozen=True)
class Facts:
    """What is told of one cluster, as texts: each number with its interval, and what they rest on.

    `is_enough` is false where so little was observed that a rate would be misleading.
    """

    cluster_id: str
    is_simulated: bool
    is_enough: bool
    size: str
    rate: str
    rate_span: str
    change: str
    mttf: str
    mttf_span: str
    lost: str
    lost_in: str
    costly_label: str
    costly_share: str
    last_at: str
    actions: tuple[Action, ...]


def facts_of(frames: Frames) -> list[Facts]:
    """Gather what is told of each cluster; those of which too little is known come last."""
    found = [_facts(row, tuple(actions_of(frames, row["cluster_id"]))) for row in frames["summary"]]
    return sorted(found, key=lambda facts: not facts.is_enough)


def write_summary(facts: Sequence[Facts], changes: Sequence[Change] | None, made_at: dt.datetime) -> str:
    """Write at most ten lines of Markdown.

    Parameters
    ----------
    facts
        What `facts_of` returned.
    changes
        What changed since the report before; None where there is none.
    made_at
        UTC time of the report.
    """
    room = MAX_LINES - FIXED_LINES
    lines = [f"# Cluster reliability, {moment(made_at)} UTC"]
    if 2 * len(facts) <= room:
        for cluster in facts:
            lines += [f"* {_about(cluster)}", f"  To do: {_to_do(cluster, 3)}"]
    else:
        shown = facts if len(facts) <= room else facts[: room - 1]
        lines += [f"* {_about(cluster)} To do: {_to_do(cluster, 1)}" for cluster in shown]
        if len(shown) < len(facts):
            lines.append(f"* and {plural(len(facts) - len(shown), 'more cluster')} in the report")
    if not facts:
        lines.append("* No cluster is in the warehouse.")
    ages = ", ".join(f"{escape(cluster.cluster_id)} {cluster.last_at}" for cluster in facts[:room])
    lines += [f"* Since the report before: {_changed(changes)}", f"* Data until: {ages or 'nothing'}", _FULL]
    return "\n".join(lines) + "\n"


_FULL = "* All of it: `index.html` beside this file. Intervals are in brackets; times are UTC."


def escape(text: str) -> str:
    r"""Keep foreign text from being Markdown, a link or HTML.

    >>> print(escape("<b>*x*</b> [a](http://b)"))
    \<b\>\*x\*\<\/b\> \[a\]\(http\:\/\/b\)
    """
    return _SPECIAL.sub(r"\\\1", printable(text))


def month_change(row: Row) -> str:
    """Compare the incidents of the last 30 days with those of the 30 days before, by estimates.est_rate_ratios.

    >>> month_change({"month_ratio": 3.0, "month_ratio_low": 1.5, "month_ratio_high": 6.0})
    'more than in the 30 days before: 3.00 times as many [1.50, 6.00]'
    """
    ratio, low, high = row["month_ratio"], row["month_ratio_low"], row["month_ratio_high"]
    if not ratio or low is None or high is None:
        return "whether that changed cannot be told"
    if low <= 1 <= high:
        return f"no change against the 30 days before that can be told from chance [{short(low)}, {short(high)} times]"
    said = f"{short(ratio)} times as many [{short(low)}, {short(high)}]"
    return f"{'more' if low > 1 else 'fewer'} than in the 30 days before: {said}"


def _facts(row: Row, actions: tuple[Action, ...]) -> Facts:
    value, count = row["failures_per_1000_node_days"], row["failure_count"]
    is_enough = (row["node_days"] or 0) >= MIN_NODE_DAYS
    limits = span(row["failures_per_1000_node_days_low"], row["failures_per_1000_node_days_high"])
    if not is_enough:
        rate, limits = "too little to tell", f"{short(row['node_days'])} node-days were observed"
    elif not count:
        rate, limits = "no failure", f"{limits} per 1,000 node-days"
    else:
        rate = short(value)
    cost = f" ({whole(row['lost_cost'])} {printable(row['currency'], 8)})" if row["lost_cost"] else ""
    lost = row["lost_gpu_hours"]
    return Facts(
        cluster_id=row["cluster_id"],
        is_simulated=bool(row["is_simulated"]),
        is_enough=is_enough,
        size=f"{plural(row['node_count'] or 0, 'node')}, {whole(row['gpu_count'])} GPUs",
        rate=rate,
        rate_span=limits if not is_enough or not count else f"{confidence(row['confidence_level'])}: {limits}",
        change=month_change(row) if is_enough else "",
        mttf=duration(row["mttf_hours"]) if is_enough else "",
        mttf_span=f"{duration(row['mttf_hours_low'])} to {duration(row['mttf_hours_high'])}"
        if is_enough and row["mttf_hours"]
        else "",
        lost=f"{whole(lost) if lost >= MIN_WHOLE else short(lost)} GPU-hours{cost}" if lost is not None else "unknown",
        lost_in=_length(row["study_days"]),
        costly_label=printable(row["costly_label"]) if row["costly_ratio"] else "",
        costly_share=share(row["costly_ratio"]) if row["costly_ratio"] else "",
        last_at=moment(row["last_at"]) + (" (stale)" if row["is_stale"] else ""),
        actions=actions,
    )


def _length(days: float | None) -> str:
    return duration(None if days is None else 24 * days) if days is None or days < 2 else plural(round(days), "day")


def _about(facts: Facts) -> str:
    name = f"**{escape(facts.cluster_id)}**{' (simulated)' if facts.is_simulated else ''}"
    if not facts.is_enough:
        return f"{name}: {facts.rate}: {facts.rate_span}."
    said = f"{name}: {facts.rate} failures per 1,000 node-days [{facts.rate_span}], {facts.change}"
    if facts.mttf_span:
        said += f"; a job on the whole cluster lasts {facts.mttf} [{facts.mttf_span}]"
    said += f"; lost in {facts.lost_in}: {facts.lost}"
    return said + (f", most by {escape(facts.costly_label)} ({facts.costly_share})." if facts.costly_label else ".")


def _to_do(facts: Facts, count: int) -> str:
    """Name the nodes to take out, then the other actions, as many as fit."""
    lemons = [name for action in facts.actions if action.takes_out for name in action.node_names]
    others = [action for action in facts.actions if not action.takes_out]
    said = []
    if lemons:
        more = f" and {len(lemons) - MAX_NAMES} more" if len(lemons) > MAX_NAMES else ""
        said.append(f"take out {', '.join(map(escape, lemons[:MAX_NAMES]))}{more}")
    said += [escape(action.title) for action in others[: max(0, count - len(said))]]
    left = len(others) - max(0, count - bool(lemons))
    return ("; ".join(said) or "nothing") + (f"; {left} more in the report." if left > 0 else ".")


def _changed(changes: Sequence[Change] | None) -> str:
    if changes is None:
        return "there is none."
    if not changes:
        return "no number moved by more than its interval."
    said = [f"{escape(change.cluster_id)}: {escape(change.said)}" for change in changes[:2]]
    return "; ".join(said) + (f"; {len(changes) - 2} more." if len(changes) > 2 else ".")
