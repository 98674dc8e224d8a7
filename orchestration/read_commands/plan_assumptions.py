"""The assumptions of `faultline plan`, and its ETTR with other values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from assets.model.ettr import expected_ettr_exact
from assets.model.failure_rate import RateInterval
from assets.model.mttf import nodes_of
from assets.model.run_plan import ASSUMED, MIN_MINUTES, plan_checkpoints
from assets.model.spares import enough_spares
from orchestration.read_commands.run_to_plan import USUAL, RunToPlan

HOUR = 60.0
Trial = tuple[str, float, str, float | None, float, RunToPlan]
"""Name, value and source of an assumption, another value, and the nodes and the run with that value."""


def assumptions(rate: RateInterval, nodes: float, gpus_per_node: int, run: RunToPlan) -> list[dict[str, Any]]:
    """List the assumptions, the one with the largest effect first.

    Parameters
    ----------
    rate
        Per node-day, one element.
    nodes, gpus_per_node
        Nodes of the run, and GPUs of one.
    run
        The run as the user gave it.

    Returns
    -------
    list of dict
        `name`, `value`, and `source`: `cluster` for its settings or records, else `usual`. `other_value` is twice the
        value, or another likely one; with it the ETTR is `ettr` and the best interval `checkpoint_minutes`, nan without
        a rate. All three are None if another value changes nothing.
    """
    ettr, best = _outcome(rate, nodes, run)
    found = []
    for name, value, source, other, other_nodes, other_run in _trials(rate, nodes, gpus_per_node, run, best):
        changed = (None, None) if other is None else _outcome(rate, other_nodes, other_run)
        named = {"name": name, "value": value, "source": source, "other_value": other}
        found.append({**named, "ettr": changed[0], "checkpoint_minutes": changed[1]})
    return sorted(found, key=lambda assumption: 0.0 if assumption["ettr"] is None else -abs(assumption["ettr"] - ettr))


def _trials(rate: RateInterval, nodes: float, gpus_per_node: int, run: RunToPlan, best: float) -> Iterator[Trial]:
    """Yield each assumption with another value, None if it would change nothing."""
    waits, spares = run.cost("queue_minutes") > 0, run.cost("spare_count")
    per_day = float(rate.value) * nodes
    others = {
        "write_minutes": 2 * run.cost("write_minutes"),
        "restart_minutes": 2 * run.cost("restart_minutes") or USUAL["restart_minutes"],
        "queue_minutes": HOUR,
        "spare_count": enough_spares(per_day, run.cost("repair_hours") / 24) if waits else None,
        "repair_hours": 2 * run.cost("repair_hours") if waits and spares else None,
    }
    for name, other in others.items():
        # Without spares, the answer does not depend on the length of repairs.
        if run.source(name) != "given" and (spares or name != "repair_hours"):
            changed = run if other is None else run.with_cost(name, other)
            yield name, run.cost(name), run.source(name), other, nodes, changed
    if run.checkpoint_minutes is None:
        other = 2 * best or HOUR
        yield "checkpoint_minutes", best, "usual", other, nodes, replace(run, checkpoint_minutes=other)
    if run.gpus_per_node is None and rate.method == ASSUMED:
        half = max(1, gpus_per_node // 2)
        yield "gpus_per_node", gpus_per_node, "usual", half, float(nodes_of(run.gpu_count, half)), run


def _outcome(rate: RateInterval, nodes: float, run: RunToPlan) -> tuple[float, float]:
    """Return the ETTR with the given or else the best interval, and the best interval; nan without a rate."""
    best = float(plan_checkpoints(rate, nodes, **run.costs).optimal)
    per_day = float(np.where(rate.value > 0, rate.value, np.nan)) * nodes
    interval = max(best if run.checkpoint_minutes is None else run.checkpoint_minutes, MIN_MINUTES)
    return float(expected_ettr_exact(per_day, interval, **run.costs_at(per_day))), best
