"""MTTF against job size, both logarithmic: what was measured, and the line of one constant rate."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from assets.report import palette
from assets.report.figures.style import DURATION_TICKS, SOFT, finish, labelled, named_ticks, zoom

TITLE = "MTTF (log scale)"


def mttf(measured: pd.DataFrame, theory: pd.DataFrame, own_gpu_count: int | None) -> dict[str, Any]:
    """Draw points with intervals, one-sided bounds and the theory line with its band.

    Parameters
    ----------
    measured
        `gpus`, `mttf`, `low`, `high`, `bound` (the lower bound where nothing failed), in hours, `at` (where the label
        stands), `k`, `size`, `text`; what does not apply is NaN.
    theory
        `gpus`, `theory`, `theory_low`, `theory_high`, in hours; may be empty.
    own_gpu_count
        Where to mark the whole cluster.
    """
    values = [measured[name] for name in ("mttf", "low", "high", "bound")]
    hours = pd.concat([*values, theory["theory"]]).dropna()
    low, high = float(hours.min()) / 2, float(hours.max()) * 3
    y: dict[str, Any] = {
        "scale": alt.Scale(type="log", domain=[low, high], nice=False, clamp=True),
        "title": TITLE,
        "axis": named_ticks(DURATION_TICKS, low, high),
    }
    sizes = pd.concat([measured["gpus"], theory["gpus"], pd.Series([own_gpu_count or measured["gpus"].min()])])
    x = _sizes(float(sizes.min()) / 1.4, float(sizes.max()) * 1.6)
    points = alt.Chart(measured).encode(x=x)
    line = alt.Chart(theory).encode(x=x)
    tooltip = [alt.Tooltip("size:N", title="size"), alt.Tooltip("text:N", title="MTTF")]
    layers: list[Any] = [
        line.transform_filter("isValid(datum.theory_low) && isValid(datum.theory_high)")
        .mark_area(color=palette.THEORY, opacity=0.16)
        .encode(y=alt.Y("theory_low:Q", **y), y2="theory_high:Q"),
        line.mark_line(strokeDash=[6, 4], strokeWidth=2, color=palette.THEORY).encode(y=alt.Y("theory:Q", **y)),
        points.transform_filter("isValid(datum.low) && isValid(datum.high)")
        .mark_rule(strokeWidth=1.5, color=palette.MEASURED)
        .encode(y=alt.Y("low:Q", **y), y2="high:Q"),
        points.transform_filter("isValid(datum.mttf)")
        .mark_point(filled=True, size=70, opacity=1, color=palette.MEASURED)
        .add_params(zoom("x", "y"))
        .encode(y=alt.Y("mttf:Q", **y), tooltip=tooltip),
        points.transform_filter("isValid(datum.bound)")
        .mark_point(shape="triangle-up", filled=True, fill="white", size=110, stroke=palette.MEASURED, opacity=1)
        .encode(y=alt.Y("bound:Q", **y), tooltip=tooltip),
        *labelled(points, "k", dx=8, dy=-8, y=alt.Y("at:Q", **y)),
        *(_whole_cluster(own_gpu_count, x) if own_gpu_count else []),
    ]
    return finish(alt.layer(*layers), height=340)


def _sizes(low: float, high: float) -> alt.X:
    ticks = [2**power for power in range(20) if low <= 2**power <= high]
    return alt.X(
        "gpus:Q",
        scale=alt.Scale(type="log", base=2, domain=[low, high], nice=False),
        title="GPUs of the job (log scale)",
        axis=alt.Axis(values=ticks, format="d", labelOverlap="greedy", grid=False),
    )


def _whole_cluster(gpu_count: int, x: alt.X) -> list[alt.Chart]:
    mark = alt.Chart(pd.DataFrame({"gpus": [gpu_count], "label": ["whole cluster"]})).encode(x=x)
    text = mark.mark_text(align="right", dx=-6, fontSize=11, color=SOFT, baseline="top")
    return [mark.mark_rule(color=SOFT, strokeDash=[2, 3]), text.encode(y=alt.value(4), text="label:N")]
