"""Runs all writers of a simulated cluster's logs, two at a time for a large cluster.

The writers are independent, and each has its own random generator, so the bytes do not depend on their order.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Callable, Iterator
from multiprocessing.connection import wait
from multiprocessing.context import ForkProcess
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

PROCESSES = 2

Work = dict[str, Callable[[], None]]


def write_cluster(record: Record, folder: Path, truth: Path, tell: Callable[[float], None]) -> None:
    """Write all logs and the settings into `folder` and the truth into `truth`, and report the share done."""
    work: Work = {"truth": lambda: write_truth(record, truth)}
    for kind, write in WRITERS.items():
        work[kind] = lambda write=write, kind=kind: write(record, folder / kind)  # type: ignore[misc]
    weights = {name: LONG.get(name, 1) for name in work}
    left = sum(weights.values())
    ordered = dict(sorted(work.items(), key=lambda item: -weights[item[0]]))
    # Elsewhere a fork is not safe once threads run, and copying the record to a new process costs more than it saves.
    is_shared = sys.platform == "linux" and len(record.ledger.attempts) >= MANY_ATTEMPTS and (os.cpu_count() or 1) > 1
    for name in _run_side_by_side(ordered) if is_shared else _run(ordered):
        left -= weights[name]
        tell(1 - left / sum(weights.values()))
    write_settings(record, folder)


def _run(work: Work) -> Iterator[str]:
    for name, task in work.items():
        task()
        yield name


def _run_side_by_side(work: Work) -> Iterator[str]:
    """Run the tasks in forked processes, two at a time. They share the record without copying it."""
    context, waiting = multiprocessing.get_context("fork"), list(work)
    running: list[ForkProcess] = []
    try:
        while waiting or running:
            while waiting and len(running) < PROCESSES:
                name = waiting.pop(0)
                running.append(context.Process(target=_run_and_leave, args=(work[name],), name=name, daemon=True))
                running[-1].start()
            wait([process.sentinel for process in running])
            for process in [process for process in running if not process.is_alive()]:
                running.remove(process)
                if process.exitcode:
                    raise RuntimeError(f"writing {process.name} failed with exit status {process.exitcode}")
                yield process.name
    finally:
        for process in running:
            process.terminate()


def _run_and_leave(task: Callable[[], None]) -> None:
    task()
    # The exit does not flush the shared streams: a thread of the progress bar may have held their lock at the fork.
    os._exit(0)
