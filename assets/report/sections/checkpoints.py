"""What a large run can expect: ETTR over checkpoint interval and failure rate, and plans at the cluster's own rate."""

from __future__ import annotations

import math
from itertools import pairwise

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
    blocks: list[Block] = [Text(_own_rate(own, cells), "plain" if own.get("event_count") else "note")]
    if cells:
        blocks += [_figure(cells, own), _grid(cells)]
    if own.get("node_count") is not None or own.get("mttf_hours_low") is not None:
        blocks.append(_plans(plans))
    return Section("checkpoints", TITLE, tuple(blocks))


def _own_rate(own: Row, cells: list[Row]) -> str:
    if not own:
        return "There is no failure rate to plan with."
    if not own["event_count"]:
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


def _edges(values: list[float]) -> dict[float, tuple[float, float]]:
    """Set the borders of each value half way to its neighbours on a logarithmic axis.

    >>> [(round(a, 2), round(b, 2)) for a, b in _edges([1.0, 4.0]).values()]
    [(0.5, 2.0), (2.0, 8.0)]
    """
    inner = [math.sqrt(left * right) for left, right in pairwise(values)]
    ends = [values[0] ** 2 / inner[0], *inner, values[-1] ** 2 / inner[-1]]
    return {value: (ends[number], ends[number + 1]) for number, value in enumerate(values)}


def _figure(cells: list[Row], own: Row) -> Figure:
    first = cells[0]
    minutes = _edges(sorted({cell["checkpoint_minutes"] for cell in cells}))
    rates = _edges(sorted({cell["failures_per_1000_node_days"] for cell in cells}))
    frame = pd.DataFrame([
        {
            "minutes": cell["checkpoint_minutes"],
            "minutes_from": minutes[cell["checkpoint_minutes"]][0],
            "minutes_to": minutes[cell["checkpoint_minutes"]][1],
            "rate": cell["failures_per_1000_node_days"],
            "rate_from": rates[cell["failures_per_1000_node_days"]][0],
            "rate_to": rates[cell["failures_per_1000_node_days"]][1],
            "ettr": cell["ettr_expected_exact"],
            "label": f"{cell['ettr_expected_exact']:.2f}",
        }
        for cell in cells
    ])  # fmt: skip
    target, marked = _target(cells, frame), _marked(own, frame)
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


def _target(cells: list[Row], frame: pd.DataFrame) -> pd.DataFrame:
    low, high = float(frame["minutes_from"].min()), float(frame["minutes_to"].max())
    line = {
        cell["failures_per_1000_node_days"]: cell["checkpoint_minutes_longest"]
        for cell in cells
        if cell["checkpoint_minutes_longest"] is not None and low <= cell["checkpoint_minutes_longest"] <= high
    }
    return pd.DataFrame([{"rate": rate, "minutes": value} for rate, value in sorted(line.items())])


def _marked(own: Row, frame: pd.DataFrame) -> pd.DataFrame:
    low, high = float(frame["rate_from"].min()), float(frame["rate_to"].max())
    rate = own.get("failures_per_1000_node_days")
    if rate is None or not low <= rate <= high:
        return pd.DataFrame()
    ends = {name: own[f"failures_per_1000_node_days_{name}"] for name in ("low", "high")}
    inside = {name: end if end is not None and low <= end <= high else None for name, end in ends.items()}
    row_ = {"rate": rate, "label": f"this cluster: {short(rate)}", **inside}
    return pd.DataFrame([row_]).astype({"low": "float64", "high": "float64"})


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
