"""The figures of the report, by the name that templates call them: charts over rows, in Vega-Lite's own words."""

from __future__ import annotations

from collections.abc import Callable

from assets.report.blocks import Figure
from assets.report.figures.ettr import ettr_grid, parts_of_time

FIGURES: dict[str, Callable[..., Figure | None]] = {
    "ettr-grid": ettr_grid,
    "parts-of-time": parts_of_time,
}
