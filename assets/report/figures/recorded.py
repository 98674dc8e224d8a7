"""Failures as the site itself recorded them: by month, by cause, and on the first screen of a cluster without jobs."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Sequence

from assets.report import palette
from assets.report.blocks import Change, Figure, Measure, Tile
from assets.report.charts import GRID, Spec, at, figure, hover, labelled, layer
from assets.report.numbers import UNKNOWN, confidence, duration, printable, share, whole
from assets.report.observed import observed
from assets.report.queries import ClusterData, Row
from assets.report.tables import limits_of
from assets.report.wording import exposure, plural, unit_rate

PER_1000 = "failures per 1,000 unit-days"
RATE = "failures_per_1000_unit_days"
NO_SERVICE = "no time in service is stated"
NOT_RECORDED = "not recorded"


def by_month(data: ClusterData) -> Figure | None:
    """Draw the recorded failures of each calendar month; one without a record has none."""
    counts = {row["month_at"]: row["recorded_count"] for row in data.rows("recorded", kind="month")}
    if len(counts) < 2:
        return None
    first, last = min(counts), max(counts)
    months = [
        dt.datetime(month // 12, month % 12 + 1, 1)
        for month in range(12 * first.year + first.month - 1, 12 * last.year + last.month)
    ]
    of_all, (begin, end) = data.row("recorded", kind="all"), observed(data.cluster)
    begin, end = min(begin or of_all["first_at"], of_all["first_at"]), max(end or of_all["last_at"], of_all["last_at"])
    rows = []
    for month in months:
        after = (month + dt.timedelta(days=31)).replace(day=1)
        is_part = begin.date() > month.date() or end < after
        days = plural(math.ceil((min(end, after) - max(begin, month)) / dt.timedelta(days=1)), "day") if is_part else ""
        text = f"{month:%Y-%m}" + (f", {days} of it" if days else "")
        rows.append({"month": _time(month), "count": counts.get(month, 0), "part": days, "text": text})
    most = max(rows, key=lambda row: row["count"])
    x: Spec = {"field": "month", "type": "temporal", "timeUnit": "yearmonth", "title": None}
    y = {"title": "recorded failures", "axis": {"tickCount": 5, "tickMinStep": 1, "gridColor": GRID}}
    lighter = {"condition": {"test": "datum.part != ''", "value": 0.4}, "value": 1}
    tooltip = hover(text="month", count="failures")
    bars = layer("bar", color=palette.GPU_TIME, x=x, y=at("count", y), opacity=lighter, tooltip=tooltip)
    return figure(
        "recorded-by-month",
        "Recorded failures by month",
        f"Bars of {plural(len(months), 'month')}: recorded failures. Most: {most['count']:,} in {most['text']}.",
        rows,
        {"text": "Month", "count": "Recorded failures"},
        [bars, *labelled("part", dy=-8, x={**x, "bandPosition": 0.5}, y=at("count", y))],
        220,
        "Lighter bars: months that were seen in part, with their days.",
    )


def _time(month: dt.datetime) -> str:
    return f"{month:%Y-%m-%dT00:00:00}"


def recorded_causes(data: ClusterData) -> list[Row]:
    """List the recorded failures by cause, and last those of all causes, each with its rate in service."""
    rates = {row["cause"]: row for row in data.rows("unit_rates")}
    rows = [*data.rows("recorded", kind="cause"), *data.rows("recorded", kind="all")]
    return [row | rates[row["cause"]] for row in rows]


def change_of_records(data: ClusterData) -> Change:
    """Describe the records of a cluster that has only recorded failures."""
    of_all, causes = data.row("recorded", kind="all"), data.rows("recorded", kind="cause")
    said = f"No accounting: the jobs are unknown. The site recorded {_counted(of_all)}{_most(causes)}."
    return Change(said, "no accounting", plural(of_all["recorded_count"], "recorded failure"))


def tiles_of_records(data: ClusterData) -> tuple[Tile, ...]:
    """Build the five numbers of such a cluster."""
    of_all, found = data.row("recorded", kind="all"), data.row("unit_rates", cause="all")
    counted = plural(found["incident_count"] or 0, "moment")
    in_service = (
        exposure(found["failure_count"], found["unit_days"], "unit-days"),
        f"begun at {counted}, {confidence(found['confidence_level'])} interval",
    )
    has_rate, measure = bool(found["unit_days"]), Measure(PER_1000, "all", "recorded")
    limits = f"[{limits_of(found, RATE).replace(' to ', ', ')}]" if has_rate and found[RATE] else ""
    is_down_known = has_rate and found["down_unit_days"] is not None
    down = share(found["down_unit_days"] / found["unit_days"]) if is_down_known else UNKNOWN
    # The note says which time down is left out, or why it is unknown.
    noted = tuple(part for part in (found["note"] or "").split("; ") if part.startswith("time down"))
    repaired = f"mean {duration(of_all['repair_hours_mean'])}; of {plural(of_all['repaired_count'], 'record')}"
    return (
        Tile("Recorded failures per 1,000 unit-days", unit_rate(found), limits, in_service, measure)
        if has_rate
        else Tile("Recorded failures per 1,000 unit-days", UNKNOWN, details=(NO_SERVICE,)),
        Tile("Recorded failures", whole(of_all["recorded_count"]), details=(_of_what(of_all),)),
        Tile(
            "Time between failures, median",
            duration(of_all["gap_hours_median"]),
            details=(f"mean {duration(of_all['gap_hours_mean'])}; of the whole cluster",),
        ),
        Tile("Time of repair, median", duration(of_all["repair_hours_median"]), details=(repaired,)),
        Tile("Share of unit time down", down, details=noted if has_rate else (NO_SERVICE,)),
    )


def _most(causes: Sequence[Row]) -> str:
    """Name the cause recorded most often, if there are several and one leads."""
    named = [row for row in causes if row["cause"] != NOT_RECORDED]
    if len(causes) < 2 or not named or (len(named) > 1 and named[0]["recorded_count"] == named[1]["recorded_count"]):
        return ""
    return f", most often of {printable(named[0]['cause'])} ({share(named[0]['ratio'])})"


def _of_what(row: Row) -> str:
    return f"of {plural(row['unit_count'], 'node' if row['are_nodes'] else 'unit')}" if row["unit_count"] else ""


def _counted(row: Row) -> str:
    return f"{plural(row['recorded_count'], 'failure')} {_of_what(row)}".strip()
