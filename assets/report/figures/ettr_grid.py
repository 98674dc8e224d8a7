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
        `x`, `y` (places of the interval and the rate among those of the grid, so that all cells are alike), `minutes`,
        `rate`, `ettr`, `label`.
    target
        `x`, `y` of the line, inside the grid; may be empty.
    own
        At most one row: `y`, `low`, `high`, `label`, inside the grid.
    """
    x, y = (
        {"title": title, "scale": alt.Scale(domain=[-0.5, ends + 0.5], nice=False, zero=False), "axis": axis}
        for title, ends, axis in (
            ("minutes between checkpoints", int(cells["x"].max()), _named(cells, "x", "minutes")),
            ("failures per 1,000 node-days", int(cells["y"].max()), _named(cells, "y", "rate")),
        )
    )
    base = alt.Chart(cells).transform_calculate(
        left="datum.x - 0.5", right="datum.x + 0.5", foot="datum.y - 0.5", top="datum.y + 0.5"
    )
    shades = base.mark_rect(stroke="white", strokeWidth=0.5).encode(
        x=alt.X("left:Q", **x),
        x2="right:Q",
        y=alt.Y("foot:Q", **y),
        y2="top:Q",
        color=alt.Color(
            "ettr:Q",
            title="expected ETTR:",
            scale=alt.Scale(type="threshold", domain=STEPS, range=BLUES),
            legend=alt.Legend(gradientLength=240),
        ),
        tooltip=[
            alt.Tooltip("minutes:Q", title="minutes"), alt.Tooltip("rate:Q", title="per 1,000 node-days"),
            alt.Tooltip("label:N", title="ETTR"),
        ],
    )  # fmt: skip
    numbers = base.mark_text(fontSize=10).encode(
        x=alt.X("x:Q", **x),
        y=alt.Y("y:Q", **y),
        text="label:N",
        color=alt.condition("datum.ettr >= 0.9", alt.value("#ffffff"), alt.value("#1b1f24")),
    )
    layers: list[Any] = [shades]
    if len(target):
        line = alt.Chart(target).encode(x=alt.X("x:Q", **x), y=alt.Y("y:Q", **y), order="y:Q")
        layers += [line.mark_line(strokeWidth=6, color="white"), line.mark_line(strokeWidth=3, color=TARGET)]
    if len(own):
        layers += _own(own, x, y, (-0.5, float(cells["x"].max()) + 0.5))
    layers.append(numbers)
    return finish(alt.layer(*layers), height=340)


def _own(own: pd.DataFrame, x: dict[str, Any], y: dict[str, Any], x_ends: tuple[float, float]) -> list[alt.Chart]:
    """Mark the cluster's own rate across the grid, its limits as dashed lines."""
    spread = own.assign(left=x_ends[0], right=x_ends[1])
    marks = []
    for name, width, dash in (("y", 2.5, [1, 0]), ("low", 1.5, [5, 4]), ("high", 1.5, [5, 4])):
        base = alt.Chart(spread).transform_filter(f"isValid(datum.{name})")
        marks.append(
            base.mark_rule(strokeWidth=width, strokeDash=dash, color=INK, opacity=0.45).encode(
                x=alt.X("left:Q", **x), x2="right:Q", y=alt.Y(f"{name}:Q", **y)
            )
        )
    text = alt.Chart(spread).mark_text(align="left", dx=6, fontSize=11, fontWeight="bold", color=INK)
    return [*marks, text.encode(x=alt.value("width"), y=alt.Y("y:Q", **y), text="label:N")]


def _named(cells: pd.DataFrame, place: str, value: str) -> alt.Axis:
    names = {f"{row[value]:g}": float(row[place]) for _, row in cells.drop_duplicates(place).iterrows()}
    return named_ticks(names, -0.5, float(cells[place].max()) + 0.5)
