"""ETTR against run size: measured with its bounds and interval, and what the failure rate lets one expect."""

from __future__ import annotations

import math
from typing import Any

import altair as alt
import pandas as pd

from assets.report import palette
from assets.report.figures.style import finish, labelled


def ettr(frame: pd.DataFrame) -> dict[str, Any]:
    """Draw one column of marks per run size.

    Parameters
    ----------
    frame
        `size` (text, in order), `measured`, `low`, `high` (interval of the mean), `bound_low`, `bound_high` (what the
        assumption about checkpoints leaves open), `expected`, `at` (where the label stands), `k`, `text`.
    """
    ends = frame[["measured", "low", "bound_low", "expected"]].min(skipna=True).min(skipna=True)
    floor = max(0.0, math.floor((float(ends) - 0.03) * 20) / 20)
    title = "ETTR (1: all time productive)"
    y: dict[str, Any] = {"scale": alt.Scale(domain=[floor, 1]), "title": title, "axis": alt.Axis(tickCount=6)}
    x = alt.X("size:N", sort=list(frame["size"]), title="size of the run", axis=alt.Axis(labelAngle=0))
    base = alt.Chart(frame).encode(x=x)
    layers = [
        base.transform_filter("isValid(datum.bound_low) && isValid(datum.bound_high)")
        .mark_rule(strokeWidth=12, color=palette.THEORY, opacity=0.22)
        .encode(y=alt.Y("bound_low:Q", **y), y2="bound_high:Q"),
        base.transform_filter("isValid(datum.expected)")
        .mark_tick(thickness=3, size=36, color=palette.THEORY)
        .encode(y=alt.Y("expected:Q", **y)),
        base.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(strokeWidth=1.5, color=palette.MEASURED)
        .encode(y=alt.Y("low:Q", **y), y2="high:Q"),
        base.mark_point(filled=True, size=80, color=palette.MEASURED, opacity=1).encode(
            y=alt.Y("measured:Q", **y),
            tooltip=[alt.Tooltip("size:N"), alt.Tooltip("text:N", title="ETTR")],
        ),
        *labelled(base, "k", dy=16, y=alt.Y("at:Q", **y)),
    ]
    return finish(alt.layer(*layers), height=280)
