"""How one signal of a lemon spreads over the nodes: a cumulative distribution, and where the lemons stand on it."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from assets.report import palette
from assets.report.figures.style import INK, finish, labelled


def lemons(frame: pd.DataFrame) -> dict[str, Any]:
    """Draw a stepped line.

    Parameters
    ----------
    frame
        `value`, `percent` (nodes with at most this value), `names` (of the lemons there), `written` (those that
        there is room for) and `text` (the tooltip).
    """
    top = float(frame["value"].max()) or 1.0
    x = alt.X("value:Q", title=None, scale=alt.Scale(domain=[0, 1.25 * top]), axis=alt.Axis(tickCount=5, grid=False))
    y: dict[str, Any] = {
        "title": "nodes (%)",
        "scale": alt.Scale(domain=[0, 112]),
        "axis": alt.Axis(values=[0, 50, 100]),
    }
    base = alt.Chart(frame).encode(x=x, y=alt.Y("percent:Q", **y))
    named = base.transform_filter("datum.names != ''")
    tooltip = [alt.Tooltip("text:N", title="value"), alt.Tooltip("names:N", title="lemons")]
    lines = base.mark_line(interpolate="step-after", strokeWidth=2, color=palette.GPU_TIME)
    every = base.mark_point(filled=True, size=60, opacity=0).encode(tooltip=tooltip)
    points = named.mark_point(filled=True, size=80, stroke=INK, color=palette.GROUP_COLOURS["GPU"], opacity=1)
    labels = labelled(named, "written", dy=-12, x=x, y=alt.Y("percent:Q", **y))
    return finish(alt.layer(lines, every, points.encode(tooltip=tooltip), *labels), height=120)
