"""What all charts share: type, ink, logarithmic axes with ticks a person would choose, and the final touches."""

from __future__ import annotations

import json
import math
from typing import Any

import altair as alt

from assets.report.numbers import short

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
INK = "#1f2328"
SOFT = "#57606a"
GRID = "#e4e7eb"

DURATION_TICKS = {
    "1 s": 1 / 3600, "10 s": 10 / 3600, "1 min": 1 / 60, "10 min": 1 / 6, "1 h": 1.0, "6 h": 6.0, "1 day": 24.0,
    "1 week": 168.0, "30 days": 720.0, "1 year": 8766.0, "10 years": 87660.0, "100 years": 876600.0,
}  # fmt: skip


def decade_ticks(low: float, high: float) -> dict[str, float]:
    """Choose ticks of a logarithmic axis: powers of ten, and 2 and 5 between them where the axis is short.

    >>> list(decade_ticks(0.8, 12)), list(decade_ticks(0.01, 2000))
    (['1', '2', '5', '10'], ['0.01', '0.1', '1', '10', '100', '1,000'])
    """
    steps = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [step * 10.0**exponent for exponent in exponents for step in steps]
    return {short(value, 1): value for value in values if low <= value <= high}


def named_ticks(ticks: dict[str, float], low: float, high: float) -> alt.Axis:
    """Build an axis with the given labels at the given values, those inside the domain."""
    inside = {label: value for label, value in ticks.items() if low <= value <= high}
    expression = "''"
    for label, value in inside.items():
        expression = f"datum.value == {json.dumps(value)} ? {json.dumps(label)} : ({expression})"
    return alt.Axis(values=list(inside.values()), labelExpr=expression, gridColor=GRID, labelOverlap=False)


def names_axis() -> alt.Axis:
    """Build the axis that carries the names of rows."""
    return alt.Axis(labelLimit=240, ticks=False, domain=False, grid=False)


def zoom(*encodings: str) -> alt.Parameter:
    """Let the wheel zoom while the shift key is held, so that it scrolls the page otherwise; dragging moves."""
    return alt.selection_interval(name="zoom", bind="scales", encodings=list(encodings), zoom="wheel![event.shiftKey]")


def labelled(base: alt.Chart, text: str, dx: int = 0, dy: int = 0, **encoding: Any) -> list[alt.Chart]:
    """Write a text column beside points, over a white rim that keeps it legible on lines."""
    mark: dict[str, Any] = {"fontSize": 11, "dx": dx, "dy": dy, "align": "left" if dx else "center"}
    rim = base.mark_text(**mark, color="white", stroke="white", strokeWidth=3, strokeJoin="round")
    return [layer.encode(text=f"{text}:N", **encoding) for layer in (rim, base.mark_text(**mark, color=INK))]


def finish(chart: alt.LayerChart | alt.FacetChart, height: int | alt.Step) -> dict[str, Any]:
    """Set width, type and ink, and return the specification."""
    finished = (
        chart.properties(
            width="container",
            height=height,
            background="transparent",
            autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
        )
        .configure(font=FONT)
        .configure_view(stroke=None)
        .configure_axis(
            labelFontSize=12, titleFontSize=12, titleFontWeight="normal", labelColor=INK, titleColor=INK, gridColor=GRID
        )
        .configure_legend(
            orient="top", labelFontSize=12, titleFontSize=12, titleFontWeight="normal", labelColor=INK, titleColor=INK
        )
    )
    spec: dict[str, Any] = finished.to_dict()
    # The address of the schema is the only URL a specification carries, and the page references none.
    spec.pop("$schema", None)
    return spec
