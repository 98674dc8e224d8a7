"""Where the time of long runs went, and what ETTR a run can expect over checkpoint interval and failure rate."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

import numpy as np

from assets.model.checkpoint import longest_minutes
from assets.model.ettr import expected_ettr_exact
from assets.report import palette
from assets.report.blocks import Figure
from assets.report.charts import (
    INK,
    NAMES_AXIS,
    PICKED,
    Spec,
    at,
    colours,
    figure,
    hover,
    labelled,
    layer,
    name,
    named_ticks,
    pick,
)
from assets.report.numbers import gpus, minutes, share, short
from assets.report.queries import ClusterData, Row
from assets.report.wording import RATE, plural

PARTS = {
    "Progress": "productive", "Checkpoint writes": "write", "Restarts": "restart", "Work lost": "lost_work",
    "Waiting": "queue",
}  # fmt: skip
"""Stems of the columns with the hours of a part and its share."""
MARK = "#111111"
"""Not the ink of a theme: the bars below it are pale in all themes."""
SHADES = dict(zip(PARTS, palette.PARTS_OF_TIME, strict=True))

MINUTES = (5, 10, 15, 30, 45, 60, 90, 120, 180, 240, 360, 480)
RATES = (0.5, 1, 2, 3.5, 5, 6.5, 10, 15, 20, 30, 50)
STEPS = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
BLUES = ["#f7fbff", "#e1ecf7", "#c6dbef", "#9ecae1", "#6baed6", "#3f8fc4", "#1c6bb0"]


def parts_of_time(data: ClusterData) -> Figure | None:
    """Draw the shares of progress, costs and waiting by run size, with a mark at the expected ETTR."""
    rows = [row for row in data.rows("ettr") if row["wallclock_hours"]]
    if not rows:
        return None
    bars = [
        {
            "size": gpus(row["gpu_size_bin"]),
            "part": part,
            "rank": rank,
            "percent": 100 * row[f"{stem}_wallclock_ratio"],
            "hours": row[f"{stem}_hours"],
            "text": f"{share(row[f'{stem}_wallclock_ratio'])}, {short(row[f'{stem}_hours'])} h",
            "expected": None if row["ettr_expected"] is None else 100 * row["ettr_expected"],
            "k": plural(row["run_count"], "run"),
        }
        for row in rows
        for rank, (part, stem) in enumerate(PARTS.items())
    ]
    title = "% of the time; mark: expected ETTR"
    x = {"title": title, "scale": {"domain": [0, 112]}, "axis": {"tickCount": 6}}
    y = name("size", sort=[gpus(row["gpu_size_bin"]) for row in rows], title=None, axis=NAMES_AXIS)
    once = "datum.rank == 0"
    return figure(
        "ettr",
        "Where the time of long runs went, by run size",
        f"Stacked bars at {plural(len(rows), 'size')}: the shares of progress, checkpoint writes, restarts, lost work "
        "and waiting, with a mark at the ETTR that the failure rate predicts. The tables below hold every value.",
        bars,
        {"size": "Size", "part": "Part", "percent": "Share (%)", "hours": "Hours"},
        [
            layer("bar", params=[pick("part")], y=y, x=at("percent", x, stack="zero"), order=at("rank"),
                  opacity=PICKED, color=colours(SHADES, "part", title=None),
                  tooltip=hover(size="size", part="part", text="time")),
            layer("tick", where=f"{once} && isValid(datum.expected)", thickness=3, size=24, color=MARK, y=y,
                  x=at("expected", x)),
            *labelled("k", where=once, dx=4, y=y, x={"datum": 100, **x}),
        ],
        {"step": 28},
        "Figure 9 of the paper. Progress ends at the ETTR of all runs of a size together; long runs weigh more here "
        "than in the means of the table.",
    )  # fmt: skip


def position(value: float, values: Sequence[float]) -> float:
    """Find the place of a value among sorted ones, logarithmically between two of them.

    >>> position(4.0, [1.0, 4.0, 16.0]), position(2.0, [1.0, 4.0, 16.0]), position(0.5, [1.0, 4.0, 16.0])
    (1.0, 0.5, -0.5)
    """
    low = min(max(bisect.bisect_right(values, value) - 1, 0), len(values) - 2)
    return low + math.log(value / values[low]) / math.log(values[low + 1] / values[low])


def ettr_grid(data: ClusterData) -> Figure | None:
    """Shade the expected ETTR of the largest of the cluster's own sizes, and draw the target line of each size."""
    plans = data.rows("checkpoint_plans")
    if not plans or not plans[0]["node_count"]:
        return None
    mine, quoted = plans[0], data.rows("projections")
    sizes = [row for row in quoted if row["node_count"] and (row["is_cluster_size"] or row["is_largest_job"])]
    sizes = sizes or plans[:1]
    first, target = sizes[-1], mine["ettr_target"]
    costs = {name: mine[name] for name in ("restart_minutes", "write_minutes")}
    per_day = first["node_count"] * np.array(RATES) / 1000
    expected = expected_ettr_exact(per_day[:, None], np.array(MINUTES), **costs)
    drawn = [
        {"minutes": MINUTES[x], "rate": RATES[y], "x": x, "y": y, "ettr": value, "label": f"{value:.2f}"}
        for y, of_rate in enumerate(expected.tolist())
        for x, value in enumerate(of_rate)
    ]
    lines = [line for plan in sizes for line in _line(plan, target, costs)]
    marked, reached = _marked(mine), f"an ETTR of {target:g}"
    return figure(
        "ettr-grid",
        f"Expected ETTR of a run of {gpus(first['gpu_count'])}",
        f"Shaded cells over minutes between checkpoints and failure rate; a line for each own size of the cluster is "
        f"the longest interval that reaches {reached}. {'The own rate of this cluster is marked.' if marked else ''}",
        drawn,
        {"rate": "Failures per 1,000 node-days", "minutes": "Minutes between checkpoints", "ettr": "Expected ETTR"},
        _layers(),
        340,
        f"Figure 10 of the paper. Thick lines: the longest interval that reaches {reached}, of runs of "
        f"{', '.join(gpus(row['gpu_count']) for row in reversed(sizes))}, the lowest line first"
        f"{'' if lines else ' (none does)'}. "
        + ("Solid across: this cluster's rate; dashed across: its limits. " if marked else _off_the_grid(mine))
        + f"Assumed: {minutes(mine['restart_minutes'])} to restart, {minutes(mine['write_minutes'])} to write a "
        "checkpoint, no queue.",
        target=lines,
        own=marked,
    )


