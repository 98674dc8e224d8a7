"""What a large run can expect: ETTR over checkpoint interval and failure rate, and plans at the cluster's own rate."""

from __future__ import annotations

import bisect
import math

import pandas as pd

from assets.report.blocks import Block, Cell, Figure, Section, Table, Text, columns, row
from assets.report.figures.ettr_grid import ettr_grid as draw
from assets.report.numbers import NO_PROGRESS, chance, confidence, duration, gpus, short, whole
from assets.report.queries import Frames, Row, of_cluster
from assets.report.wording import POPULATIONS, exposure, hours_span, sentence, span

TITLE = "Checkpoints: what ETTR a large run can expect"
SHOWN_MINUTES = (5, 15, 30, 60)


def checkpoints(frames: Frames, cluster: Row) -> Section:
    """Build the section on expected ETTR and checkpoint plans."""
    plans = of_cluster(frames, "checkpoint_plans", cluster["cluster_id"])
    cells = list(frames["ettr_grid"])
    own = plans[0] if plans else {}
    blocks: list[Block] = [Text(_own_rate(own, cells), "plain" if own.get("failures_per_1000_node_days") else "note")]
    if cells:
        blocks += [_figure(cells, own), _grid(cells)]
    if own.get("node_count") is not None or own.get("mttf_hours_low") is not None:
        blocks.append(_plans(plans))
    return Section("checkpoints", TITLE, tuple(blocks))


def _own_rate(own: Row, cells: list[Row]) -> str:
    if not own:
        return "There is no failure rate to plan with."
    if not own["event_count"] or own["failures_per_1000_node_days"] is None:
        high = own["failures_per_1000_node_days_high"]
        bound = f": the rate is below {short(high)} per {whole(1000)} node-days" if high is not None else ""
        return f"There is no failure rate to plan with, {own['note'] or 'nothing failed'}{bound}."
    rate = own["failures_per_1000_node_days"]
    said = (
        f"This cluster fails {short(rate)} times per {whole(1000)} node-days "
        f"({span(own['failures_per_1000_node_days_low'], own['failures_per_1000_node_days_high'])}, "
        f"{confidence(own['confidence_level'])}; {exposure(own['event_count'], own['exposure'], 'node-days')})."
    )
    rates = [cell["failures_per_1000_node_days"] for cell in cells]
    if rates and not min(rates) <= rate <= max(rates):
        where = "above" if rate > max(rates) else "below"
        said += f" That lies {where} the grid of the figure, which therefore does not mark it."
    return said


def position(value: float, values: list[float]) -> float:
    """Find the place of a value among sorted ones, logarithmically between two of them.

    >>> position(4.0, [1.0, 4.0, 16.0]), position(2.0, [1.0, 4.0, 16.0]), position(0.5, [1.0, 4.0, 16.0])
    (1.0, 0.5, -0.5)
    """
    low = min(max(bisect.bisect_right(values, value) - 1, 0), len(values) - 2)
    return low + math.log(value / values[low]) / math.log(values[low + 1] / values[low])


def _figure(cells: list[Row], own: Row) -> Figure:
    first = cells[0]
    minutes = sorted({cell["checkpoint_minutes"] for cell in cells})
    rates = sorted({cell["failures_per_1000_node_days"] for cell in cells})
    frame = pd.DataFrame([
        {
            "minutes": cell["checkpoint_minutes"],
            "rate": cell["failures_per_1000_node_days"],
            "x": minutes.index(cell["checkpoint_minutes"]),
            "y": rates.index(cell["failures_per_1000_node_days"]),
            "ettr": cell["ettr_expected_exact"],
            "label": f"{cell['ettr_expected_exact']:.2f}",
        }
        for cell in cells
    ])  # fmt: skip
    target, marked = _target(cells, minutes, rates), _marked(own, rates)
    reached = f"an ETTR of {first['ettr_target']:g}"
    return Figure(
        "ettr-grid",
        f"Expected ETTR of a run of {gpus(first['gpu_count'])}",
        f"Shaded cells over minutes between checkpoints and failure rate; the line is the longest interval that "
        f"reaches {reached}. {'The own rate of this cluster is marked.' if len(marked) else 'No own rate is marked.'} "
        "The table below holds the values.",
        draw(frame, target, marked),
        note=f"Thick line: the longest interval that reaches {reached}"
        f"{'' if len(target) else ' (no rate of the grid does)'}. Black: this cluster's rate and its limits. "
        f"Assumed: {first['restart_minutes']:g} min to restart, {_cost(first['write_minutes'])} to write a checkpoint, "
        "no queue. The grid rests on no data.",
    )


def _cost(minutes: float) -> str:
    return f"{60 * minutes:.0f} s" if minutes < 1 else f"{minutes:g} min"


