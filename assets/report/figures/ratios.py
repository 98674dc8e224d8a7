"""Ratios with their intervals on a logarithmic axis, around the line of equality."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from assets.report import palette
from assets.report.figures.style import SOFT, decade_ticks, finish, labelled, named_ticks, names_axis


def ratios(frame: pd.DataFrame, title: str) -> dict[str, Any]:
    """Draw each ratio as a dot with its interval, and a line where nothing differs.

    Parameters
    ----------
    frame
        `label`, `ratio`, `low`, `high` (what is missing is NaN: the interval is open on that side), `k` (the text
        beside it) and `text` (the tooltip); rows in drawing order.
    title
        Of the axis.
    """
    ends = pd.concat([frame["ratio"], frame["low"], frame["high"]]).dropna()
    ends = ends[ends > 0]
    low, high = min(float(ends.min()) / 1.3, 0.5), max(float(ends.max()) * 1.3, 2.0)
    right = high * (high / low) ** 0.12
    # An open interval runs to the edge.
    drawn = frame.assign(left=frame["low"].where(frame["low"] > 0, low), right=frame["high"].fillna(high))
    x: dict[str, Any] = {
        "scale": alt.Scale(type="log", domain=[low, right], nice=False, clamp=True),
        "title": f"{title} (log scale)",
        "axis": named_ticks(decade_ticks(low, high), low, high),
    }
    base = alt.Chart(drawn).encode(y=alt.Y("label:N", sort=list(frame["label"]), title=None, axis=names_axis()))
    parity = alt.Chart(pd.DataFrame({"one": [1.0]})).mark_rule(color=SOFT, strokeDash=[4, 3])
    layers = [
        parity.encode(x=alt.X("one:Q", **x)),
        base.mark_rule(strokeWidth=2, color=SOFT).encode(x=alt.X("left:Q", **x), x2="right:Q"),
        base.transform_filter("isValid(datum.ratio) && datum.ratio > 0")
        .mark_point(filled=True, size=90, opacity=1, color=palette.MEASURED)
        .encode(
            x=alt.X("ratio:Q", **x), tooltip=[alt.Tooltip("label:N", title="what"), alt.Tooltip("text:N", title=title)]
        ),
        *labelled(base, "k", dx=8, x=alt.X("right:Q", **x)),
    ]
    return finish(alt.layer(*layers), height=alt.Step(26))
