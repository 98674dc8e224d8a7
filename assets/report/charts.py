"""Charts in Vega-Lite: layers of marks over rows, with readable axes.

A figure keeps its rows with a heading for each column, so that the page can show them as a table. No section sets its
own type, ink, rims or ticks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from assets.report import palette
from assets.report.blocks import Figure
from assets.report.numbers import short
from assets.report.queries import Row
from assets.report.tables import limits_of

Spec = dict[str, Any]
Say = Callable[[Row], str]

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'
INK = "#1f2328"
SOFT = "#57606a"
GRID = "#e4e7eb"
RIM = {"color": "white", "stroke": "white", "strokeWidth": 3, "strokeJoin": "round"}
TYPE = {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal", "labelColor": INK, "titleColor": INK}
CONFIG = {
    "font": FONT, "view": {"stroke": None}, "axis": {**TYPE, "gridColor": GRID}, "legend": {**TYPE, "orient": "top"},
}  # fmt: skip
NAMES_AXIS = {"labelLimit": 240, "ticks": False, "domain": False, "grid": False}
FLAT_AXIS = {"labelAngle": 0}
PICKED = {"condition": {"param": "picked", "value": 1}, "value": 0.12}
"""Opacity of marks after a click in the legend: those not selected fade."""


def figure(  # noqa: PLR0917
    key: str,
    title: str,
    description: str,
    rows: list[Row],
    columns: dict[str, str],
    layers: Iterable[Spec],
    height: int | Spec,
    note: str = "",
    **others: list[Row],
) -> Figure:
    """Return a figure of layers from `layer` and `labelled`.

    The description is for readers who do not see it, the note says how to read it. The layers draw the rows as the data
    `main`, and others by their names; `columns` are those that the figure's table has, with their headings. The height
    is in pixels, or `{"step": pixels}` for each row.
    """
    spec = {
        "width": "container",
        "height": height,
        "background": "transparent",
        "autosize": {"type": "fit-x", "contains": "padding"},
        "config": CONFIG,
        "layer": list(layers),
        "datasets": {"main": rows} | others,
    }
    return Figure(key, title, description, spec, columns, note)


def layer(kind: str, data: str = "main", where: str = "", params: Sequence[Spec] = (), **looks: Any) -> Spec:
    """Draw marks: results of `at`, `name` and `hover` are channels, anything else is a property of the mark."""
    channels = {key: value for key, value in looks.items() if isinstance(value, dict) or key == "tooltip"}
    marks = {key: value for key, value in looks.items() if key not in channels}
    made: Spec = {"data": {"name": data}, "mark": {"type": kind, **marks}, "encoding": channels}
    if where:
        made["transform"] = [{"filter": where}]
    return made | ({"params": list(params)} if params else {})


def labelled(text: str, data: str = "main", where: str = "", dx: int = 0, dy: int = 0, **looks: Any) -> list[Spec]:
    """Write a text column next to points, over a white rim that keeps it legible on lines."""
    mark: Spec = {"fontSize": 11, "dx": dx, "dy": dy, "align": "left" if dx else "center", **looks}
    return [layer("text", data, where, text=name(text), **{**mark, **ink}) for ink in (RIM, {"color": INK})]


def at(field: str, axis: Spec | None = None, **more: Any) -> Spec:
    """Place by a number, on an axis that several layers may share."""
    return {"field": field, "type": "quantitative", **(axis or {}), **more}


def name(field: str, **more: Any) -> Spec:
    """Place, colour or write by a name."""
    return {"field": field, "type": "nominal", **more}


def hover(**titles: str) -> list[Spec]:
    """Return the values that the pointer shows, by column."""
    return [name(field, title=title) for field, title in titles.items()]


def pick(column: str) -> Spec:
    """Let a click in the legend choose."""
    return {"name": "picked", "select": {"type": "point", "fields": [column]}, "bind": "legend"}


def zoom(*encodings: str) -> Spec:
    """Let the wheel zoom while the shift key is held, so that it scrolls the page otherwise; dragging moves."""
    select = {"type": "interval", "encodings": list(encodings), "zoom": "wheel![event.shiftKey]"}
    return {"name": "zoom", "select": select, "bind": "scales"}


def colours(shades: dict[str, str], column: str, **more: Any) -> Spec:
    """Colour by a name, in the order of the legend."""
    return name(column, sort=list(shades), scale={"domain": list(shades), "range": list(shades.values())}, **more)


def log_axis(title: str, ticks: dict[str, float], low: float, high: float, right: float | None = None) -> Spec:
    """Return a logarithmic axis with the given labels at the given values inside the domain."""
    scale = {"type": "log", "domain": [low, right or high], "nice": False, "clamp": True}
    return {"scale": scale, "title": f"{title} (log scale)", "axis": named_ticks(ticks, low, high)}


def named_ticks(ticks: dict[str, float], low: float, high: float) -> Spec:
    """Label the given values of an axis that are inside the domain."""
    inside = {label: value for label, value in ticks.items() if low <= value <= high}
    expression = "''"
    for label, value in inside.items():
        expression = f"datum.value == {json.dumps(value)} ? {json.dumps(label)} : ({expression})"
    return {"values": list(inside.values()), "labelExpr": expression, "gridColor": GRID, "labelOverlap": False}


def decade_ticks(low: float, high: float) -> dict[str, float]:
    """Choose ticks of a logarithmic axis: powers of ten, and 2 and 5 between them where the axis is short.

    >>> list(decade_ticks(0.8, 12)), list(decade_ticks(0.01, 2000))
    (['1', '2', '5', '10'], ['0.01', '0.1', '1', '10', '100', '1,000'])
    """
    steps = (1, 2, 5) if math.log10(high / low) < 2.5 else (1,)
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [step * 10.0**exponent for exponent in exponents for step in steps]
    return {short(value, 1): value for value in values if low <= value <= high}


def dots(rows: Iterable[Row], stem: str, label: Say, rests: Say, **others: Say) -> list[Row]:
    """Return the rows that `intervals` draws of a column with limits; `label` names a row, `rests` gives its counts."""
    return [
        {
            "label": label(row),
            "value": row[stem],
            "low": row[f"{stem}_low"],
            "high": row[f"{stem}_high"],
            "rests": rests(row),
            "text": f"{short(row[stem])} ({limits_of(row, stem)})",
        }
        | {name: say(row) for name, say in others.items()}
        for row in rows
    ]


def intervals(rows: list[Row], title: str, around_one: bool = False) -> list[Spec]:
    """Draw a dot with its interval on a logarithmic axis for each row, with its counts next to it.

    The rows come from `dots`. A limit that is None is open: the interval runs to the edge. A `colour` in the rows
    colours the dots. An axis around one has a line at one, where nothing differs.
    """
    known = [row[end] for row in rows for end in ("value", "low", "high") if (row[end] or 0) > 0]
    low, high = min(known) / 1.3, max(known) * 1.3
    if around_one:
        low, high = min(low, 0.5), max(high, 2.0)
    for row in rows:
        row |= {"left": row["low"] if (row["low"] or 0) > 0 else low, "right": row["high"] or high}
    x = log_axis(title, decade_ticks(low, high), low, high, right=high * (high / low) ** 0.12)
    y = name("label", sort=[row["label"] for row in rows], title=None, axis=NAMES_AXIS)
    looks: Spec = {"color": palette.MEASURED}
    if "colour" in rows[0]:
        looks = {
            "fill": name("colour", scale=None, legend=None),
            "stroke": INK,
            "strokeWidth": 0.8,
            "cursor": "pointer",
        }
    dots = layer("point", where="isValid(datum.value) && datum.value > 0", params=[] if around_one else [zoom("x")],
                 size=100, opacity=1, filled=True, x=at("value", x), y=y, tooltip=hover(label="what", text=title),
                 **looks)  # fmt: skip
    one = layer("rule", color=SOFT, strokeDash=[4, 3], x={"datum": 1.0, "type": "quantitative", **x})
    bars = layer("rule", strokeWidth=2, color=SOFT, x=at("left", x), x2={"field": "right"}, y=y)
    return [*([one] if around_one else []), bars, dots, *labelled("rests", dx=8, x=at("right", x), y=y)]
