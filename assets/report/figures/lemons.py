"""How the signals of a lemon spread over the nodes: cumulative distributions, and where the lemons stand on them."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from assets.report import palette
from assets.report.figures.style import INK, finish

DASHES = ([1, 0], [6, 3], [2, 2])


def lemons(frame: pd.DataFrame) -> dict[str, Any]:
    """Draw one stepped line per signal.

    Parameters
    ----------
    frame
        `signal` (text, in order), `position` (value over the largest of the fleet), `percent` (nodes with at most
        this value), `has_lemon`, `text` (the tooltip).
    """
    signals = list(dict.fromkeys(frame["signal"]))
    colours = [*list(palette.GROUP_COLOURS.values())[:4], palette.ATTEMPTS, palette.GPU_TIME, palette.MEASURED]
    y: dict[str, Any] = {"title": "nodes with at most this value (%)", "scale": alt.Scale(domain=[0, 100])}
    base = alt.Chart(frame).encode(
        x=alt.X(
            "position:Q",
            title="value of the signal (1: the largest of the fleet)",
            scale=alt.Scale(domain=[0, 1]),
            axis=alt.Axis(tickCount=6, grid=False),
        ),
        y=alt.Y("percent:Q", **y),
        color=alt.Color(
            "signal:N",
            sort=signals,
            title=None,
            legend=alt.Legend(columns=4, labelLimit=260),
            scale=alt.Scale(domain=signals, range=colours[: len(signals)]),
        ),
    )
    lines = base.mark_line(interpolate="step-after", strokeWidth=2).encode(
        strokeDash=alt.StrokeDash(
            "signal:N",
            sort=signals,
            title=None,
            legend=alt.Legend(columns=4, labelLimit=260),
            scale=alt.Scale(domain=signals, range=[DASHES[number % 3] for number in range(len(signals))]),
        )
    )
    points = (
        base.transform_filter("datum.has_lemon")
        .mark_point(filled=True, size=90, stroke=INK, strokeWidth=1, opacity=1)
        .encode(tooltip=[alt.Tooltip("signal:N"), alt.Tooltip("text:N", title="value")])
    )
    return finish(alt.layer(lines, points), height=300)
