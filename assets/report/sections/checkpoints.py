"""What a large run can expect: ETTR over checkpoint interval and failure rate, and plans at the cluster's own rate."""

from __future__ import annotations

import bisect
import math

from assets.report import palette
from assets.report.blocks import Cell, Figure, Section, Table, Text, section
from assets.report.charts import INK, Spec, at, figure, layer, name, named_ticks, told
from assets.report.numbers import NO_PROGRESS, chance, confidence, duration, gpus, short, whole
from assets.report.queries import Own, Row, grouped
from assets.report.tables import Col, ends, level_of, table
from assets.report.wording import POPULATIONS, RATE, exposure, sentence, span

SHOWN_MINUTES = (5, 15, 30, 60)
STEPS = [0.5, 0.6, 0.7, 0.8, 0.9, 0.95]
BLUES = ["#f7fbff", "#e1ecf7", "#c6dbef", "#9ecae1", "#6baed6", "#3f8fc4", "#1c6bb0"]


def minutes(value: float) -> str:
    """Write a time span given in minutes."""
    return duration(value / 60)


def checkpoints(own: Own) -> Section:
    """Build the section on expected ETTR and checkpoint plans."""
    plans, cells = own.rows("checkpoint_plans"), own.frames["ettr_grid"]
    mine = plans[0] if plans else {}
    return section(
        "checkpoints",
        "Checkpoints: what ETTR a large run without a queue can expect",
        Text(_own_rate(mine, cells), "plain" if mine.get(RATE) else "note"),
        _figure(cells, mine) if cells else None,
        _grid(cells),
        _plans(plans) if mine.get("node_count") is not None or mine.get("mttf_hours_low") is not None else None,
    )


def _own_rate(mine: Row, cells: list[Row]) -> str:
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
    rates = [cell[RATE] for cell in cells]
    if rates and not min(rates) <= mine[RATE] <= max(rates):
        where = "above" if mine[RATE] > max(rates) else "below"
        said += f" That lies {where} the grid of the figure, which therefore does not mark it."
    return said


def position(value: float, values: list[float]) -> float:
    """Find the place of a value among sorted ones, logarithmically between two of them.

    >>> position(4.0, [1.0, 4.0, 16.0]), position(2.0, [1.0, 4.0, 16.0]), position(0.5, [1.0, 4.0, 16.0])
    (1.0, 0.5, -0.5)
    """
    low = min(max(bisect.bisect_right(values, value) - 1, 0), len(values) - 2)
    return low + math.log(value / values[low]) / math.log(values[low + 1] / values[low])


def _figure(cells: list[Row], mine: Row) -> Figure:
    first = cells[0]
    intervals, rates = (sorted({cell[column] for cell in cells}) for column in ("checkpoint_minutes", RATE))
    drawn = [
        {
            "minutes": cell["checkpoint_minutes"],
            "rate": cell[RATE],
            "x": intervals.index(cell["checkpoint_minutes"]),
            "y": rates.index(cell[RATE]),
            "ettr": cell["ettr_expected_exact"],
            "label": f"{cell['ettr_expected_exact']:.2f}",
        }
        for cell in cells
    ]
    target, marked = _target(cells, intervals, rates), _marked(mine, rates, len(intervals))
    reached = f"an ETTR of {first['ettr_target']:g}"
    return figure(
        "ettr-grid",
        f"Expected ETTR of a run of {gpus(first['gpu_count'])}",
        f"Shaded cells over minutes between checkpoints and failure rate; the line is the longest interval that "
        f"reaches {reached}. {'The own rate of this cluster is marked.' if marked else 'No own rate is marked.'} "
        "The table below holds the values.",
        drawn,
        {"rate": "Failures per 1,000 node-days", "minutes": "Minutes between checkpoints", "ettr": "Expected ETTR"},
        _layers(intervals, rates),
        340,
        f"Thick line: the longest interval that reaches {reached}"
        f"{'' if target else ' (no rate of the grid does)'}. Black: this cluster's rate and its limits. Assumed: "
        f"{first['restart_minutes']:g} min to restart, {_cost(first['write_minutes'])} to write a checkpoint, no "
        "queue. The grid rests on no data.",
        target=target,
        own=marked,
    )


