"""What an operator reads first: one sentence, five numbers with interval, change and course, what to do, data age."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence

from assets.report.actions import Action
from assets.report.blocks import Direction, Figure, FirstScreen, Section, Tile
from assets.report.numbers import UNKNOWN, confidence, duration, gpus, moment, share, short, whole
from assets.report.queries import Frames, Row, of_cluster, only_row
from assets.report.sections.gaps import missing_kinds
from assets.report.sections.headline import has_enough, period, reference_of
from assets.report.sections.tiles import rate_span, rate_text
from assets.report.wording import POPULATIONS, hours_span, mttf, number, plural, span

LITTLE = "too little to tell"
WINDOW = 30
CANNOT_TELL = "Against the 30 days before: cannot tell"
MIN_RUNS = 10
"""The mean of fewer runs has no limits."""


def first_screen(
    frames: Frames, cluster: Row, made_at: dt.datetime, actions: Sequence[Action], course: Section
) -> FirstScreen:
    """Build the first screen of a cluster; `course` is its section on the rate over time, whose figure it shows."""
    cluster_id = cluster["cluster_id"]
    enough = has_enough(frames, cluster_id)
    trend = next((block for block in course.blocks if isinstance(block, Figure)), None)
    tiles = (
        _rate_tile(frames, cluster_id, enough),
        _mttf_tile(frames, cluster, enough),
        _ettr_tile(of_cluster(frames, "ettr", cluster_id)),
        _loss_tile(frames, cluster_id),
        _allocation_tile(frames, cluster_id),
    )
    return FirstScreen(
        period=f"{_day(cluster['first_at'])} to {_day(cluster['last_at'])} ({period(cluster)}), "
        f"{plural(cluster['node_count'] or 0, 'node')}, {gpus(cluster['gpu_count'])}",
        sentence=_sentence(frames, cluster, actions) if enough else _sentence_of_little(frames, cluster),
        tiles=tiles,
        actions=tuple(actions),
        age=_age(cluster, made_at),
        trend=trend if enough else None,
        trend_title="Failures per 1,000 node-days by cause, trailing 30 days",
        trend_words=trend.description
        if trend and enough
        else "The failure rate has no course to draw yet: that takes two weeks of days with failures.",
    )


def ratio_of_months(frames: Frames, cluster_id: str) -> Row:
    """Find the ratio of the rate of incidents in the last 30 days to that in the 30 days before."""
    rows = of_cluster(frames, "rate_ratios", cluster_id)
    return next((row for row in rows if (row["comparison"], row["counted_as"]) == ("months", "incidents")), {})


def _day(at: dt.datetime | None) -> str:
    return moment(at)[:10]


def change_of(ratio: Row, is_inverse: bool = False) -> tuple[str, Direction]:
    """Say how a rate, or the mean time between its events, changed against the 30 days before, and in which tone.

    >>> change_of({"ratio": 2.0, "ratio_low": 1.5, "ratio_high": 2.5})
    ('All incidents × 2.00 [1.50, 2.50] on the 30 days before: worse', 'worse')
    >>> change_of({"ratio": 2.0, "ratio_low": 1.25, "ratio_high": 2.5}, is_inverse=True)
    ('By all incidents × 0.500 [0.400, 0.800] on the 30 days before: worse', 'worse')
    >>> change_of({"ratio": 0.9, "ratio_low": 0.5, "ratio_high": 1.2})[0]
    'All incidents × 0.900 [0.500, 1.20] on the 30 days before: no change shown'
    >>> change_of({})
    ('Against the 30 days before: cannot tell', '')
    """
    value, low, high = (ratio.get(name) for name in ("ratio", "ratio_low", "ratio_high"))
    if not value or low is None:
        return CANNOT_TELL, ""
    verdict = "worse" if low > 1 else "better" if high is not None and high < 1 else "no change shown"
    if is_inverse:
        value, low, high = 1 / value, 1 / high if high else None, 1 / low if low else None
    tone: Direction = "worse" if verdict == "worse" else "better" if verdict == "better" else ""
    what = "By all incidents" if is_inverse else "All incidents"
    return f"{what} × {short(value)} {brackets(span(low, high))} on the 30 days before: {verdict}", tone


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


def _course(frames: Frames, cluster_id: str, of_rate: Callable[[float], float | None]) -> tuple[str, ...]:
    """Draw a value of the rate of the trailing 30 days, from the tenth day on."""
    by_day: dict[dt.date, float] = {}
    for row in of_cluster(frames, "daily_rates", cluster_id):
        if row["failures_per_1000_node_days_30d"] is not None and row["window_day_count"] >= 10:
            by_day[row["day_date"]] = by_day.get(row["day_date"], 0.0) + row["failures_per_1000_node_days_30d"]
    return spark([of_rate(by_day[day]) for day in sorted(by_day)])


def _rate_tile(frames: Frames, cluster_id: str, enough: bool) -> Tile:
    reference = reference_of(frames, cluster_id)
    label = f"Failures per 1,000 node-days, {POPULATIONS.get(reference.get('population', ''), 'all jobs')}"
    if not reference.get("node_days"):
        return Tile(label, UNKNOWN, details=(reference.get("note") or "no exposure is known",))
    rests_on = f"{number(reference['failure_count'])} failures in {short(reference['node_days'])} node-days"
    if not enough:
        return Tile(label, LITTLE, details=(rests_on,))
    change, tone = change_of(ratio_of_months(frames, cluster_id))
    return Tile(
        label,
        rate_text(reference),
        brackets(rate_span(reference)) if reference["failure_count"] else "",
        (f"{rests_on}, {confidence(reference['confidence_level'])} interval",),
        change,
        tone,
        _course(frames, cluster_id, lambda rate: rate),
    )


def _projection(frames: Frames, cluster: Row) -> Row:
    rows = of_cluster(frames, "projections", cluster["cluster_id"])
    return next((row for row in rows if row["gpu_count"] == cluster["gpu_count"]), {})


def _mttf_tile(frames: Frames, cluster: Row, enough: bool) -> Tile:
    label = f"MTTF of a job on all {gpus(cluster['gpu_count'])}"
    row = _projection(frames, cluster)
    if not row or not enough:
        return Tile(label, LITTLE if row else UNKNOWN, details=("no failure rate to project from",) if not row else ())
    value = mttf(row["event_count"], row["mttf_hours"], row["mttf_hours_low"], row["confidence_level"])
    ends = brackets(hours_span(row["mttf_hours_low"], row["mttf_hours_high"])) if row["event_count"] else ""
    change, tone = change_of(ratio_of_months(frames, cluster["cluster_id"]), is_inverse=True)
    drawn = _course(frames, cluster["cluster_id"], lambda rate: 1 / rate if rate else None)
    return Tile(label, value, ends, ("1 / (nodes × failure rate)",), change, tone, drawn)


def _ettr_tile(sizes: list[Row]) -> Tile:
    judged = [size for size in sizes if (size["run_count"] or 0) >= MIN_RUNS and size["ettr_measured"] is not None]
    if not judged:
        why = f"no size has {MIN_RUNS} runs of 24 h and more" if sizes else "no run of 24 h and more"
        return Tile("ETTR of long runs", LITTLE, details=(why,))
    size = max(judged, key=lambda row: row["gpu_size_bin"])
    return Tile(
        f"ETTR, runs of {gpus(size['gpu_size_bin'])}",
        short(size["ettr_measured"]),
        brackets(span(size["ettr_measured_low"], size["ettr_measured_high"])),
        (f"{plural(size['run_count'], 'run')} of 24 h and more; checkpoints are assumed",),
        CANNOT_TELL,
    )


def _by_window(days: list[Row], name: str) -> tuple[float | None, float | None]:
    """Add up a column over the last 30 days and over the 30 days before; None where a day is unknown or missing."""
    parts = (days[-WINDOW:], days[-2 * WINDOW : -WINDOW])
    return tuple(  # type: ignore[return-value]
        sum(day[name] for day in part) if len(part) == WINDOW and all(day[name] is not None for day in part) else None
        for part in parts
    )


def _loss_tile(frames: Frames, cluster_id: str) -> Tile:
    label = "GPU-hours lost to failures"
    lost, cost, currency = lost_of(frames, cluster_id)
    if lost is None:
        return Tile(label, "none seen", details=("no attempt lost work to an infrastructure failure",))
    days = of_cluster(frames, "daily_work", cluster_id)
    last, before = _by_window(days, "lost_gpu_hours")
    detail = [f"{money(cost, currency)} in all"] if cost else []
    if last is not None:
        detail.append(f"last 30 days: {short(last)}" + ("" if before is None else f"; the 30 before: {short(before)}"))
    weeks = [
        sum(day["lost_gpu_hours"] for day in days[start : start + 7]) for start in range(len(days) % 7, len(days), 7)
    ]
    return Tile(
        label, short(lost), "", tuple(detail), "A sum of few large losses: cannot tell if it changed", "", spark(weeks)
    )


def _allocation_tile(frames: Frames, cluster_id: str) -> Tile:
    label, row = "GPU time allocated", only_row(frames, "utilisation", cluster_id)
    allocated, in_service = row.get("allocated_gpu_hours"), row.get("in_service_gpu_hours")
    if allocated is None or not in_service:
        return Tile(label, UNKNOWN, details=("the GPU counts of nodes or of jobs are unknown",))
    days = of_cluster(frames, "daily_work", cluster_id)[1:-1]
    shares = [
        day["allocated_gpu_hours"] / day["in_service_gpu_hours"]
        if day["allocated_gpu_hours"] is not None and day["in_service_gpu_hours"]
        else None
        for day in days
    ]
    sums = [_by_window(days, name) for name in ("allocated_gpu_hours", "in_service_gpu_hours")]
    windows = [part / whole_ if part is not None and whole_ else None for part, whole_ in zip(*sums, strict=True)]
    change = "" if None in windows else f"last 30 days: {share(windows[0])}; the 30 before: {share(windows[1])}"
    return Tile(
        label,
        share(allocated / in_service),
        "",
        ("of the GPU-hours in service", "counted in full: no interval"),
        change or CANNOT_TELL,
        "",
        spark(shares),
    )


def lost_of(frames: Frames, cluster_id: str) -> tuple[float | None, float | None, str]:
    """Add up what accounts lost: GPU-hours, money and its currency; None where nothing was lost or no price is set."""
    owed = of_cluster(frames, "lost_by_account", cluster_id)
    hours = sum(row["lost_gpu_hours"] or 0.0 for row in owed)
    cost = sum(row["lost_cost"] or 0.0 for row in owed)
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

    >>> money(14080.2, "USD"), money(3.0, "EUR")
    ('$14,080', '3 EUR')
    """
    return f"${whole(amount)}" if currency == "USD" else f"{whole(amount)} {currency}"


