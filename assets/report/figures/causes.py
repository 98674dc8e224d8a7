"""Failure rates by cause: dots with intervals on a logarithmic axis."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from assets.report import palette
from assets.report.figures.style import INK, SOFT, decade_ticks, finish, labelled, named_ticks, names_axis, zoom


def causes(frame: pd.DataFrame) -> dict[str, Any]:
    """Draw the failure rate of each cause as a dot with its interval.

    Parameters
    ----------
    frame
        `label`, `group`, `rate`, `low`, `high` (failures per million GPU-hours; low and high may be missing), `right`
        (where the interval ends), `k` (the label there) and `text` (the tooltip); rows in drawing order.
    """
    groups = [group for group in palette.GROUP_COLOURS if group in set(frame["group"])]
    ends = pd.concat([frame["rate"], frame["low"], frame["high"]]).dropna()
    low, high = float(ends.min()) / 1.3, float(ends.max()) * (float(ends.max()) / float(ends.min())) ** 0.12 * 1.3
    x: dict[str, Any] = {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False),
        "title": "failures per million GPU-hours (log scale)",
        "axis": named_ticks(decade_ticks(low, high), low, high),
    }
    base = alt.Chart(frame).encode(y=alt.Y("label:N", sort=list(frame["label"]), title=None, axis=names_axis()))
    rules = base.mark_rule(strokeWidth=2, color=SOFT).encode(x=alt.X("low:Q", **x), x2="high:Q")
    picked = alt.selection_point(name="picked", fields=["group"], bind="legend")
    dots = base.mark_point(filled=True, size=110, stroke=INK, strokeWidth=0.8, cursor="pointer").encode(
        opacity=alt.condition(picked, alt.value(1.0), alt.value(0.12)),
        x=alt.X("rate:Q", **x),
        fill=alt.Fill(
            "group:N",
            title="where to look:",
            scale=alt.Scale(domain=groups, range=[palette.GROUP_COLOURS[group] for group in groups]),
        ),
        tooltip=[alt.Tooltip("label:N", title="cause"), alt.Tooltip("text:N", title="per million GPU-hours")],
    )
    labels = labelled(base, "k", dx=8, x=alt.X("right:Q", **x))
    return finish(alt.layer(rules, dots.add_params(picked, zoom("x")), *labels), height=alt.Step(26))
