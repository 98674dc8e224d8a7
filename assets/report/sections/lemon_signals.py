"""The seven signals of a lemon: how they spread over the fleet, and where they stand out."""

from __future__ import annotations

import pandas as pd

from assets.report.blocks import Block, Cell, Figure, Multiples, Table, Text, columns, row
from assets.report.figures.lemons import lemons as draw
from assets.report.numbers import UNKNOWN, printable, share, short, whole
from assets.report.queries import Row
from assets.report.wording import plural

MEANINGS = {
    "excl_jobid_count": "jobs that exclude the node",
    "xid_cnt": "different Xid codes",
    "tickets": "repair tickets",
    "out_count": "times out of service by faults",
    "multi_node_node_fails": "failures of jobs on several nodes",
    "single_node_node_fails": "failures of jobs on it alone",
    "single_node_node_failure_rate": "share of jobs on it alone that failed",
}


def signals(steps: list[Row]) -> list[Block]:
    """Build figure and table of the signals on the last day."""
    if not steps:
        return [Text("No signal of any node is known.", "note")]
    by_signal: dict[str, list[Row]] = {name: [] for name in MEANINGS}
    for step in steps:
        by_signal[step["signal"]].append(step)
    drawn = {name: own for name, own in by_signal.items() if own and own[-1]["largest"]}
    return [*([_figures(drawn)] if drawn else []), _table(by_signal)]


def _figures(drawn: dict[str, list[Row]]) -> Multiples:
    return Multiples(
        "How the signals spread over the nodes",
        tuple(_figure(name, steps) for name, steps in drawn.items()),
        note="A line that is near 100% on the left has few nodes with large values. Dots: nodes called lemons, by "
        "name. Signals that are unknown, or 0 at every node, have no figure.",
    )


def _figure(name: str, steps: list[Row]) -> Figure:
    written = _written(steps)
    frame = pd.DataFrame([
        {
            "value": step["value"],
            "percent": 100 * step["at_most_ratio"],
            "names": _names(step["lemon_names"]),
            "written": _names(step["lemon_names"]) if step["value"] in written else "",
            "text": f"{short(step['value'])} at {plural(step['node_count'], 'node')}, "
            f"{plural(step['lemon_count'], 'lemon')} among them",
        }
        for step in steps
    ])  # fmt: skip
    marked = [step for step in steps if step["lemon_count"]]
    where = "; ".join(f"{_names(step['lemon_names'])} at {short(step['value'])}" for step in marked)
    return Figure(
        f"lemon-signal-{name}",
        MEANINGS[name],
        f"Share of the nodes with at most so many: {MEANINGS[name]}. Lemons: {where or 'none'}. The table below holds "
        "median, quantiles and limit.",
        draw(frame),
    )


def _written(steps: list[Row]) -> set[float]:
    """Choose the lemons whose names have room beside each other, those of the largest values first."""
    top, chosen = steps[-1]["value"] or 1.0, [2 * (steps[-1]["value"] or 1.0)]
    for step in reversed(steps):
        if step["lemon_count"] and 0.3 * top < step["value"] < chosen[-1] - 0.35 * top:
            chosen.append(step["value"])
    return set(chosen[1:])


def _names(names: list[str] | None) -> str:
    shown = ", ".join(printable(name, 16) for name in (names or [])[:1])
    return shown + (f" +{len(names) - 1}" if names and len(names) > 1 else "")


def _table(by_signal: dict[str, list[Row]]) -> Table:
    return Table(
        "Signals of the nodes",
        columns(
            "Signal", "#Nodes known", "#Median", "#90% of nodes", "#99% of nodes", "#Largest", "Limit", "#Nodes above"
        ),
        tuple(_line(name, own) for name, own in by_signal.items()),
        note="Over the days before the last one that the configuration asks for, 28 by default. 90% and 99% of the "
        "nodes have at most the value given. A node stands out above the 99% value and with 2 or more, or from a "
        "configured limit on; one signal alone makes no lemon.",
    )


def _line(name: str, own: list[Row]) -> tuple[Cell, ...]:
    label = Cell(MEANINGS[name], detail=name)
    if not own:
        return row(label, "0", UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, "no source tells", UNKNOWN)
    first = own[0]
    values = [_value(name, first[column]) for column in ("median_value", "value_90", "value_99", "largest")]
    limit = (
        "the fleet's 99%" if first["configured_limit"] is None else f"{short(first['configured_limit'])} (configured)"
    )
    return row(label, whole(first["known_count"]), *values, limit, whole(first["above_count"]))


def _value(name: str, value: float) -> str:
    return share(value) if name == "single_node_node_failure_rate" else short(value)
