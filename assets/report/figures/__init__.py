"""The figures of the report, by the name that templates call them: charts over rows, in Vega-Lite's own words."""

from __future__ import annotations

from collections.abc import Callable

from assets.report.blocks import Figure
from assets.report.figures import jobs, losses

FIGURES: dict[str, Callable[..., Figure | None]] = {
    "losses": losses.losses,
    "mttf": jobs.mttf,
    "ratios": jobs.ratios,
    "shapes": jobs.shapes,
    "shares": jobs.shares,
}