def _layers(intervals: list[float], rates: list[float]) -> list[Spec]:
    """Draw cells that are all alike, the line of the target, and the cluster's own rate with its limits."""
    x, y = (
        {
            "title": title,
            "scale": {"domain": [-0.5, len(values) - 0.5], "nice": False, "zero": False},
            "axis": named_ticks({f"{value:g}": place for place, value in enumerate(values)}, -0.5, len(values) - 0.5),
        }
        for title, values in (("minutes between checkpoints", intervals), ("failures per 1,000 node-days", rates))
    )
    shade = at("ettr", title="expected ETTR:", legend={"gradientLength": 240},
               scale={"type": "threshold", "domain": STEPS, "range": BLUES})  # fmt: skip
    place: Spec = {"x": at("x", x), "y": at("y", y)}
    line: Spec = {**place, "order": at("y")}
    across: Spec = {"color": INK, "opacity": 0.45, "x": at("left", x), "x2": {"field": "right"}}
    cells = layer("rect", stroke="white", strokeWidth=0.5, x=at("left", x), x2={"field": "right"}, y=at("foot", y),
                  y2={"field": "top"}, color=shade,
                  tooltip=told(minutes="minutes", rate="per 1,000 node-days", label="ETTR"))  # fmt: skip
    sides = {"left": "datum.x - 0.5", "right": "datum.x + 0.5", "foot": "datum.y - 0.5", "top": "datum.y + 0.5"}
    cells["transform"] = [{"calculate": sum_, "as": side} for side, sum_ in sides.items()]
    ink = {"condition": {"test": "datum.ettr >= 0.9", "value": "#ffffff"}, "value": "#1b1f24"}
    return [
        cells,
        layer("line", "target", strokeWidth=6, color="white", **line),
        layer("line", "target", strokeWidth=3, color=palette.GROUP_COLOURS["GPU"], **line),
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


def _target(cells: list[Row], intervals: list[float], rates: list[float]) -> list[Row]:
    longest = {cell[RATE]: cell["checkpoint_minutes_longest"] for cell in cells}
    points = [
        {"x": position(value, intervals), "y": rates.index(rate), "minutes": value, "rate": rate}
        for rate, value in sorted(longest.items())
        if value is not None
    ]
    return [point for point in points if -0.5 <= point["x"] <= len(intervals) - 0.5]


def _marked(mine: Row, rates: list[float], columns: int) -> list[Row]:
    """Place the cluster's own rate and its limits, those inside the grid."""
    places = {end: position(mine[RATE + end], rates) for end in ("", "_low", "_high") if mine.get(RATE + end)}
    inside = {end: place for end, place in places.items() if -0.5 <= place <= len(rates) - 0.5}
    if "" not in inside or not rates[0] <= mine[RATE] <= rates[-1]:
        return []
    row = {"y": inside[""], "low": inside.get("_low"), "high": inside.get("_high"), "left": -0.5}
    return [row | {"right": columns - 0.5, "label": f"this cluster: {short(mine[RATE])}"}]


def _grid(cells: list[Row]) -> Table | None:
    known = {cell["checkpoint_minutes"] for cell in cells}
    shown = [f"{interval:g}" for interval in SHOWN_MINUTES if interval in known]
    rows = []
    for _, of_rate in sorted(grouped(cells, RATE).items()):
        by_interval = {f"{cell['checkpoint_minutes']:g}": cell["ettr_expected_exact"] for cell in of_rate}
        rows.append(dict.fromkeys(shown) | of_rate[0] | by_interval)
    target = f"{cells[0]['ettr_target']:g}" if cells else ""
    return table(
        f"Expected ETTR of a run of {gpus(cells[0]['gpu_count'])}" if cells else "",
        rows,
        (
            Col("#Failures per 1,000 node-days", RATE, short),
            Col("#MTTF of the run", "mttf_hours", duration),
            *(Col(f"#Every {interval} min", interval, short, unknown="not computed") for interval in shown),
            Col(f"#Longest interval for {target}", "checkpoint_minutes_longest", minutes, unknown="not reached by any"),
        ),
        is_collapsed=True,
    )


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