def _target(cells: list[Row], minutes: list[float], rates: list[float]) -> pd.DataFrame:
    longest = {cell["failures_per_1000_node_days"]: cell["checkpoint_minutes_longest"] for cell in cells}
    points = [
        {"x": position(value, minutes), "y": float(rates.index(rate)), "minutes": value, "rate": rate}
        for rate, value in sorted(longest.items())
        if value is not None
    ]
    return pd.DataFrame([point for point in points if -0.5 <= point["x"] <= len(minutes) - 0.5])


def _marked(own: Row, rates: list[float]) -> pd.DataFrame:
    rate = own.get("failures_per_1000_node_days")
    places = {
        end: position(value, rates) if (value := own.get(f"failures_per_1000_node_days{end}")) else None
        for end in ("", "_low", "_high")
    }
    inside = {end: place for end, place in places.items() if place is not None and -0.5 <= place <= len(rates) - 0.5}
    if rate is None or "" not in inside or not rates[0] <= rate <= rates[-1]:
        return pd.DataFrame()
    row_ = {"y": inside[""], "low": inside.get("_low"), "high": inside.get("_high")}
    frame = pd.DataFrame([row_ | {"label": f"this cluster: {short(rate)}"}])
    return frame.astype({"low": "float64", "high": "float64"})


def _grid(cells: list[Row]) -> Table:
    known = {cell["checkpoint_minutes"] for cell in cells}
    minutes = [interval for interval in SHOWN_MINUTES if interval in known]
    by_rate: dict[float, dict[float, Row]] = {}
    for cell in cells:
        by_rate.setdefault(cell["failures_per_1000_node_days"], {})[cell["checkpoint_minutes"]] = cell
    first = cells[0]
    return Table(
        f"Expected ETTR of a run of {gpus(first['gpu_count'])}",
        columns(
            "#Failures per 1,000 node-days",
            "#MTTF of the run",
            *(f"#Every {interval} min" for interval in minutes),
            f"#Longest interval for {first['ettr_target']:g}",
        ),
        tuple(
            row(
                short(rate),
                duration(next(iter(own.values()))["mttf_hours"]),
                *(
                    short(own[interval]["ettr_expected_exact"]) if interval in own else "not computed"
                    for interval in minutes
                ),
                _longest(next(iter(own.values()))),
            )
            for rate, own in sorted(by_rate.items())
        ),
        is_collapsed=True,
    )


def _longest(cell: Row) -> str:
    found = cell["checkpoint_minutes_longest"]
    return "not reached by any" if found is None else duration(found / 60)


def _plans(plans: list[Row]) -> Table:
    first = plans[0]
    target, notes = f"{first['ettr_target']:g}", sorted({plan["note"] for plan in plans if plan["note"]})
    return Table(
        "Checkpoint plans at this cluster's rate",
        columns(
            "Size", "#MTTF", "#Young", "#Daly", "#Optimal interval", "#ETTR with it", f"#Probability of ETTR {target}"
        ),
        tuple(
            row(
                gpus(plan["gpu_count"]),
                Cell(duration(plan["mttf_hours"]) if plan["mttf_hours"] else _bound(plan), detail=_mttf_span(plan)),
                _minutes(plan["checkpoint_minutes_young"]),
                _minutes(plan["checkpoint_minutes_daly"]),
                Cell(
                    _minutes(plan["checkpoint_minutes_optimal"]),
                    detail=_minutes_span(
                        plan["checkpoint_minutes_optimal_low"], plan["checkpoint_minutes_optimal_high"]
                    ),
                ),
                _ettr(plan),
                chance(plan["probability_ettr_ge_target"]),
            )
            for plan in plans
        ),
        note=f"Runs that hold their nodes for {first['planned_days']:g} days without queue, by the rate of "
        f"{POPULATIONS.get(first['population'], 'no population')}, "
        f"{exposure(first['event_count'], first['exposure'], 'node-days')}; small print: limits at "
        f"{confidence(first['confidence_level'])} from that rate. "
        f"Assumed: {first['restart_minutes']:g} min to restart, "
        f"{_cost(first['write_minutes'])} to write a checkpoint that stops the work. "
        + (f"{sentence('; '.join(notes))} " if notes else "")
        + "For any other run: `faultline plan`.",
    )  # fmt: skip


def _ettr(plan: Row) -> Cell:
    value, low, high = (plan[f"ettr_optimal{end}"] for end in ("", "_low", "_high"))
    if high is not None and high < NO_PROGRESS:
        return Cell(f"under {NO_PROGRESS:g}", detail="no progress")
    return Cell(
        short(value) if value is None or value >= NO_PROGRESS else f"under {NO_PROGRESS:g}", detail=span(low, high)
    )


def _bound(plan: Row) -> str:
    return f"above {duration(plan['mttf_hours_low'])}" if plan["mttf_hours_low"] is not None else "unknown"


def _mttf_span(plan: Row) -> str:
    return hours_span(plan["mttf_hours_low"], plan["mttf_hours_high"]) if plan["event_count"] else "none failed"


def _minutes(value: float | None) -> str:
    return duration(None if value is None else value / 60)


def _minutes_span(low: float | None, high: float | None) -> str:
    return hours_span(None if low is None else low / 60, None if high is None else high / 60)
