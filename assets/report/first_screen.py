"""What an operator reads first: worse than last month or not, five numbers with intervals, what to do, data age."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from assets.log_kinds import LOG_KINDS
from assets.report.actions import Action
from assets.report.blocks import Age, Change, Direction, Figure, FirstScreen, Measure, Tile
from assets.report.figures.recorded import by_month, change_of_records, tiles_of_records
from assets.report.gaps import missing_kinds
from assets.report.numbers import UNKNOWN, duration, gpus, moment, share, short
from assets.report.observed import has_enough, is_doubtful, observed, period, reference_of, through
from assets.report.queries import ClusterData, Row
from assets.report.tables import limits_of
from assets.report.wording import (
    LITTLE,
    POPULATIONS,
    RATE,
    brackets,
    event_of,
    exposure,
    extrapolation,
    listed,
    money,
    mttf,
    number,
    plural,
    rate,
    sentence,
)
from assets.seen_days import MONTH as WINDOW
from assets.seen_days import part_of_month, too_few

CANNOT_TELL = "cannot tell"
MIN_RUNS = 10
"""The mean of fewer runs has no limits."""
VERDICTS: dict[str, tuple[Direction, str]] = {
    "worse": ("worse", "Worse than last month"),
    "better": ("better", "Better than last month"),
    "no change shown": ("", "No change shown since last month"),
}
PER_1000 = "failures per 1,000 node-days"
INCIDENTS = "incidents per node-day"
LOST = Measure("GPU-hours", "all")
NO_LIMITS = "so far, no interval"


def first_screen(
    data: ClusterData, made_at: dt.datetime, actions: Sequence[Action], trend: Figure | None, fresh_hours: float
) -> FirstScreen:
    """Build the first screen of a cluster; `trend` draws its rate over time."""
    cluster, enough = data.cluster, has_enough(data)
    if cluster["has_records_alone"]:
        return _of_records(data, made_at, actions, fresh_hours)
    change = change_of(data)
    tiles = (_rate_tile(data), _mttf_tile(data), _ettr_tile(data.rows("ettr")), _loss_tile(data), _change_tile(change))
    return FirstScreen(
        period=f"{period(cluster)} from {moment(observed(cluster)[0])[:10]} on, "
        f"{plural(cluster['node_count'] or 0, 'node')}, {gpus(cluster['gpu_count'])}",
        change=change,
        sentence=_sentence(data, actions),
        tiles=tiles,
        actions=tuple(actions),
        age=_age(through(cluster), made_at, fresh_hours),
        missing=_missing(data),
        folder=data.folder,
        lost_gpu_hours=losses_of(data)["expected_lost_gpu_hours"] or 0.0,
        trend=trend if enough else None,
    )


def _of_records(data: ClusterData, made_at: dt.datetime, actions: Sequence[Action], fresh_hours: float) -> FirstScreen:
    """Build the first screen of a cluster that has only recorded failures."""
    trend, first_at = by_month(data), data.cluster["first_at"]
    begun = f"from {moment(first_at)[:10]} on" if through(data.cluster) != first_at else f"at {moment(first_at)} UTC"
    return FirstScreen(
        period=f"{period(data.cluster)} {begun}, no accounting".removeprefix("0 h "),
        change=change_of_records(data),
        sentence="",
        tiles=tiles_of_records(data),
        actions=tuple(actions),
        age=_age(through(data.cluster), made_at, fresh_hours),
        missing=_missing(data),
        folder=data.folder,
        trend=trend,
        trend_title="Recorded failures by month",
        without_trend="The recorded failures are not drawn: a chart requires two months.",
    )


def _missing(data: ClusterData) -> str:
    names = [gap.name.lower() if gap.name[1:2].islower() else gap.name for gap in missing_kinds(data.cluster)]
    read = {row["kind"] for row in data.rows("kinds_read")}
    absent = [kind for kind in LOG_KINDS if kind not in read]
    if names:
        return f"Missing: {', '.join(names)}."
    lacking = f"; {listed(absent)} {'is' if len(absent) == 1 else 'are'} not given" if absent else ""
    return f"All important logs are there{lacking}."


def change_of(data: ClusterData) -> Change:
    """Answer the first question: is it worse than last month? Both months count all incidents on the nodes in use."""
    reference = reference_of(data)
    if reference.get("node_days") and reference["failure_count"] is None:
        why = reference["note"].rpartition("; ")[2]
        return Change(f"How often machines fail is unknown: {why}.", UNKNOWN)
    if not has_enough(data):
        why = (reference.get("note") or "nothing was seen").rpartition(f"{LITTLE}: ")[2].partition("; ")[0]
        said = f"{sentence(f'{LITTLE}: {why}')} The pages show what happened; estimates require more data."
        return Change(said, LITTLE)
    row, days = data.row("rate_ratios", comparison="months", population="all"), _seen_days(data)
    unknown = "Cannot tell whether it is worse than last month."
    if (why := too_few(*days)) or not row.get("node_days") or not row["other_node_days"]:
        why = why or f"there are no two times {WINDOW} days to compare"
        if failed := data.not_computed("rate_ratios"):
            why = f"{failed[0]['table_name']} could not be computed"
        return Change(unknown, CANNOT_TELL, why)
    seen, seen_before = (f" ({part})" if (part := part_of_month(of_month)) else "" for of_month in days)
    counted = (
        f"{plural(row['failure_count'], 'incident')}{seen} against {number(row['other_failure_count'])}{seen_before}"
    )
    measure = Measure(INCIDENTS, row["population"])
    if row["verdict"] not in VERDICTS:
        return Change(unknown, CANNOT_TELL, f"too few: {counted}", measure=measure)
    tone, verdict = VERDICTS[row["verdict"]]
    limits = brackets(limits_of(row, "ratio"), row["confidence_level"])
    ratio = f"\N{MULTIPLICATION SIGN} {short(row['ratio'])}" if row["ratio"] else "more often"
    return Change(f"{verdict}.", ratio, counted, tone, measure, limits)


def _change_tile(change: Change) -> Tile:
    label = f"Incidents per node-day, last {WINDOW} days over the {WINDOW} before"
    return Tile(label, change.ratio, change.limits, (change.detail,) if change.detail else (), change.measure)


def _rate_tile(data: ClusterData) -> Tile:
    reference = reference_of(data)
    label = f"Failures per 1,000 node-days, {POPULATIONS.get(reference.get('population', ''), 'all jobs')}"
    if not reference.get("node_days") or reference["failure_count"] is None:
        return Tile(label, UNKNOWN, details=(reference.get("note") or "no exposure is known",))
    rests_on = exposure(reference["failure_count"], reference["node_days"], "node-days", *event_of(reference))
    if not has_enough(data):
        return Tile(label, LITTLE, details=(rests_on,))
    limits = brackets(limits_of(reference, RATE), reference["confidence_level"]) if reference["failure_count"] else ""
    return Tile(label, rate(reference), limits, (rests_on,), measure=Measure(PER_1000, reference["population"]))


def projection_of(data: ClusterData) -> Row:
    """Return the MTTF of a job on the whole cluster."""
    return data.row("projections", gpu_count=data.cluster["gpu_count"])


def _mttf_tile(data: ClusterData) -> Tile:
    label, row = f"MTTF of a job on all {gpus(data.cluster['gpu_count'])}", projection_of(data)
    if not row or not has_enough(data):
        return Tile(label, LITTLE if row else UNKNOWN, details=() if row else ("no failure rate to project from",))
    limits = brackets(limits_of(row, "mttf_hours", duration), row["confidence_level"]) if row["event_count"] else ""
    largest = data.row("projections", is_largest_job=True).get("gpu_count")
    is_beyond = bool(extrapolation(row["gpu_count"], largest))
    detail = "projected beyond any job seen" if is_beyond else "projected from the rate"
    return Tile(label, mttf(row), limits, (detail,), measure=Measure(PER_1000, row["population"]))


def _ettr_tile(sizes: list[Row]) -> Tile:
    judged = [row for row in sizes if row["has_enough_data"] and (row["run_count"] or 0) >= MIN_RUNS]
    if not judged:
        return Tile("Progress of long runs", LITTLE, details=(f"requires {MIN_RUNS} runs of one size and of a day",))
    row = max(judged, key=lambda row: row["gpu_size_bin"] or 0)
    return Tile(
        f"Progress of scheduled time, runs of {gpus(row['gpu_size_bin'])}",
        share(row["progress_ratio"]),
        brackets(limits_of(row, "progress_ratio", share), row["confidence_level"]),
        (f"{plural(row['run_count'], 'run')}, checkpoints assumed",),
    )


def _loss_tile(data: ClusterData) -> Tile:
    """Build the tile of the losses of all jobs over the whole study."""
    label, study = "GPU-hours lost to failures, all jobs, whole study", losses_of(data)
    lost, cost = study["expected_lost_gpu_hours"], study["expected_lost_cost"]
    unknown = sum(row["gpu_unknown_count"] for row in data.rows("lost_by_account"))
    if lost is None:
        return Tile(label, UNKNOWN, details=(study["note"] or "the GPU counts of the failed attempts are unknown",))
    if not lost:
        return Tile(label, "none seen", details=("no attempt lost work to an infrastructure failure",))
    details = [money(cost, study["currency"])] if cost else []
    details += [f"{plural(unknown, 'loss', 'losses')} of unknown size left out"] if unknown else []
    value = f"at least {short(lost)}" if is_doubtful(data) else short(lost)
    return Tile(label, value, _limits_of_loss(study) or NO_LIMITS, ("; ".join(details),) if details else (), LOST)


def _seen_days(data: ClusterData) -> tuple[float, float]:
    """Return how many of the last 30 days were seen, and of the 30 before."""
    last, before = (losses_of(data, months).get("exposure") or 0.0 for months in ("last_30_days", "30_days_before"))
    return last, before


def _limits_of_loss(study: Row) -> str:
    """Write the interval of a loss; empty if too little was seen for one."""
    stem = "expected_lost_gpu_hours"
    return "" if study[f"{stem}_high"] is None else brackets(limits_of(study, stem), study["confidence_level"])


def losses_of(data: ClusterData, months: str = "study") -> Row:
    """Return the expected losses of a period, from all causes together."""
    nothing = dict.fromkeys(("expected_lost_gpu_hours", "expected_lost_cost", "note"))
    return data.row("losses", period=months, loss="all") or nothing


def _sentence(data: ClusterData, actions: Sequence[Action]) -> str:
    """Write the losses, the main cause, and how many nodes to take out; the tiles have the limits.

    If too little was seen, only the tile shows the losses, and the change gives the reason.
    """
    if not has_enough(data):
        return ""
    said, lost = [], losses_of(data)["expected_lost_gpu_hours"]
    if lost:
        least, shown = ("At least ", " that left evidence") if is_doubtful(data) else ("", "")
        said.append(f"{least}{short(lost)} GPU-hours were lost to failures{shown}{_main_cause(data, lost)}.")
    out = sum(action.takes_out for action in actions)
    said.append(f"Take out {plural(out, 'node')}." if out else "No node to take out.")
    return " ".join(said)


def _main_cause(data: ClusterData, total: float) -> str:
    """Name the cause that cost most, and its share of the losses."""
    causes = [
        row for row in data.rows("losses", period="study") if row["loss"] not in {"all", "capacity", "preemption"}
    ]
    worst = max(causes, key=lambda row: row["expected_lost_gpu_hours"] or 0.0, default={"expected_lost_gpu_hours": 0.0})
    cost = worst["expected_lost_gpu_hours"]
    another = ", though another may lead" if is_doubtful(data) else ""
    return f", {100 * cost / total:.0f}% of them to {worst['label']}{another}" if cost else ""


def _age(end: dt.datetime | None, made_at: dt.datetime, fresh_hours: float) -> Age:
    if end is None:
        return Age(UNKNOWN)
    hours = max(0.0, (made_at.replace(tzinfo=None) - end).total_seconds() / 3600)
    return Age(moment(end), duration(hours), hours > fresh_hours, fresh_hours)
