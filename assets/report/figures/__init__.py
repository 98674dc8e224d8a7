"""The figures of the report, by the name that templates use for them: charts over rows, in Vega-Lite."""

from __future__ import annotations

from collections.abc import Callable

from assets.report.blocks import Figure
from assets.report.figures import causes, ettr, jobs, losses, nodes, over_time, recorded

FIGURES: dict[str, Callable[..., Figure | None]] = {
    "causes": causes.causes,
    "delivered": nodes.delivered,
    "ettr-grid": ettr.ettr_grid,
    "losses": losses.losses,
    "mttf": jobs.mttf,
    "over-time": over_time.over_time,
    "parts-of-time": ettr.parts_of_time,
    "places": nodes.places,
    "ratios": jobs.ratios,
    "recorded-by-month": recorded.by_month,
    "shapes": jobs.shapes,
    "shares": jobs.shares,
}
