"""The figures of the report, by the name that templates call them: charts over rows, in Vega-Lite's own words."""

from __future__ import annotations

from collections.abc import Callable

from assets.report.blocks import Figure
from assets.report.figures.causes import causes
from assets.report.figures.over_time import over_time
from assets.report.figures.recorded import by_month

FIGURES: dict[str, Callable[..., Figure | None]] = {
    "causes": causes,
    "over-time": over_time,
    "recorded-by-month": by_month,
}
