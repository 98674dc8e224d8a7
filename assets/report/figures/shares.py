"""Paired bars: how many, and how much GPU time."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from assets.report import palette
from assets.report.figures.style import INK, finish, names_axis

MEASURES = ("attempts", "GPU time")
TITLE = "share of the total (%)"


def shares(frame: pd.DataFrame) -> dict[str, Any]:
    """Draw the share of attempts and the share of GPU time of each row.

    Parameters
    ----------
    frame
        `name`, `measure` (one of `MEASURES`), `percent`, `text`; rows in drawing order, a missing `percent` as NaN.
    """
    top = float(frame["percent"].max(skipna=True)) if frame["percent"].notna().any() else 100.0
    scale = alt.Scale(domain=[0, (top or 1.0) * 1.18])
    base = alt.Chart(frame).encode(
        y=alt.Y("name:N", sort=list(dict.fromkeys(frame["name"])), title=None, axis=names_axis()),
        yOffset=alt.YOffset("measure:N", sort=list(MEASURES)),
        x=alt.X("percent:Q", title=TITLE, axis=alt.Axis(tickCount=6), scale=scale),
    )
    bars = base.mark_bar().encode(
        color=alt.Color(
            "measure:N",
            sort=list(MEASURES),
            title=None,
            scale=alt.Scale(domain=list(MEASURES), range=[palette.ATTEMPTS, palette.GPU_TIME]),
        ),
        tooltip=[alt.Tooltip("name:N"), alt.Tooltip("measure:N"), alt.Tooltip("text:N", title="share")],
    )
    labels = base.mark_text(align="left", dx=4, fontSize=11, color=INK).encode(
        x=alt.X("at:Q", title=TITLE), text="text:N"
    )
    return finish(alt.layer(bars, labels), height=alt.Step(15))
