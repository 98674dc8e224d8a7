"""The failure rate by cause, with limits."""

from __future__ import annotations

from operator import itemgetter

from assets.report import palette
from assets.report.addresses import of_cause
from assets.report.blocks import Figure
from assets.report.charts import dots, figure, intervals
from assets.report.numbers import short
from assets.report.queries import ClusterData
from assets.report.tables import level_of
from assets.report.wording import number, plural


def causes(data: ClusterData) -> Figure | None:
    """Draw the rate by cause; None where no cause was seen."""
    rows = [row for row in data.rows("causes", sight="seen") if row["per_million"]]
    if not rows:
        return None
    drawn = dots(
        rows,
        "per_million",
        itemgetter("label"),
        lambda row: number(row["failure_count"]),
        colour=lambda row: palette.colour_of(row["failure_category"]),
        link=of_cause,
    )
    return figure(
        "causes",
        "Failure rate by cause",
        f"One dot per cause with its interval, on a logarithmic axis. Most frequent: {rows[0]['label']}, "
        f"{short(rows[0]['per_million'])} per million GPU-hours ({plural(rows[0]['failure_count'], 'failure')}). The "
        "table above holds every value.",
        drawn,
        {"label": "Cause", "value": "Per million GPU-hours", "low": "Lower limit", "high": "Upper limit",
         "rests": "Failed attempts"},
        intervals(drawn, "failures per million GPU-hours"),
        {"step": 26},
        f"Dots: rate by cause. Lines: {level_of(rows)} limits. Numbers: failed attempts. Figure 4 of the paper.",
    )  # fmt: skip
