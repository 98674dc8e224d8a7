"""Work lost by job size: stacked bars of first and second order."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from assets.report.figures.style import finish, labelled

SECOND_ORDER = "second order"


def losses(frame: pd.DataFrame, colours: dict[str, str]) -> dict[str, Any]:
    """Draw one stacked bar per job size.

    Parameters
    ----------
    frame
        `size` (text, in order), `part` (a cause, or the second order), `hours`, `total` (of the bar), `label` (what
        stands above it) and `text` (the tooltip).
    colours
        Colour by part, in the order of the legend.
    """
    top = float(frame["total"].max()) or 1.0
    y: dict[str, Any] = {
        "title": "lost GPU-hours",
        "axis": alt.Axis(tickCount=6),
        "scale": alt.Scale(domain=[0, top * 1.12]),
    }
    picked = alt.selection_point(name="picked", fields=["part"], bind="legend")
    base = alt.Chart(frame).encode(
        x=alt.X("size:N", sort=list(dict.fromkeys(frame["size"])), title="GPUs of the job", axis=alt.Axis(labelAngle=0))
    )
    bars = base.mark_bar().encode(
        y=alt.Y("hours:Q", stack="zero", **y),
        color=alt.Color(
            "part:N",
            sort=list(colours),
            title=None,
            scale=alt.Scale(domain=list(colours), range=list(colours.values())),
        ),
        opacity=alt.condition(picked, alt.value(1.0), alt.value(0.12)),
        tooltip=[alt.Tooltip("size:N"), alt.Tooltip("part:N"), alt.Tooltip("text:N", title="lost")],
    )
    named = base.transform_filter(f"datum.part == '{SECOND_ORDER}'")
    return finish(
        alt.layer(bars.add_params(picked), *labelled(named, "label", dy=-8, y=alt.Y("total:Q", **y))), height=280
    )
