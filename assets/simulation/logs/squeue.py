"""Snapshots of the queue as `squeue -a -r -h -o '%A|%i|%T|%V|%S|%u|%P|%D|%N|%x|%r'` prints them.

They show the nodes that a job's submission excluded, which the accounting does not keep at every site.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.logs.record import Record, write_lines

IntArray = NDArray[Any]


class Queue:
    """The waiting and running jobs at a time. Times must be asked for in ascending order."""

    def __init__(self, record: Record) -> None:
        attempts, horizon = record.ledger.attempts, record.profile.horizon
        self._record, self._attempts = record, attempts
        self._leaves = np.where(attempts["end"] >= 0, attempts["end"], horizon + 1)
        self._starts = np.where(attempts["start"] >= 0, attempts["start"], self._leaves)
        self._arrivals = np.argsort(attempts["submit"], kind="stable")
        self._submits = attempts["submit"][self._arrivals]
        self._seen = 0
        self._present = np.zeros(0, np.int64)
        self._running: dict[int, str] = {}

    def at(self, second: int) -> list[str]:
        """Return the lines of a snapshot: waiting jobs, then running jobs, by priority."""
        low, self._seen = self._seen, int(np.searchsorted(self._submits, second, side="right"))
        present = np.concatenate([self._present, self._arrivals[low : self._seen]])
        self._present = present = np.sort(present[self._leaves[present] > second])
        runs = self._starts[present] <= second
        return [*self._waiting_lines(self._by_priority(present[~runs]), second), *self._running_lines(present[runs])]

    def _by_priority(self, rows: IntArray) -> IntArray:
        qos = self._record.ledger.jobs["qos"][self._attempts["job"][rows]]
        return rows[np.argsort(-qos, kind="stable")]

    def _waiting_lines(self, rows: IntArray, second: int) -> list[str]:
        gpus = self._record.ledger.jobs["gpus"][self._attempts["job"][rows]].tolist()
        reasons = [
            "BeginTime"
            if eligible > second
            else "Resources"
            if count >= self._record.profile.gpus_per_node
            else "Priority"
            for eligible, count in zip(self._attempts["eligible"][rows].tolist(), gpus, strict=True)
        ]
        return self._lines(rows, "PENDING", ["N/A"] * len(rows), [""] * len(rows), reasons)

    def _running_lines(self, rows: IntArray) -> list[str]:
        known = self._running
        new = rows[[row not in known for row in rows.tolist()]] if len(rows) else rows
        started = self._record.wall_clock.texts(self._attempts["start"][new])
        lines = self._lines(new, "RUNNING", started, self._record.node_lists(new), ["None"] * len(new))
        known.update(zip(new.tolist(), lines, strict=True))
        # The line of a running job never changes, so it is kept while the job runs.
        self._running = {row: known[row] for row in self._by_priority(rows).tolist()}
        return list(self._running.values())

    def _lines(self, rows: IntArray, state: str, started: list[str], nodes: list[str], reasons: list[str]) -> list[str]:
        record, per_node = self._record, self._record.profile.gpus_per_node
        jobs = self._attempts["job"][rows]
        columns = (record.ledger.jobs[name][jobs].tolist() for name in ("job_id", "user", "gpus"))
        excluded = [
            record.node_list(record.ledger.excludes[job]) if job in record.ledger.excludes else ""
            for job in jobs.tolist()
        ]
        submitted = record.wall_clock.texts(self._attempts["submit"][rows])
        return [
            f"{raw}|{shown}|{state}|{submit}|{start}|{record.users[user]}|train|{gpus // per_node or 1}|{where}|{without}|{reason}"
            for raw, user, gpus, shown, submit, start, where, without, reason in zip(
                *columns, record.shown_job_ids(jobs), submitted, started, nodes, excluded, reasons, strict=True
            )
        ]


def snapshots(record: Record) -> Iterator[tuple[int, list[str]]]:
    """Return the second and the lines of every snapshot."""
    queue, period = Queue(record), record.profile.logs.squeue_seconds
    for second in range(period, record.profile.horizon, period):
        yield second, queue.at(second)


def write_squeue(record: Record, folder: Path) -> None:
    """Write the snapshots of each local day to `squeue.<epoch of the last>.txt`. Some sites take none."""
    if not record.profile.logs.squeue_seconds:
        return
    lines: list[str] = []
    day, last = -1, 0
    for second, found in snapshots(record):
        today = int(record.wall_clock.days(np.array([second]))[0])
        if today != day and lines:
            write_lines(folder / f"squeue.{record.epoch + last}.txt", lines)
            lines = []
        day, last = today, second
        lines += found
    if lines:
        write_lines(folder / f"squeue.{record.epoch + last}.txt", lines)
