"""Runs all writers of a simulated cluster's logs, two at a time for a large cluster.

The writers are independent, and each has its own random generator, so the bytes do not depend on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from assets.simulation.logs.events import write_events
from assets.simulation.logs.health import write_health
from assets.simulation.logs.inventory import write_inventory
from assets.simulation.logs.kernel import write_kernel
from assets.simulation.logs.record import Record
from assets.simulation.logs.sacct import write_sacct
from assets.simulation.logs.settings import write_settings
from assets.simulation.logs.slurmctld import write_slurmctld
from assets.simulation.logs.squeue import write_squeue
from assets.simulation.logs.tickets import write_tickets
from assets.simulation.side_by_side import can_run_side_by_side, run_side_by_side
from assets.simulation.truth import write_truth

WRITERS = {
    "health": write_health,
    "sacct": write_sacct,
    "kernel": write_kernel,
    "slurmctld": write_slurmctld,
    "squeue": write_squeue,
    "events": write_events,
    "tickets": write_tickets,
    "inventory": write_inventory,
}
"""The writers by folder, the slowest first."""
LONG = {"health": 8, "sacct": 8, "slurmctld": 5, "squeue": 2, "truth": 2}
"""Time of a slow writer in proportion to the others, which take at most 1."""
MANY_ATTEMPTS = 200_000
"""Number of attempts from which on a second process saves time."""


def write_cluster(record: Record, folder: Path, truth: Path, tell: Callable[[float], None]) -> None:
    """Write all logs and the settings into `folder` and the truth into `truth`, and report the share done."""
    work: dict[str, Callable[[], None]] = {"truth": lambda: write_truth(record, truth)}
    for kind, write in WRITERS.items():
        work[kind] = lambda write=write, kind=kind: write(record, folder / kind)  # type: ignore[misc]
    weights = {name: LONG.get(name, 1) for name in work}
    left = sum(weights.values())
    ordered = dict(sorted(work.items(), key=lambda item: -weights[item[0]]))
    is_shared = can_run_side_by_side() and len(record.ledger.attempts) >= MANY_ATTEMPTS
    for name in _written_side_by_side(ordered) if is_shared else _written(ordered):
        left -= weights[name]
        tell(1 - left / sum(weights.values()))
    write_settings(record, folder)


def _written(work: dict[str, Callable[[], None]]) -> Iterator[str]:
    for name, task in work.items():
        task()
        yield name


def _written_side_by_side(work: dict[str, Callable[[], None]]) -> Iterator[str]:
    tasks = {name: lambda _, task=task: task() for name, task in work.items()}
    for name, _ in run_side_by_side(tasks):  # the writers send nothing: each name comes once, at its end
        yield name
