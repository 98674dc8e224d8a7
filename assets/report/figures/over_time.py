"""Failure rate over time, stacked by cause, with what changed marked and named above."""

from __future__ import annotations

from typing import Any

import altair as alt
import pandas as pd

from assets.report.figures.style import INK, SOFT, finish, zoom

CHARACTER_SHARE = 1 / 150  # of the width of the chart, for a label's letter
LANES = 6
RIM_AND_INK = ({"color": "white", "stroke": "white", "strokeWidth": 3, "strokeJoin": "round"}, {"color": INK})


def over_time(
    stacks: pd.DataFrame, totals: pd.DataFrame, colours: dict[str, str], marks: pd.DataFrame
) -> dict[str, Any]:
    """Draw the stacked rates, and a vertical line for every mark.

    Parameters
    ----------
    stacks
        `day`, `label` (the cause), `low`, `high` (where its layer lies, failures per 1,000 node-days), `rate` and
        `span` (number of a run of days without a gap).
    totals
        `day`, `rate` of all causes, `low`, `high`, `text` (the tooltip) and `span`.
    colours
        Colour by label, in the order of the legend.
    marks
        `day`, `kind` (check, annotation or change) and `label`; may be empty.
    """
    days = pd.concat([stacks["day"], marks["day"]])
    first, last = days.min(), days.max()
    laned = with_lanes(marks, first, last)
    top = float(totals["high"].max()) or 1.0
    lanes = int(laned["lane"].max()) + 1 if len(laned) else 0
    x = alt.X(
        "day:T",
        scale=alt.Scale(nice=False),
        title=None,
        axis=alt.Axis(format="%Y-%m-%d", labelOverlap=True, grid=False, tickCount=8, labelFlush=True),
    )
    y: dict[str, Any] = {
        "scale": alt.Scale(domain=[0, top * (1.04 + 0.09 * lanes)], nice=False),
        "title": "failures per 1,000 node-days, trailing 30 days",
    }
    picked = alt.selection_point(name="picked", fields=["label"], bind="legend")
    layers: list[Any] = [
        alt.Chart(stacks)
        .mark_area(stroke="white", strokeWidth=0.6)
        .add_params(picked, zoom("x"))
        .encode(
            opacity=alt.condition(picked, alt.value(1.0), alt.value(0.12)),
            x=x,
            y=alt.Y("low:Q", **y),
            y2="high:Q",
            detail="span:N",
            fill=alt.Fill(
                "label:N",
                title=None,
                sort=list(colours),
                scale=alt.Scale(domain=list(colours), range=list(colours.values())),
                legend=alt.Legend(columns=4, labelLimit=260),
            ),
            tooltip=[
                alt.Tooltip("day:T", title="30 days to", format="%Y-%m-%d"),
                alt.Tooltip("label:N", title="cause"),
                alt.Tooltip("rate:Q", title="per 1,000 node-days", format=".3~g"),
            ],
        )
    ]
    whole = alt.Chart(totals).encode(x=x, detail="span:N")
    tooltip = [alt.Tooltip("day:T", title="30 days to", format="%Y-%m-%d"), alt.Tooltip("text:N", title="all causes")]
    layers += [
        whole.mark_area(color=INK, opacity=0.12).encode(y=alt.Y("low:Q", **y), y2="high:Q"),
        whole.mark_line(color=INK, strokeWidth=1.5).encode(y=alt.Y("rate:Q", **y)),
        whole.mark_point(opacity=0, filled=True, size=160).encode(y=alt.Y("rate:Q", **y), tooltip=tooltip),
    ]
    if len(laned):
        laned = laned.assign(at=[top * (1.06 + 0.09 * lane) for lane in laned["lane"]])
        layers.extend(_marks(laned, x, y))
    return finish(alt.layer(*layers), height=300 + 22 * lanes)


def with_lanes(marks: pd.DataFrame, first: pd.Timestamp, last: pd.Timestamp) -> pd.DataFrame:
    """Put every label into the lowest lane where it covers no other one; those near the right end run leftwards.

    A label that no lane has room for is not written: its line stays, and the table beside the chart names it.

    >>> marks = pd.DataFrame({"day": pd.to_datetime(["2026-01-01", "2026-01-02"]), "label": ["driver", "disk"]})
    >>> list(with_lanes(marks, pd.Timestamp("2026-01-01"), pd.Timestamp("2026-02-01"))["lane"])
    [0, 1]
    """
    length = max((last - first) / pd.Timedelta(days=1), 1.0)
    taken: list[list[tuple[float, float]]] = [[] for _ in range(LANES)]
    lanes, leftward, shown = [], [], []
    for day, label in zip(marks["day"], marks["label"], strict=True):
        start, width = (day - first) / pd.Timedelta(days=1) / length, CHARACTER_SHARE * (len(label) + 2)
        runs_left = start + width > 1
        ends = (start - width, start) if runs_left else (start, start + width)
        free = (lane for lane in range(LANES) if all(ends[1] < a or ends[0] > b for a, b in taken[lane]))
        lane = next(free, None)
        if lane is not None:
            taken[lane].append(ends)
        lanes.append(LANES - 1 if lane is None else lane)
        leftward.append(runs_left)
        shown.append("" if lane is None else label)
    return marks.assign(lane=lanes, is_leftward=leftward, shown=shown)


def _marks(marks: pd.DataFrame, x: alt.X, y: dict[str, Any]) -> list[alt.Chart]:
    # The lines begin at the foot of the chart and end at their label.
    base = alt.Chart(marks).encode(x=x)
    styles = {"check": (SOFT, [5, 3], 1.4), "annotation": (SOFT, [1, 3], 1.6), "change": (INK, [1, 0], 2.2)}
    rules = [
        base.transform_filter(f"datum.kind == '{kind}'")
        .mark_rule(color=colour, strokeDash=dash, strokeWidth=width)
        .encode(y=alt.Y("foot:Q", **y), y2="at:Q", tooltip=[alt.Tooltip("day:T", format="%Y-%m-%d"), "label:N"])
        for kind, (colour, dash, width) in styles.items()
        if kind in set(marks["kind"])
    ]
    texts = [
        base.transform_filter(f"datum.is_leftward == {str(is_leftward).lower()}")
        .mark_text(align="right" if is_leftward else "left", dx=-4 if is_leftward else 4, fontSize=11, **ink)
        .encode(y=alt.Y("at:Q", **y), text="shown:N")
        for is_leftward in (False, True)
        if is_leftward in set(marks["is_leftward"])
        for ink in RIM_AND_INK
    ]
    return [*rules, *texts]
