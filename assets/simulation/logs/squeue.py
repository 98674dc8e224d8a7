"""Snapshots of the queue as `squeue -a -r -h -o '%A|%i|%T|%V|%S|%u|%P|%D|%N|%x|%r'` prints them.

They show the nodes that a job's submission excluded, which the accounting does not keep at every site.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.logs.record import Record, write_lines


def snapshot(record: Record, second: int) -> list[str]:
    """Return the lines of a snapshot: waiting jobs, then running jobs, by priority."""
    attempts, jobs = record.ledger.attempts, record.ledger.jobs
    leaves = np.where(attempts["end"] >= 0, attempts["end"], record.profile.horizon + 1)
    starts = np.where(attempts["start"] >= 0, attempts["start"], leaves)
    present = np.flatnonzero((attempts["submit"] <= second) & (leaves > second))
    present = present[np.argsort(-jobs["qos"][attempts["job"][present]], kind="stable")]
    waiting, running = present[starts[present] > second], present[starts[present] <= second]
    reasons = [
        "BeginTime" if eligible > second else "Resources" if gpus >= record.profile.gpus_per_node else "Priority"
        for eligible, gpus in zip(
            attempts["eligible"][waiting].tolist(), jobs["gpus"][attempts["job"][waiting]].tolist(), strict=True
        )
    ]
    started, nodes = record.wall_clock.texts(attempts["start"][running]), record.node_lists(running)
    return [
        *_lines(record, waiting, "PENDING", ["N/A"] * len(waiting), [""] * len(waiting), reasons),
        *_lines(record, running, "RUNNING", started, nodes, ["None"] * len(running)),
    ]


def _lines(
    record: Record, rows: NDArray[Any], state: str, started: list[str], nodes: list[str], reasons: list[str]
) -> list[str]:
    ledger, per_node = record.ledger, record.profile.gpus_per_node
    jobs = ledger.attempts["job"][rows]
    columns = (ledger.jobs[name][jobs].tolist() for name in ("job_id", "user", "gpus"))
    excluded = [record.node_list(ledger.excludes[job]) if job in ledger.excludes else "" for job in jobs.tolist()]
    submitted = record.wall_clock.texts(ledger.attempts["submit"][rows])
    return [
        f"{raw}|{shown}|{state}|{submit}|{start}|{record.users[user]}|train|{gpus // per_node or 1}|{where}|{without}|{reason}"
        for raw, user, gpus, shown, submit, start, where, without, reason in zip(
            *columns, record.shown_job_ids(jobs), submitted, started, nodes, excluded, reasons, strict=True
        )
    ]


def write_squeue(record: Record, folder: Path) -> None:
    """Write the snapshots of each local day to `squeue.<epoch of the last>.txt`. Some sites take none."""
    period = record.profile.logs.squeue_seconds
    seconds = np.arange(period, record.profile.horizon, period) if period else np.zeros(0, np.int64)
    days = record.wall_clock.days(seconds)
    for day in np.unique(days).tolist():
        taken = seconds[days == day].tolist()
        lines = [line for second in taken for line in snapshot(record, second)]
        if lines:
            write_lines(folder / f"squeue.{record.epoch + taken[-1]}.txt", lines)
