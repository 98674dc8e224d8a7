"""ETTR to expect over checkpoint interval and failure rate: shaded cells, the line of the target, the own rate."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from assets.report import palette
from assets.report.figures.style import INK, finish, named_ticks

STEPS = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
BLUES = ["#f7fbff", "#e1ecf7", "#c6dbef", "#9ecae1", "#6baed6", "#3f8fc4", "#1c6bb0"]
TARGET = palette.GROUP_COLOURS["GPU"]


def ettr_grid(cells: pd.DataFrame, target: pd.DataFrame, own: pd.DataFrame) -> dict[str, Any]:
    """Draw the grid, the longest interval that reaches the target at each rate, and where the cluster stands.

    Parameters
    ----------
    cells
        `minutes`, `minutes_from`, `minutes_to`, `rate`, `rate_from`, `rate_to`, `ettr`, `label`.
    target
        `minutes`, `rate` of the line, inside the grid; may be empty.
    own
        At most one row: `rate`, `low`, `high`, `label`, inside the grid.
    """
    x_ends = float(cells["minutes_from"].min()), float(cells["minutes_to"].max())
    y_ends = float(cells["rate_from"].min()), float(cells["rate_to"].max())
    minutes = {f"{value:g}": float(value) for value in sorted(set(cells["minutes"]))}
    rates = {f"{value:g}": float(value) for value in sorted(set(cells["rate"]))}
    x: dict[str, Any] = {
        "title": "minutes between checkpoints (log scale)",
        "scale": alt.Scale(type="log", domain=list(x_ends), nice=False),
        "axis": named_ticks(minutes, *x_ends),
    }
    y: dict[str, Any] = {
        "title": "failures per 1,000 node-days (log scale)",
        "scale": alt.Scale(type="log", domain=list(y_ends), nice=False),
        "axis": named_ticks(rates, *y_ends),
    }
    base = alt.Chart(cells)
    shades = base.mark_rect(stroke="white", strokeWidth=0.5).encode(
        x=alt.X("minutes_from:Q", **x),
        x2="minutes_to:Q",
        y=alt.Y("rate_from:Q", **y),
        y2="rate_to:Q",
        color=alt.Color(
            "ettr:Q",
            title="expected ETTR:",
            scale=alt.Scale(type="threshold", domain=STEPS, range=BLUES),
            legend=alt.Legend(gradientLength=240),
        ),
        tooltip=[alt.Tooltip("minutes:Q"), alt.Tooltip("rate:Q"), alt.Tooltip("label:N", title="ETTR")],
    )
    numbers = base.mark_text(fontSize=10).encode(
        x=alt.X("minutes:Q", **x),
        y=alt.Y("rate:Q", **y),
        text="label:N",
        color=alt.condition("datum.ettr >= 0.9", alt.value("white"), alt.value(INK)),
    )
    layers: list[Any] = [shades]
    if len(target):
        line = alt.Chart(target).encode(x=alt.X("minutes:Q", **x), y=alt.Y("rate:Q", **y), order="rate:Q")
        layers += [line.mark_line(strokeWidth=6, color="white"), line.mark_line(strokeWidth=3, color=TARGET)]
    if len(own):
        layers += _own(own, x, y, x_ends)
    layers.append(numbers)
    return finish(alt.layer(*layers), height=340)


def _own(own: pd.DataFrame, x: dict[str, Any], y: dict[str, Any], x_ends: tuple[float, float]) -> list[alt.Chart]:
    """Mark the cluster's own rate across the grid, its limits as dashed lines."""
    spread = own.assign(left=x_ends[0], right=x_ends[1])
    marks = []
    for name, width, dash in (("rate", 2.5, [1, 0]), ("low", 1.5, [5, 4]), ("high", 1.5, [5, 4])):
        base = alt.Chart(spread).transform_filter(f"isValid(datum.{name})")
        marks.append(
            base.mark_rule(strokeWidth=width, strokeDash=dash, color=INK, opacity=0.45).encode(
                x=alt.X("left:Q", **x), x2="right:Q", y=alt.Y(f"{name}:Q", **y)
            )
        )
    text = alt.Chart(spread).mark_text(align="left", dx=6, fontSize=11, fontWeight="bold", color=INK)
    return [*marks, text.encode(x=alt.value("width"), y=alt.Y("rate:Q", **y), text="label:N")]
