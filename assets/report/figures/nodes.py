"""Figures of nodes: places that fail more than the rest, and node-hours that were not delivered."""

from __future__ import annotations

from assets.report import palette
from assets.report.blocks import Figure
from assets.report.charts import FLAT_AXIS, INK, at, colours, dots, figure, hover, intervals, layer, name
from assets.report.numbers import printable, short
from assets.report.queries import ClusterData, Row
from assets.report.tables import level_of
from assets.report.wording import number, plural

MAX_DRAWN = 24
SHADES = {
    "failed": palette.CAUSES["gpu_nvlink"],
    "planned out": palette.CAUSES["planned"],
    "unknown": palette.OTHER,
}
"""States of node-hours that were not, or not surely, in service."""


def places(data: ClusterData, place_kind: str) -> Figure | None:
    """Draw the rates of the places of one kind; those that differ are blue."""
    rows = data.rows("places", place_kind=place_kind)
    known = [row for row in rows if row["failures_per_1000_node_days"] is not None]
    seen = [row for row in known if row["place"] is not None and row["event_count"]]
    if not seen:
        return None
    kind = seen[0]["kind_name"]
    drawn = dots(
        seen[:MAX_DRAWN],
        "failures_per_1000_node_days",
        lambda row: printable(row["place"], 30),
        lambda row: f"{number(row['event_count'])}{', ' + row['verdict'] if row['is_found'] else ''}",
        colour=lambda row: palette.GPU_TIME if row["is_found"] else palette.OTHER,
    )
    return figure(
        f"places-{place_kind}",
        f"Failures of nodes by {kind}",
        f"One dot per {kind} with its interval, those that differ first, then by how often they fail. First: "
        f"{drawn[0]['label']}, {drawn[0]['text']} per 1,000 node-days. The table below holds every value.",
        drawn,
        {"label": kind, "value": "Per 1,000 node-days", "low": "Lower limit", "high": "Upper limit",
         "rests": "Failures of nodes"},
        intervals(drawn, "failures per 1,000 node-days"),
        {"step": 26},
        f"Dots: rate, blue where the place differs from the rest. Lines: {level_of(seen)} limits, wide where its nodes "
        "differ or fail at once. Numbers: failures of nodes.",
    )  # fmt: skip


def delivered(data: ClusterData) -> Figure:
    """Draw the share of the node-hours of each month that was not delivered."""
    months = data.rows("availability")

    def hours(row: Row, kind: str) -> float:
        return float(row[f"{kind.replace(' ', '_')}_node_hours"])

    bars = [
        {
            "month": f"{row['month_date']:%Y-%m}"
            + (f", {plural(row['seen_day_count'], 'day')} of it" if row["is_part"] else ""),
            "is_part": row["is_part"],
            "kind": kind,
            "percent": 100 * hours(row, kind) / row["total_node_hours"],
            "allowed": None if row["objective"] is None else 100 * (1 - row["objective"]),
            "text": f"{short(hours(row, kind))} node-hours",
        }
        for row in months
        for kind in SHADES
    ]
    known = [row for row in months if row["availability_high"] is not None]
    lowest = min(known, key=lambda row: row["availability_high"], default=None)
    worst = f" Worst month: {lowest['month_date']:%Y-%m}." if lowest else ""
    y = {"title": "node-hours (%)", "axis": {"tickCount": 5}}
    return figure(
        "delivered",
        "Node-hours not delivered, by month",
        f"Stacked bars of {plural(len(months), 'month')}: share of the node-hours that failed, were planned work, or "
        f"are unknown.{worst} The table below holds the hours.",
        bars,
        {"month": "Month", "kind": "Kind", "percent": "Node-hours (%)"},
        [
            layer("bar", size=28, x=name("month", title=None, axis=FLAT_AXIS), y=at("percent", y, stack="zero"),
                  color=colours(SHADES, "kind", title=None),
                  opacity={"condition": {"test": "datum.is_part", "value": 0.5}, "value": 1},
                  tooltip=hover(month="month", kind="kind", text="hours")),
            layer("rule", where="isValid(datum.allowed)", strokeDash=[4, 3], color=INK, y=at("allowed", y)),
        ],
        160,
        "Lighter bars: months that were seen in part."
        + (" Dashed: what the objective allows to fail." if months[-1]["objective"] is not None else ""),
    )  # fmt: skip
