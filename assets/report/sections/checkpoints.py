"""What a large run can expect: ETTR over checkpoint interval and failure rate, and plans at the cluster's own rate."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence

import numpy as np

from assets.model.checkpoint import longest_minutes
from assets.model.ettr import expected_ettr_exact
from assets.report.blocks import Cell, Figure, Section, Table, Text, section
from assets.report.charts import INK, Spec, at, figure, hover, layer, name, named_ticks
from assets.report.numbers import NO_PROGRESS, chance, confidence, duration, gpus, short, whole
from assets.report.queries import Own, Row
from assets.report.tables import Col, ends, level_of, table
from assets.report.wording import POPULATIONS, RATE, exposure, sentence, span

MINUTES = (5, 10, 15, 30, 45, 60, 90, 120, 180, 240, 360, 480)
RATES = (0.5, 1, 2, 3.5, 5, 6.5, 10, 15, 20, 30, 50)
STEPS = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
BLUES = ["#f7fbff", "#e1ecf7", "#c6dbef", "#9ecae1", "#6baed6", "#3f8fc4", "#1c6bb0"]


def minutes(value: float) -> str:
    """Write a time span given in minutes."""
    return duration(value / 60)


def checkpoints(own: Own) -> Section:
    """Build the section on expected ETTR and checkpoint plans."""
    plans = own.rows("checkpoint_plans")
    mine = plans[0] if plans else {}
    quoted = [row for row in own.rows("projections") if row["is_cluster_size"] or row["is_largest_job"]]
    sizes = [row for row in quoted if row["node_count"]] or plans[:1]
    return section(
        "checkpoints",
        "Checkpoints: what ETTR a large run without a queue can expect",
        Text(_own_rate(mine), "plain" if mine.get(RATE) else "note"),
        _figure(sizes, mine) if plans and mine["node_count"] else None,
        _plans(plans) if mine.get(RATE) is not None or mine.get("mttf_hours_low") is not None else None,
    )


def _own_rate(mine: Row) -> str:
    if not mine:
        return "There is no failure rate to plan with."
    if not mine["event_count"] or mine[RATE] is None:
        high = mine[f"{RATE}_high"]
        bound = f": the rate is below {short(high)} per {whole(1000)} node-days" if high is not None else ""
        return f"There is no failure rate to plan with, {mine['note'] or 'nothing failed'}{bound}."
    said = (
        f"This cluster fails {short(mine[RATE])} times per {whole(1000)} node-days ({ends(mine, RATE)}, "
        f"{confidence(mine['confidence_level'])}; {exposure(mine['event_count'], mine['exposure'])})."
    )
    if not RATES[0] <= mine[RATE] <= RATES[-1]:
        said += f" That lies {'above' if mine[RATE] > RATES[-1] else 'below'} the figure, which does not mark it."
    return said


def position(value: float, values: Sequence[float]) -> float:
    """Find the place of a value among sorted ones, logarithmically between two of them.

    >>> position(4.0, [1.0, 4.0, 16.0]), position(2.0, [1.0, 4.0, 16.0]), position(0.5, [1.0, 4.0, 16.0])
    (1.0, 0.5, -0.5)
    """
    low = min(max(bisect.bisect_right(values, value) - 1, 0), len(values) - 2)
    return low + math.log(value / values[low]) / math.log(values[low + 1] / values[low])


def _figure(sizes: list[Row], mine: Row) -> Figure:
    """Shade what the largest of the cluster's own sizes can expect, and draw the line of the target for each."""
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
        f"Thick lines: the longest interval that reaches {reached}, of runs of "
        f"{', '.join(gpus(row['gpu_count']) for row in reversed(sizes))}, the lowest line first"
        f"{'' if lines else ' (none does)'}. "
        + ("Solid across: this cluster's rate; dashed across: its limits. " if marked else "")
        + f"Assumed: {mine['restart_minutes']:g} min to restart, {_cost(mine['write_minutes'])} to write a "
        "checkpoint, no queue.",
        target=lines,
        own=marked,
    )


def _layers() -> list[Spec]:
    """Draw cells that are all alike, the lines of the target, and the cluster's own rate with its limits."""
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


def _cost(value: float) -> str:
    return f"{60 * value:.0f} s" if value < 1 else f"{value:g} min"


def _line(plan: Row, target: float, costs: dict[str, float]) -> list[Row]:
    """Place the longest interval that reaches the target at each rate, those inside the grid."""
    longest = longest_minutes(plan["node_count"] * np.array(RATES) / 1000, target, **costs)
    places = [(y, position(value, MINUTES)) for y, value in enumerate(longest.tolist()) if not math.isnan(value)]
    inside, size = [(x, y) for y, x in places if -0.5 <= x <= len(MINUTES) - 0.5], gpus(plan["gpu_count"])
    return [{"x": x, "y": y, "size": size} for x, y in inside]


def _marked(mine: Row) -> list[Row]:
    """Place the cluster's own rate and its limits, those inside the grid."""
    places = {end: position(mine[RATE + end], RATES) for end in ("", "_low", "_high") if mine.get(RATE + end)}
    inside = {end: place for end, place in places.items() if -0.5 <= place <= len(RATES) - 0.5}
    if "" not in inside:
        return []
    row = {"y": inside[""], "low": inside.get("_low"), "high": inside.get("_high"), "left": -0.5}
    return [row | {"right": len(MINUTES) - 0.5, "label": f"this cluster: {short(mine[RATE])}"}]


def _mttf(plan: Row) -> Cell:
    said = ends(plan, "mttf_hours", duration) if plan["event_count"] else "none failed"
    if plan["mttf_hours"]:
        return Cell(duration(plan["mttf_hours"]), detail=said)
    low = plan["mttf_hours_low"]
    return Cell(f"above {duration(low)}" if low is not None else "unknown", detail=said)


def _ettr(plan: Row) -> Cell:
    value, low, high = (plan[f"ettr_optimal{end}"] for end in ("", "_low", "_high"))
    under = f"under {NO_PROGRESS:g}"
    if high is not None and high < NO_PROGRESS:
        return Cell(under, detail="no progress")
    return Cell(short(value) if value is None or value >= NO_PROGRESS else under, detail=span(low, high))


def _plans(plans: list[Row]) -> Table | None:
    first = plans[0]
    notes = sorted({plan["note"] for plan in plans if plan["note"]})
    best = "checkpoint_minutes_optimal"
    return table(
        "Checkpoint plans at this cluster's rate",
        plans,
        (
            Col("Size", "gpu_count", gpus),
            Col("#MTTF", _mttf),
            Col("#Young", "checkpoint_minutes_young", minutes),
            Col("#Daly", "checkpoint_minutes_daly", minutes),
            Col("#Optimal interval", best, minutes, detail=lambda row: ends(row, best, minutes)),
            Col("#ETTR with it", _ettr),
            Col(f"#Probability of ETTR {first['ettr_target']:g}", "probability_ettr_ge_target", chance),
        ),
        f"Runs that hold their nodes for {first['planned_days']:g} days without queue, by the rate of "
        f"{POPULATIONS.get(first['population'], 'no population')}, "
        f"{exposure(first['event_count'], first['exposure'])}; small print: limits at {level_of(plans)} from that "
        f"rate. Assumed: {first['restart_minutes']:g} min to restart, {_cost(first['write_minutes'])} to write a "
        "checkpoint that stops the work. "
        + (f"{sentence('; '.join(notes))} " if notes else "")
        + "For any other run: `faultline plan`.",
    )