def _off_the_grid(mine: Row) -> str:
    if mine[RATE] is None or RATES[0] <= mine[RATE] <= RATES[-1]:
        return ""
    return f"This cluster's rate lies {'above' if mine[RATE] > RATES[-1] else 'below'} the figure. "


def _layers() -> list[Spec]:
    """Draw equal cells, the lines of the target, and the cluster's own rate with its limits."""
    x, y = (
        {
            "title": title,
            "scale": {"domain": [-0.5, len(values) - 0.5], "nice": False, "zero": False},
            "axis": named_ticks({f"{value:g}": place for place, value in enumerate(values)}, -0.5, len(values) - 0.5),
        }
        for title, values in (("minutes between checkpoints", MINUTES), ("failures per 1,000 node-days", RATES))
    )
    shade = at("ettr", title="expected ETTR:", legend={"gradientLength": 240},
               scale={"type": "threshold", "domain": STEPS, "range": BLUES})  # fmt: skip
    place: Spec = {"x": at("x", x), "y": at("y", y)}
    line: Spec = {**place, "order": at("y"), "detail": name("size")}
    across: Spec = {"color": INK, "opacity": 0.45, "x": at("left", x), "x2": {"field": "right"}}
    cells = layer("rect", stroke="white", strokeWidth=0.5, x=at("left", x), x2={"field": "right"}, y=at("foot", y),
                  y2={"field": "top"}, color=shade,
                  tooltip=hover(minutes="minutes", rate="per 1,000 node-days", label="ETTR"))  # fmt: skip
    sides = {"left": "datum.x - 0.5", "right": "datum.x + 0.5", "foot": "datum.y - 0.5", "top": "datum.y + 0.5"}
    cells["transform"] = [{"calculate": sum_, "as": side} for side, sum_ in sides.items()]
    ink = {"condition": {"test": "datum.ettr >= 0.9", "value": "#ffffff"}, "value": "#1b1f24"}
    return [
        cells,
        layer("line", "target", strokeWidth=6, color="white", **line),
        layer("line", "target", strokeWidth=3, color=INK, **line),
        layer("rule", "own", strokeWidth=2.5, y=at("y", y), **across),
        *(
            layer("rule", "own", f"isValid(datum.{end})", strokeWidth=1.5, strokeDash=[5, 4], y=at(end, y), **across)
            for end in ("low", "high")
        ),
        layer("text", "own", align="left", dx=6, fontSize=11, fontWeight="bold", color=INK, x={"value": "width"},
              y=at("y", y), text=name("label")),
        layer("text", fontSize=10, **place, text=name("label"), color=ink),
    ]  # fmt: skip


def _line(plan: Row, target: float, costs: dict[str, float]) -> list[Row]:
    """Place the longest interval that reaches the target at each rate, if it is inside the grid."""
    longest = longest_minutes(plan["node_count"] * np.array(RATES) / 1000, target, **costs)
    places = [(y, position(value, MINUTES)) for y, value in enumerate(longest.tolist()) if not math.isnan(value)]
    inside, size = [(x, y) for y, x in places if -0.5 <= x <= len(MINUTES) - 0.5], gpus(plan["gpu_count"])
    return [{"x": x, "y": y, "size": size} for x, y in inside]


def _marked(mine: Row) -> list[Row]:
    """Place the cluster's own rate and its limits that are inside the grid."""
    places = {end: position(mine[RATE + end], RATES) for end in ("", "_low", "_high") if mine.get(RATE + end)}
    inside = {end: place for end, place in places.items() if -0.5 <= place <= len(RATES) - 0.5}
    if "" not in inside:
        return []
    row = {"y": inside[""], "low": inside.get("_low"), "high": inside.get("_high"), "left": -0.5}
    return [row | {"right": len(MINUTES) - 0.5, "label": f"this cluster: {short(mine[RATE])}"}]
