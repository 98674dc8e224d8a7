"""What an operator reads first: one sentence, five numbers with interval, change and course, what to do, data age."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from assets.report.actions import Action
from assets.report.blocks import Direction, Figure, FirstScreen, Section, Tile
from assets.report.numbers import UNKNOWN, confidence, duration, gpus, moment, share, short
from assets.report.queries import Own, Row, grouped, summed
from assets.report.sections.ettr import waiting
from assets.report.sections.gaps import missing_kinds
from assets.report.sections.headline import could_see, has_enough, period, reference_of, through, utilisation
from assets.report.tables import ends
from assets.report.wording import LITTLE, POPULATIONS, RATE, mttf, number, plural, rate, span

WINDOW = 30
BEFORE = "the 30 days before"
CANNOT_TELL = f"Against {BEFORE}: cannot tell"
MIN_RUNS = 10
"""The mean of fewer runs has no limits."""
VERDICTS: dict[Direction, tuple[str, str]] = {
    "worse": ("worse", f"more than in {BEFORE}"),
    "better": ("better", f"fewer than in {BEFORE}"),
    "": ("no change shown", f"no change shown against {BEFORE}"),
}
"""Directions of a rate, on a tile and in the sentence."""


def first_screen(own: Own, made_at: dt.datetime, actions: Sequence[Action], course: Section) -> FirstScreen:
    """Build the first screen of a cluster; `course` is its section on the rate over time, whose figure it shows."""
    cluster, enough = own.cluster, has_enough(own)
    end = through(cluster)
    trend = next((block for block in course.blocks if isinstance(block, Figure)), None)
    return FirstScreen(
        period=f"{moment(cluster['first_at'])[:10]} to {moment(end)[:10]} ({period(cluster)}), "
        f"{plural(cluster['node_count'] or 0, 'node')}, {gpus(cluster['gpu_count'])}",
        sentence=_sentence(own, actions, enough),
        tiles=(_rate_tile(own), _mttf_tile(own), _ettr_tile(own.rows("ettr")), _loss_tile(own), _allocation_tile(own)),
        actions=tuple(actions),
        age=_age(cluster, end, made_at),
        until=moment(end),
        lost_gpu_hours=lost_of(own)[0] or 0.0,
        trend=trend if enough else None,
    )


def ratio_of_months(own: Own) -> Row:
    """Find the ratio of the rate of incidents in the last 30 days to that in the 30 days before."""
    return own.row("rate_ratios", comparison="months", counted_as="incidents")


def direction_of(ratio: Row) -> Direction | None:
    """Tell whether a rate rose or fell without doubt; None where there is nothing to compare.

    >>> [direction_of({"ratio": 2.0, "ratio_low": low, "ratio_high": high}) for low, high in ((1.5, 3), (0.9, 3))]
    ['worse', '']
    >>> direction_of({})
    """
    low, high = ratio.get("ratio_low"), ratio.get("ratio_high")
    if not ratio.get("ratio") or low is None:
        return None
    return "worse" if low > 1 else "better" if high is not None and high < 1 else ""


def change_of(ratio: Row, is_inverse: bool = False) -> tuple[str, Direction]:
    """Say how a rate, or the mean time between its events, changed against the 30 days before, and in which tone.

    >>> change_of({"ratio": 2.0, "ratio_low": 1.5, "ratio_high": 2.5})
    ('All incidents × 2.00 [1.50, 2.50] on the 30 days before: worse', 'worse')
    >>> change_of({"ratio": 2.0, "ratio_low": 1.25, "ratio_high": 2.5}, is_inverse=True)
    ('By all incidents × 0.500 [0.400, 0.800] on the 30 days before: worse', 'worse')
    >>> change_of({})
    ('Against the 30 days before: cannot tell', '')
    """
    tone = direction_of(ratio)
    if tone is None:
        return CANNOT_TELL, ""
    value, low, high = (ratio[name] for name in ("ratio", "ratio_low", "ratio_high"))
    if is_inverse:
        value, low, high = 1 / value, 1 / high if high else None, 1 / low if low else None
    what = "By all incidents" if is_inverse else "All incidents"
    return f"{what} × {short(value)} {brackets(span(low, high))} on {BEFORE}: {VERDICTS[tone][0]}", tone


def spark(values: Sequence[float | None]) -> tuple[str, ...]:
    """Draw a course into a box of 100 by 24: the points of a line for each run of known values.

    >>> spark([1.0, 3.0, None, 2.0, 2.0])
    ('0,16 25,2', '75,9 100,9')
    >>> spark([1.0])
    ()
    """
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return ()
    low, high = min(0.0, *known), max(known) or 1.0
    lines: list[list[str]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            lines.append([])
        else:
            x, y = 100 * place / (len(values) - 1), 23 - 21 * (value - low) / ((high - low) or 1.0)
            lines[-1].append(f"{x:.4g},{y:.3g}")
    return tuple(" ".join(line) for line in lines if len(line) > 1)


def _course(own: Own, of_rate: Callable[[float], float | None] = float) -> tuple[str, ...]:
    """Draw a value of the rate of the trailing 30 days, from the tenth day on."""
    column = f"{RATE}_30d"
    known = [row for row in own.rows("daily_rates") if row[column] is not None and row["window_day_count"] >= 10]
    return spark([of_rate(sum(row[column] for row in causes)) for causes in grouped(known, "day_date").values()])


def _rate_tile(own: Own) -> Tile:
    reference = reference_of(own)
    label = f"Failures per 1,000 node-days, {POPULATIONS.get(reference.get('population', ''), 'all jobs')}"
    if not reference.get("node_days") or reference["failure_count"] is None:
        return Tile(label, UNKNOWN, details=(reference.get("note") or "no exposure is known",))
    rests_on = f"{number(reference['failure_count'])} failures in {short(reference['node_days'])} node-days"
    if not has_enough(own):
        return Tile(label, LITTLE, details=(rests_on,))
    limits = brackets(ends(reference, RATE)) if reference["failure_count"] else ""
    rests_on += f", {confidence(reference['confidence_level'])} interval"
    return Tile(label, rate(reference), limits, (rests_on,), *change_of(ratio_of_months(own)), _course(own))


def projection_of(own: Own) -> Row:
    """Find the MTTF of a job on the whole cluster."""
    return own.row("projections", gpu_count=own.cluster["gpu_count"])


def _mttf_tile(own: Own) -> Tile:
    label, row = f"MTTF of a job on all {gpus(own.cluster['gpu_count'])}", projection_of(own)
    if not row or not has_enough(own):
        return Tile(label, LITTLE if row else UNKNOWN, details=() if row else ("no failure rate to project from",))
    limits = brackets(ends(row, "mttf_hours", duration)) if row["event_count"] else ""
    drawn = _course(own, lambda value: 1 / value if value else None)
    change = change_of(ratio_of_months(own), is_inverse=True)
    return Tile(label, mttf(row), limits, ("1 / (nodes × failure rate)",), *change, drawn)


def _ettr_tile(sizes: list[Row]) -> Tile:
    judged = [row for row in sizes if (row["run_count"] or 0) >= MIN_RUNS]
    if not judged:
        why = f"no size has {MIN_RUNS} runs of 24 h and more" if sizes else "no run of 24 h and more"
        return Tile("Progress of long runs", LITTLE, details=(why,))
    row = max(judged, key=lambda row: row["gpu_size_bin"] or 0)
    return Tile(
        f"Progress of scheduled time, runs of {gpus(row['gpu_size_bin'])}",
        share(row["progress_ratio"]),
        brackets(ends(row, "progress_ratio", share)),
        (f"{plural(row['run_count'], 'run')} of 24 h and more; checkpoints are assumed", waiting(row)),
        CANNOT_TELL,
    )


def _by_window(days: list[Row], name: str) -> list[float | None]:
    """Add up a column over the last 30 days and over the 30 days before; None where a day is unknown or missing."""
    parts = ([day[name] for day in part] for part in (days[-WINDOW:], days[-2 * WINDOW : -WINDOW]))
    return [sum(part) if len(part) == WINDOW and None not in part else None for part in parts]


def _loss_tile(own: Own) -> Tile:
    label = "GPU-hours lost to failures"
    lost, cost, currency = lost_of(own)
    unknown = sum(row["gpu_unknown_count"] for row in own.rows("lost_by_account"))
    left_out = f"{plural(unknown, 'loss', 'losses')} of unknown GPU count left out" if unknown else ""
    if lost is None and unknown:
        return Tile(label, UNKNOWN, details=(left_out,))
    if lost is None:
        if not could_see(own):
            return Tile(label, UNKNOWN, details=("attempts ended FAILED on nodes of which no log was understood",))
        return Tile(label, "none seen", details=("no attempt lost work to an infrastructure failure",))
    days = own.rows("daily_work")
    last, before = _by_window(days, "lost_gpu_hours")
    detail = [f"{money(cost, currency)} in all"] if cost else []
    detail += [left_out] if left_out else []
    if last is not None:
        detail.append(f"last 30 days: {short(last)}" + ("" if before is None else f"; the 30 before: {short(before)}"))
    starts = range(len(days) % 7, len(days), 7)
    weeks = [sum(day["lost_gpu_hours"] for day in days[start : start + 7]) for start in starts]
    change = "A sum of few large losses: cannot tell if it changed"
    return Tile(label, short(lost), "", tuple(detail), change, "", spark(weeks))


def _allocation_tile(own: Own) -> Tile:
    label, (allocated, in_service) = "GPU time allocated", utilisation(own)
    if allocated is None or not in_service:
        return Tile(label, UNKNOWN, details=("the GPU counts of nodes or of jobs are unknown",))
    days = own.rows("daily_work")

    def ratio(allocated: float | None, in_service: float | None) -> float | None:
        return None if allocated is None or not in_service else allocated / in_service

    shares = [ratio(day["allocated_gpu_hours"], day["in_service_gpu_hours"]) for day in days[1:-1]]
    sums = (_by_window(days, name) for name in ("allocated_gpu_hours", "in_service_gpu_hours"))
    last, before = (ratio(*part) for part in zip(*sums, strict=True))
    change = CANNOT_TELL
    if last is not None and before is not None:
        change = f"last 30 days: {share(last)}; the 30 before: {share(before)}"
    details = ("of the GPU-hours in service", "counted in full: no interval")
    return Tile(label, share(allocated / in_service), "", details, change, "", spark(shares))


def lost_of(own: Own) -> tuple[float | None, float | None, str]:
    """Add up what accounts lost: GPU-hours, money and its currency; None where nothing was lost or no price is set."""
    owed = own.rows("lost_by_account")
    hours, cost = summed(owed, "lost_gpu_hours", "lost_cost").values()
    currency = next((row["currency"] for row in owed if row["currency"]), "")
    return hours or None, cost if currency else None, currency


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


def _sentence_of_little(own: Own) -> str:
    return (
        f"Too little to tell: {short(reference_of(own).get('node_days') or 0)} node-days were observed, with "
        f"{plural(len(own.rows('failures')), 'failed attempt')}. The pages show what happened; of the machine they say "
        "next to nothing yet."
    )


def _sentence(own: Own, actions: Sequence[Action], enough: bool) -> str:
    reference, projection = reference_of(own), projection_of(own)
    if reference.get("node_days") and reference["failure_count"] is None:
        return f"How often machines fail is unknown: {reference['note']}."
    if not enough:
        return _sentence_of_little(own)
    direction = direction_of(ratio_of_months(own))
    change = "and nothing to compare the last 30 days with" if direction is None else VERDICTS[direction][1]
    said = f"{rate(reference)} failures per 1,000 node-days {brackets(ends(reference, RATE))}, {change}"
    if projection.get("event_count"):
        limits = brackets(ends(projection, "mttf_hours", duration))
        said += f"; a job on the whole cluster lasts {duration(projection['mttf_hours'])} {limits}"
    lost, cost, currency = lost_of(own)
    if lost:
        said += f"; {short(lost)} GPU-hours lost in {period(own.cluster)}"
        said += (f" ({money(cost, currency)})" if cost else "") + _main_cause(own.rows("failures"))
    out = sum(action.takes_out for action in actions)
    advice = f"take out {plural(out, 'node')}" if out else "no node to take out"
    return f"{said}; {advice}."


def _main_cause(failed: list[Row]) -> str:
    lost = {label: summed(rows, "lost_gpu_hours")["lost_gpu_hours"] for label, rows in grouped(failed, "label").items()}
    total, worst = sum(lost.values()), max(lost, key=lambda label: lost[label], default="")
    return f", {100 * lost[worst] / total:.0f}% of what failed attempts lost by {worst}" if total else ""


def _age(cluster: Row, end: dt.datetime | None, made_at: dt.datetime) -> str:
    if end is None:
        return "No data."
    late = (made_at.replace(tzinfo=None) - end).total_seconds() / 3600
    names = [gap.name.lower() if gap.name[1:2].islower() else gap.name for gap in missing_kinds(cluster)]
    missing = f"Missing: {', '.join(names)}." if names else "No kind of log is missing."
    return f"Data through {moment(end)} UTC, {duration(max(0.0, late))} before this report was made. {missing}"