def _sentence_of_little(frames: Frames, cluster: Row) -> str:
    reference = reference_of(frames, cluster["cluster_id"])
    count = only_row(frames, "losses", cluster["cluster_id"]).get("failure_count", 0)
    return (
        f"Too little to tell: {short(reference.get('node_days') or 0)} node-days were observed, with "
        f"{plural(count, 'failed attempt')}. The pages show what happened; of the machine they say next to nothing yet."
    )


def _sentence(frames: Frames, cluster: Row, actions: Sequence[Action]) -> str:
    cluster_id = cluster["cluster_id"]
    rate, projection = reference_of(frames, cluster_id), _projection(frames, cluster)
    verdict = change_of(ratio_of_months(frames, cluster_id))[0].rpartition(": ")[2]
    said = f"{rate_text(rate)} failures per 1,000 node-days {brackets(rate_span(rate))}"
    compared = {
        "worse": "more than in the 30 days before",
        "better": "fewer than in the 30 days before",
        "no change shown": "no change shown against the 30 days before",
    }
    said += f", {compared.get(verdict, 'and nothing to compare the last 30 days with')}"
    if projection.get("event_count"):
        ends = hours_span(projection["mttf_hours_low"], projection["mttf_hours_high"])
        said += f"; a job on the whole cluster lasts {duration(projection['mttf_hours'])} {brackets(ends)}"
    lost, cost, currency = lost_of(frames, cluster_id)
    if lost:
        said += f"; {short(lost)} GPU-hours lost in {period(cluster)}" + (f" ({money(cost, currency)})" if cost else "")
        said += _main_cause(of_cluster(frames, "lost_by_cause", cluster_id))
    out = sum(action.takes_out for action in actions)
    advice = f"take out {plural(out, 'node')}" if out else "no node to take out"
    return f"{said}; {advice}."


def _main_cause(rows: list[Row]) -> str:
    by_cause: dict[str, float] = {}
    for row in rows:
        by_cause[row["label"]] = by_cause.get(row["label"], 0.0) + (row["lost_gpu_hours"] or 0.0)
    total = sum(by_cause.values())
    if not total:
        return ""
    label, hours = max(by_cause.items(), key=lambda pair: pair[1])
    return f", {100 * hours / total:.0f}% of what failed attempts lost by {label}"


def _age(cluster: Row, made_at: dt.datetime) -> str:
    through = cluster.get("data_through_at") or cluster["last_at"]
    if through is None:
        return "No data."
    late = (made_at.replace(tzinfo=None) - through).total_seconds() / 3600
    names = [gap.name.lower() if gap.name[1:2].islower() else gap.name for gap in missing_kinds(cluster)]
    missing = f"Missing: {', '.join(names)}." if names else "No kind of log is missing."
    return f"Data through {moment(through)} UTC, {duration(max(0.0, late))} before this report was made. {missing}"
