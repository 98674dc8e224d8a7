"""Work lost by job size: stacked bars of first and second order."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from assets.report import palette
from assets.report.figures.style import finish, labelled

ORDERS = ("first order", "second order")


def losses(frame: pd.DataFrame) -> dict[str, Any]:
    """Draw one stacked bar per job size.

    Parameters
    ----------
    frame
        `size` (text, in order), `order` (one of `ORDERS`), `hours`, `total` (of the bar), `label` (what stands above
        it, on the rows of the first order) and `text` (the tooltip).
    """
    top = float(frame["total"].max()) or 1.0
    y: dict[str, Any] = {
        "title": "lost GPU-hours",
        "axis": alt.Axis(tickCount=6),
        "scale": alt.Scale(domain=[0, top * 1.12]),
    }
    base = alt.Chart(frame).encode(
        x=alt.X("size:N", sort=list(dict.fromkeys(frame["size"])), title="GPUs of the job", axis=alt.Axis(labelAngle=0))
    )
    bars = base.mark_bar().encode(
        y=alt.Y("hours:Q", stack="zero", **y),
        order=alt.Order("order:N"),
        color=alt.Color(
            "order:N",
            sort=list(ORDERS),
            title=None,
            scale=alt.Scale(domain=list(ORDERS), range=[palette.GPU_TIME, palette.ATTEMPTS]),
        ),
        tooltip=[alt.Tooltip("size:N"), alt.Tooltip("order:N"), alt.Tooltip("text:N", title="lost")],
    )
    named = base.transform_filter(f"datum.order == '{ORDERS[0]}'")
    return finish(alt.layer(bars, *labelled(named, "label", dy=-8, y=alt.Y("total:Q", **y))), height=280)
