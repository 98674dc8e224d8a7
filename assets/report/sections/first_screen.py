"""What an operator reads first: worse than last month or not, five numbers with intervals, what to do, data age."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from assets.report.actions import Action
from assets.report.blocks import Age, Change, Direction, Figure, FirstScreen, Measure, Section, Tile
from assets.report.figures.recorded import by_month, change_of_records, tiles_of_records
from assets.report.gaps import missing_kinds
from assets.report.numbers import UNKNOWN, confidence, duration, gpus, moment, share, short
from assets.report.queries import Own, Row
from assets.report.sections.ettr import waiting
from assets.report.sections.headline import (
    COUNTED,
    has_enough,
    is_doubtful,
    observed,
    period,
    reference_of,
    through,
    utilisation,
)
from assets.report.tables import ends
from assets.report.wording import LITTLE, POPULATIONS, RATE, event_of, mttf, number, plural, rate, sentence
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
INCIDENTS = "incidents per 1,000 node-days"
LOST = Measure("GPU-hours", "all")
NO_LIMITS = "so far, no interval"


def first_screen(
    own: Own, made_at: dt.datetime, actions: Sequence[Action], course: Section | None, fresh_hours: float
) -> FirstScreen:
    """Build the first screen of a cluster; `course` is its section on the rate over time, whose figure it shows."""
    cluster, enough = own.cluster, has_enough(own)
    if cluster["has_records_alone"]:
        return _of_records(own, made_at, actions, fresh_hours)
    trend = next((block for block in (course.blocks if course else ()) if isinstance(block, Figure)), None)
    return FirstScreen(
        period=f"{period(cluster)} from {moment(observed(cluster)[0])[:10]} on, "
        f"{plural(cluster['node_count'] or 0, 'node')}, {gpus(cluster['gpu_count'])}",
        change=change_of(own),
        sentence=_sentence(own, actions),
        tiles=(_rate_tile(own), _mttf_tile(own), _ettr_tile(own.rows("ettr")), _loss_tile(own), _allocation_tile(own)),
        actions=tuple(actions),
        age=_age(through(cluster), made_at, fresh_hours),
        missing=_missing(own),
        folder=own.folder,
        lost_gpu_hours=losses_of(own)["expected_lost_gpu_hours"] or 0.0,
        trend=trend if enough else None,
    )


def _of_records(own: Own, made_at: dt.datetime, actions: Sequence[Action], fresh_hours: float) -> FirstScreen:
    """Build the first screen of a cluster of which records of failures alone are known."""
    trend, first_at = by_month(own), own.cluster["first_at"]
    begun = f"from {moment(first_at)[:10]} on" if through(own.cluster) != first_at else f"at {moment(first_at)} UTC"
    return FirstScreen(
        period=f"{period(own.cluster)} {begun}, no accounting".removeprefix("0 h "),
        change=change_of_records(own),
        sentence="",
        tiles=tiles_of_records(own),
        actions=tuple(actions),
        age=_age(through(own.cluster), made_at, fresh_hours),
        missing=_missing(own),
        folder=own.folder,
        trend=trend,
        trend_title="Recorded failures by month",
        without_trend="The recorded failures have no course to draw: that takes two months.",
    )


def _missing(own: Own) -> str:
    names = [gap.name.lower() if gap.name[1:2].islower() else gap.name for gap in missing_kinds(own.cluster)]
    return f"Missing: {', '.join(names)}." if names else "No kind of log is missing."


def change_of(own: Own) -> Change:
    """Answer the first question: is it worse than last month? Both months count all incidents on the nodes in use."""
    reference = reference_of(own)
    if reference.get("node_days") and reference["failure_count"] is None:
        return Change(f"How often machines fail is unknown: {reference['note']}.", UNKNOWN)
    if not has_enough(own):
        why = (reference.get("note") or "nothing was seen").rpartition(f"{LITTLE}: ")[2].partition("; ")[0]
        said = (
            f"{sentence(f'{LITTLE}: {why}')} The pages show what happened; of the machine they say next to nothing yet."
        )
        return Change(said, LITTLE)
    row, days = own.row("rate_ratios", comparison="months", population="all"), _seen_days(own)
    if (why := too_few(*days)) or not row.get("node_days") or not row["other_node_days"]:
        why = why or f"the study period has no two times {WINDOW} days to compare"
        if failed := own.not_computed("rate_ratios"):
            why = f"{failed[0]['table_name']} could not be computed"
        return Change(f"Cannot tell whether it is worse than last month: {why}.", CANNOT_TELL, why)
    measure = Measure(INCIDENTS, row["population"])
    last, before = number(row["failure_count"]), number(row["other_failure_count"])
    if row["verdict"] not in VERDICTS:
        why = f"{last} and {before} incidents in the last {WINDOW} days and the {WINDOW} before are too few"
        return Change(f"Cannot tell whether it is worse than last month: {why}.", CANNOT_TELL, why, measure=measure)
    (tone, verdict), limits = VERDICTS[row["verdict"]], brackets(ends(row, "ratio"))
    times = f"{short(row['ratio'])} times as often {limits}" if row["ratio"] else f"times as often: {limits}"
    counted = f"({last} against {before} incidents of all jobs)"
    seen, seen_before = (f" ({part})" if (part := part_of_month(of_month)) else "" for of_month in days)
    said = (
        f"{verdict}: {short(row['rate'])} {INCIDENTS} in the last {WINDOW} days{seen} against "
        f"{short(row['other_rate'])} in the {WINDOW} before{seen_before} {counted}, {times}."
    )
    detail = f"{limits}; {counted[1:-1]}"
    ratio = f"\N{MULTIPLICATION SIGN} {short(row['ratio'])}, {row['verdict']}" if row["ratio"] else row["verdict"]
    return Change(said, ratio, detail, tone, measure)


def _rate_tile(own: Own) -> Tile:
    reference = reference_of(own)
    label = f"Failures per 1,000 node-days, {POPULATIONS.get(reference.get('population', ''), 'all jobs')}"
    if not reference.get("node_days") or reference["failure_count"] is None:
        return Tile(label, UNKNOWN, details=(reference.get("note") or "no exposure is known",))
    ways = own.rows("rates", population=reference["population"])
    counted = (plural(row["failure_count"], *event_of(row)) for row in ways if row["counted_as"] in COUNTED)
    rests_on = f"{', '.join(counted)} in {short(reference['node_days'])} node-days"
    if not has_enough(own):
        return Tile(label, LITTLE, details=(rests_on,))
    limits = brackets(ends(reference, RATE)) if reference["failure_count"] else ""
    rests_on += f", {confidence(reference['confidence_level'])} interval"
    details = tuple(filter(None, (rests_on, own.row("evidence_reach").get("statement"))))
    return Tile(label, rate(reference), limits, details, measure=Measure(PER_1000, reference["population"]))


def projection_of(own: Own) -> Row:
    """Find the MTTF of a job on the whole cluster."""
    return own.row("projections", gpu_count=own.cluster["gpu_count"])


def _mttf_tile(own: Own) -> Tile:
    label, row = f"MTTF of a job on all {gpus(own.cluster['gpu_count'])}", projection_of(own)
    if not row or not has_enough(own):
        return Tile(label, LITTLE if row else UNKNOWN, details=() if row else ("no failure rate to project from",))
    limits = brackets(ends(row, "mttf_hours", duration)) if row["event_count"] else ""
    measure = Measure(PER_1000, row["population"])
    return Tile(label, mttf(row), limits, ("1 / (nodes × failure rate)",), measure=measure)


def _ettr_tile(sizes: list[Row]) -> Tile:
    judged = [row for row in sizes if row["has_enough_data"] and (row["run_count"] or 0) >= MIN_RUNS]
    if not judged:
        return Tile("Progress of long runs", LITTLE, details=(f"it takes {MIN_RUNS} runs of one size and of a day",))
    row = max(judged, key=lambda row: row["gpu_size_bin"] or 0)
    return Tile(
        f"Progress of scheduled time, runs of {gpus(row['gpu_size_bin'])}",
        share(row["progress_ratio"]),
        brackets(ends(row, "progress_ratio", share)),
        (f"{plural(row['run_count'], 'run')} of 24 h and more; checkpoints are assumed", waiting(row)),
    )


def _loss_tile(own: Own) -> Tile:
    label, study = "GPU-hours lost to failures", losses_of(own)
    lost, unknown = (
        study["expected_lost_gpu_hours"],
        sum(row["gpu_unknown_count"] for row in own.rows("lost_by_account")),
    )
    if lost is None:
        return Tile(label, UNKNOWN, details=(study["note"] or "the GPU counts of the failed attempts are unknown",))
    detail = ["at least, of what the logs show"] if is_doubtful(own) else []
    detail += [f"{money(study['expected_lost_cost'], study['currency'])} in all"] if study["expected_lost_cost"] else []
    detail += [f"{plural(unknown, 'loss', 'losses')} of unknown GPU count left out"] if unknown else []
    if not lost:
        return Tile(label, "none seen", details=("no attempt lost work to an infrastructure failure",))
    last, before = (losses_of(own, months) for months in ("last_30_days", "30_days_before"))
    if not too_few(*_seen_days(own)):
        detail.append(f"last {WINDOW} days: {_loss_of(last)}; the {WINDOW} before: {_loss_of(before)}")
    return Tile(label, short(lost), _limits_of_loss(study) or NO_LIMITS, tuple(detail), LOST)


def _loss_of(month: Row) -> str:
    """Write what was lost in a month, in how much of it, and the rate that compares with another month."""
    seen, rate = part_of_month(month["exposure"]), month["expected_lost_per_1000_gpu_hours"]
    per_1000 = f"{short(rate)} per 1,000 allocated" if rate is not None else ""
    rests_on = ", ".join(filter(None, (seen, per_1000)))
    return short(month["expected_lost_gpu_hours"]) + (f" ({rests_on})" if rests_on else "")


def _seen_days(own: Own) -> tuple[float, float]:
    """Find how many of the last 30 days were seen, and of the 30 before."""
    last, before = (losses_of(own, months).get("exposure") or 0.0 for months in ("last_30_days", "30_days_before"))
    return last, before


def _limits_of_loss(study: Row) -> str:
    """Write the interval of a loss; empty where too little was seen for one, though what was seen is a known sum."""
    stem = "expected_lost_gpu_hours"
    return "" if study[f"{stem}_high"] is None else brackets(ends(study, stem))


def _allocation_tile(own: Own) -> Tile:
    label, (allocated, in_service) = "GPU time allocated", utilisation(own)
    if allocated is None or not in_service:
        return Tile(label, UNKNOWN, details=("the GPU counts of nodes or of jobs are unknown",))
    return Tile(label, share(allocated / in_service), "", ("of the GPU-hours in service: no estimate, so no interval",))


def losses_of(own: Own, months: str = "study") -> Row:
    """Find what failures are expected to have cost in a period, from all causes together."""
    nothing = dict.fromkeys(("expected_lost_gpu_hours", "expected_lost_cost", "note"))
    return own.row("losses", period=months, loss="all") or nothing


def brackets(interval: str) -> str:
    """Write an interval in brackets, its ends apart.

    >>> brackets("13.3 to 24.0"), brackets("above 12.0 h")
    ('[13.3, 24.0]', '[above 12.0 h]')
    """
    return f"[{interval.replace(' to ', ', ')}]"


def money(amount: float | None, currency: str) -> str:
    """Write a sum of money.

    >>> money(14078.2, "USD"), money(3.0, "EUR")
    ('$14,080', '3.000 EUR')
    """
    return f"${short(amount, 4)}" if currency == "USD" else f"{short(amount, 4)} {currency}"


def _sentence(own: Own, actions: Sequence[Action]) -> str:
    """Say what failures cost, and how many nodes to take out."""
    study, said = losses_of(own), []
    lost, cost = study["expected_lost_gpu_hours"], study["expected_lost_cost"]
    if lost:
        limits = _limits_of_loss(study) or f"({NO_LIMITS})"
        price = f" ({money(cost, study['currency'])})" if cost else ""
        cause = _main_cause(own, lost)
        days = duration((study["to_at"] - study["from_at"]).total_seconds() / 3600)
        least, shown = ("At least ", " that left evidence") if is_doubtful(own) else ("", "")
        hours = f"{least}{short(lost)} GPU-hours {limits}{price}"
        said.append(f"{hours} were lost to failures{shown} in {days}{cause}.")
    if has_enough(own):
        out = sum(action.takes_out for action in actions)
        said.append(f"Take out {plural(out, 'node')}." if out else "No node to take out.")
    return " ".join(said)


def _main_cause(own: Own, total: float) -> str:
    """Name the cause that cost most, and its share of all that was lost."""
    causes = [row for row in own.rows("losses", period="study") if row["loss"] not in {"all", "capacity", "preemption"}]
    worst = max(causes, key=lambda row: row["expected_lost_gpu_hours"] or 0.0, default={"expected_lost_gpu_hours": 0.0})
    cost = worst["expected_lost_gpu_hours"]
    another = ", and the leading cause may be another" if is_doubtful(own) else ""
    return f"; {worst['label']} cost {100 * cost / total:.0f}% of it{another}" if cost else ""


def _age(end: dt.datetime | None, made_at: dt.datetime, fresh_hours: float) -> Age:
    if end is None:
        return Age(UNKNOWN)
    hours = max(0.0, (made_at.replace(tzinfo=None) - end).total_seconds() / 3600)
    return Age(moment(end), duration(hours), hours > fresh_hours, fresh_hours)
