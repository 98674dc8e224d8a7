"""Failures as the site itself recorded them: by cause, by month, by node. They are no attempts that failed.

Of a cluster without accounting they are all there is, and its first screen shows them.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

from assets.report import palette
from assets.report.blocks import Change, Figure, Measure, Section, Tile, section
from assets.report.charts import GRID, Spec, at, figure, hover, layer
from assets.report.numbers import UNKNOWN, confidence, duration, moment, printable, share, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, ends, table
from assets.report.wording import LITTLE, exposure, plural, rate

PER_1000 = "failures per 1,000 unit-days"
RATE = "failures_per_1000_unit_days"
NO_SERVICE = "no time in service is stated"
NOT_RECORDED = "not recorded"


def _rate(row: Row) -> str:
    if row["has_enough_data"] or not row["unit_days"]:
        return rate(row, RATE)
    return LITTLE


RATE_OF_CAUSE = Col("#Per 1,000 unit-days ({level})", _rate, detail=lambda row: ends(row, RATE) if row[RATE] else "")
CAUSES = (
    Col("Cause", lambda row: printable(row["cause"]) if row["cause"] != "all" else "all causes"),
    Col("#Failures", "recorded_count", whole),
    Col("#Share", "ratio", share),
    Col("#Repair, mean", "repair_hours_mean", duration),
    Col("#Repair, median", "repair_hours_median", duration),
    Col("#Between failures, mean", "gap_hours_mean", duration, unknown=""),
    Col("#Between failures, median", "gap_hours_median", duration, unknown=""),
)
UNITS = (
    Col("Node", "node_name", unknown="not recorded"),
    Col("Unit", "unit_name", unknown=""),
    Col("#Failures", "recorded_count", whole),
    Col("#Share", "ratio", share),
    Col("#Repair, mean", "repair_hours_mean", duration),
    Col("#Between failures, mean", "gap_hours_mean", duration, unknown=""),
    Col("Last failure (UTC)", "last_at", moment, detail=lambda row: printable(row["last_cause"])),
)


def recorded(own: Own) -> Section | None:
    """Build the section on recorded failures; None of a cluster that has none."""
    of_all = own.row("recorded", kind="all")
    if not of_all:
        return None
    rates = {row["cause"]: row for row in own.rows("unit_rates")}
    causes = [row | rates[row["cause"]] for row in (*own.rows("recorded", kind="cause"), of_all)]
    units = own.rows("recorded", kind="unit")
    has_rate = bool(own.cluster["unit_days"])
    explained = " They are evidence, as tickets are: no attempt and no incident on this page counts one."
    return section(
        "recorded",
        "Recorded failures",
        f"The site recorded {_counted(of_all)} from {moment(of_all['first_at'])} to {moment(of_all['last_at'])} UTC "
        f"(failures/). {_rate_in_words(rates['all'])}" + (explained if own.cluster["has_accounting"] else ""),
        by_month(own),
        table(
            "Recorded failures by cause",
            causes[:-1],
            (*CAUSES[:3], RATE_OF_CAUSE, *CAUSES[3:]) if has_rate else CAUSES,
            "Causes as the site wrote them. Repair: from the failure to the end, of the records that tell one. Between "
            "failures: from one failure of the cause to the next, wherever they were; failures that begin together lie "
            "0 apart.",
            total=causes[-1],
        ),
        table(
            f"What failed most often ({whole(len(units))})",
            units,
            UNITS if any(row["unit_name"] for row in units) else (UNITS[0], *UNITS[2:]),
            "What never failed is in no record. Many failures need not mean a bad node: nothing is known of its use.",
        ),
    )


def by_month(own: Own) -> Figure | None:
    """Draw the recorded failures of each calendar month; one without a record has none."""
    counts = {row["month_at"]: row["recorded_count"] for row in own.rows("recorded", kind="month")}
    if len(counts) < 2:
        return None
    first, last = min(counts), max(counts)
    months = [
        dt.datetime(month // 12, month % 12 + 1, 1)
        for month in range(12 * first.year + first.month - 1, 12 * last.year + last.month)
    ]
    rows = [
        {"month": f"{month:%Y-%m-%dT00:00:00}", "count": counts.get(month, 0), "text": f"{month:%Y-%m}"}
        for month in months
    ]
    most = max(rows, key=lambda row: row["count"])
    x: Spec = {"field": "month", "type": "temporal", "timeUnit": "yearmonth", "title": None}
    y = {"title": "recorded failures", "axis": {"tickCount": 5, "tickMinStep": 1, "gridColor": GRID}}
    return figure(
        "recorded-by-month",
        "Recorded failures by month",
        f"Bars of {plural(len(months), 'month')}: recorded failures. Most: {most['count']:,} in {most['text']}.",
        rows,
        {"text": "Month", "count": "Recorded failures"},
        [layer("bar", color=palette.GPU_TIME, x=x, y=at("count", y), tooltip=hover(text="month", count="failures"))],
        220,
        "The first and the last month may be seen in part only.",
    )


def change_of_records(own: Own) -> Change:
    """Say what a cluster of which records alone are known has of them."""
    of_all, causes = own.row("recorded", kind="all"), own.rows("recorded", kind="cause")
    said = f"No accounting: of jobs nothing is known. The site recorded {_counted(of_all)}{_most(causes)}."
    return Change(said, "no accounting", plural(of_all["recorded_count"], "recorded failure"))


def tiles_of_records(own: Own) -> tuple[Tile, ...]:
    """Build the five numbers of such a cluster."""
    of_all, found = own.row("recorded", kind="all"), own.row("unit_rates", cause="all")
    counted = plural(found["incident_count"] or 0, "moment")
    in_service = (
        exposure(found["failure_count"], found["unit_days"], "unit-days"),
        f"begun at {counted}, {confidence(found['confidence_level'])} interval",
    )
    has_rate, measure = bool(found["unit_days"]), Measure(PER_1000, "all", "recorded")
    limits = f"[{ends(found, RATE).replace(' to ', ', ')}]" if has_rate and found[RATE] else ""
    is_down_known = has_rate and found["down_unit_days"] is not None
    down = share(found["down_unit_days"] / found["unit_days"]) if is_down_known else UNKNOWN
    # The note says what of the time down is left out, and why it is unknown.
    noted = tuple(part for part in (found["note"] or "").split("; ") if part.startswith("time down"))
    repaired = f"mean {duration(of_all['repair_hours_mean'])}; of {plural(of_all['repaired_count'], 'record')}"
    return (
        Tile("Recorded failures per 1,000 unit-days", _rate(found), limits, in_service, measure)
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
    """Name the cause recorded most often, where one is and others are."""
    named = [row for row in causes if row["cause"] != NOT_RECORDED]
    if len(causes) < 2 or not named or (len(named) > 1 and named[0]["recorded_count"] == named[1]["recorded_count"]):
        return ""
    return f", most often of {printable(named[0]['cause'])} ({share(named[0]['ratio'])})"


def _of_what(row: Row) -> str:
    return f"of {plural(row['unit_count'], 'node' if row['are_nodes'] else 'unit')}" if row["unit_count"] else ""


def _counted(row: Row) -> str:
    return f"{plural(row['recorded_count'], 'failure')} {_of_what(row)}".strip()


def _rate_in_words(row: Row) -> str:
    if not row["unit_days"]:
        return f"There is no rate: {NO_SERVICE} ([[failures.in_service]] in cluster.toml)."
    limits = f", {confidence(row['confidence_level'])} interval {ends(row, RATE)}" if row[RATE] else ""
    counted = exposure(row["failure_count"], row["unit_days"], "unit-days")
    return f"Per 1,000 unit-days in service: {_rate(row)}{limits} ({counted})."
