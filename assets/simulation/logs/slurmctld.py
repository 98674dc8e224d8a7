"""The controller's log: submissions, allocations, ends, preemptions, failed nodes, drains and returns.

Times are local, with milliseconds; the events of one second keep their order. A day is written at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.logs.controller_nodes import NodeLine, node_lines
from assets.simulation.logs.record import CPUS_PER_GPU, FIRST_UID, Record
from assets.simulation.states import CANCELLED, COMPLETED, FAILED, NODE_FAIL, OUT_OF_MEMORY, PREEMPTED, TIMEOUT

IntArray = NDArray[Any]
ONE_FILE_DAYS = 120
"""A log of more days is written as one file per local day, as log rotation does."""
RANKS = 16
"""Number of ranks. Lines of one second are ordered by their rank."""


class Happenings:
    """Lines of one kind: their times, their rank within a second, and a function for their texts.

    Parameters
    ----------
    record
        The cluster.
    rows, seconds
        Row numbers for `write`, and the second of each line.
    rank
        Position within the second.
    write
        Returns the texts for some of the rows.
    """

    def __init__(
        self, record: Record, rows: IntArray, seconds: IntArray, rank: int, write: Callable[[IntArray], list[str]]
    ) -> None:
        order = np.argsort(seconds, kind="stable")
        days = record.wall_clock.days(seconds[order])
        self._rows, self._seconds, self._rank = rows[order].astype(np.int32), seconds[order], rank
        self._firsts, self._write = np.searchsorted(days, np.arange(days.max(initial=-1) + 2)).tolist(), write

    def last_day(self) -> int:
        """Return the last local day with a line, -1 if there is none."""
        return len(self._firsts) - 2

    def on(self, day: int) -> tuple[IntArray, list[str]]:
        """Return the lines of a local day with the keys for sorting them."""
        lines = slice(*self._firsts[day : day + 2]) if day <= self.last_day() else slice(0, 0)
        keys = self._seconds[lines].astype(np.int64) * RANKS + self._rank
        return keys, self._write(self._rows[lines])


class Jobs:
    """The controller's lines about jobs."""

    def __init__(self, record: Record) -> None:
        self._record, self._attempts, self._jobs = record, record.ledger.attempts, record.ledger.jobs
        self._usecs = record.rng("slurmctld jobs").integers(280, 2400, len(self._jobs))
        self._culprits: dict[int, int] = {}
        for ended in (record.ledger.failures, record.ledger.planned_ends):
            self._culprits |= dict(zip(ended["attempt"].tolist(), ended["node"].tolist(), strict=True))
        self._by_root = np.zeros(len(self._attempts), np.bool_)
        self._by_root[record.ledger.planned_ends["attempt"]] = True

    def happenings(self, has_job_lines: bool) -> Iterator[Happenings]:
        """Return all lines about jobs, or only those about requeues, failed nodes and preemption."""
        record, attempts, jobs = self._record, self._attempts, self._jobs
        ends, states = attempts["end"], attempts["state"]
        if has_job_lines:
            first = np.flatnonzero((jobs["array_id"] == 0) | (jobs["array_task"] == 0))
            yield Happenings(record, first, jobs["first_submit"][first], 1, self._submissions)
            started = np.flatnonzero(attempts["start"] >= 0)
            yield Happenings(record, started, attempts["start"][started], 9, self._starts)
            ended = np.flatnonzero(np.isin(states, (COMPLETED, FAILED, OUT_OF_MEMORY)))
            yield Happenings(record, ended, ends[ended], 2, self._ends)
            yield Happenings(record, ended, ends[ended], 3, self._done)
            for state, write in ((TIMEOUT, self._timeouts), (CANCELLED, self._cancellations)):
                stopped = np.flatnonzero(states == state)
                yield Happenings(record, stopped, ends[stopped], 2, write)
        failed = np.flatnonzero(states == NODE_FAIL)
        yield Happenings(record, failed, ends[failed], 4, self._node_failures)
        requeued = np.flatnonzero(attempts["requeued_at"] >= 0)
        yield Happenings(record, requeued, attempts["requeued_at"][requeued], 7, self._requeues)
        preemptions = record.ledger.preemptions
        if (states[preemptions["victim"]] != PREEMPTED).any():
            raise RuntimeError("an attempt is listed as preempted and is not")
        for is_named, rank, tell in ((True, 5, self._named_preemptions), (False, 4, self._unnamed_preemptions)):
            rows = np.flatnonzero(preemptions["is_named"] == is_named)
            yield Happenings(record, rows, preemptions["at"][rows], rank, tell)

    def _ids(self, attempts: IntArray) -> list[int]:
        ids: list[int] = self._jobs["job_id"][self._attempts["job"][attempts]].tolist()
        return ids

    def _names(self, attempts: IntArray) -> list[str]:
        jobs = self._attempts["job"][attempts]
        shown, raw = self._record.shown_job_ids(jobs), self._jobs["job_id"][jobs].tolist()
        return [f"JobId={a}({b})" if "_" in a else f"JobId={a}" for a, b in zip(shown, raw, strict=True)]

    def _submissions(self, jobs: IntArray) -> list[str]:
        columns = (self._jobs[name][jobs].tolist() for name in ("job_id", "array_id", "qos"))
        return [
            f"_slurm_rpc_submit_batch_job: JobId={array or own} InitPrio={10_000 * (1 + qos)} usec={usec}"
            for own, array, qos, usec in zip(*columns, self._usecs[jobs].tolist(), strict=True)
        ]

    def _starts(self, rows: IntArray) -> list[str]:
        backfilled, gpus = self._attempts["backfilled"][rows].tolist(), self._jobs["gpus"][self._attempts["job"][rows]]
        where = self._record.node_lists(rows)
        return [
            f"sched/backfill: _start_job: Started {name} in train on {nodes}"
            if filled
            else f"sched: Allocate {name} NodeList={nodes} #CPUs={cpus} Partition=train"
            for name, nodes, filled, cpus in zip(
                self._names(rows), where, backfilled, (gpus * CPUS_PER_GPU).tolist(), strict=True
            )
        ]

    def _ends(self, rows: IntArray) -> list[str]:
        columns = (self._attempts[name][rows].tolist() for name in ("state", "exit_code", "exit_signal"))
        return [
            f"_job_complete: {name} OOM failure"
            if state == OUT_OF_MEMORY
            else f"_job_complete: {name} WTERMSIG {signal}"
            if signal
            else f"_job_complete: {name} WEXITSTATUS {code}"
            for name, state, code, signal in zip(self._names(rows), *columns, strict=True)
        ]

    def _done(self, rows: IntArray) -> list[str]:
        return [f"_job_complete: {name} done" for name in self._names(rows)]

    def _timeouts(self, rows: IntArray) -> list[str]:
        return [f"Time limit exhausted for {name}" for name in self._names(rows)]

    def _cancellations(self, rows: IntArray) -> list[str]:
        uids = np.where(self._by_root[rows], 0, FIRST_UID + self._jobs["user"][self._attempts["job"][rows]]).tolist()
        return [
            f"_slurm_rpc_kill_job: REQUEST_KILL_JOB {name} uid {uid}"
            for name, uid in zip(self._names(rows), uids, strict=True)
        ]

    def _node_failures(self, rows: IntArray) -> list[str]:
        names = self._record.node_names
        nodes = [names[self._culprits[row]] for row in rows.tolist()]
        goes_back = (self._attempts["requeued_at"][rows] >= 0).tolist()
        return [
            f"requeue job JobId={raw} due to failure of node {node}"
            if back
            else f"Killing JobId={raw} on failed node {node}"
            for raw, node, back in zip(self._ids(rows), nodes, goes_back, strict=True)
        ]

    def _requeues(self, rows: IntArray) -> list[str]:
        return [f"Requeuing {name}" for name in self._names(rows)]

    def _named_preemptions(self, rows: IntArray) -> list[str]:
        victims, instigators = (self._record.ledger.preemptions[name][rows] for name in ("victim", "instigator"))
        goes_back = (self._attempts["requeued_at"][victims] >= 0).tolist()
        return [
            f"preempted JobId={victim} has been {'requeued' if back else 'killed'} to reclaim resources for JobId={instigator}"
            for victim, instigator, back in zip(self._ids(victims), self._ids(instigators), goes_back, strict=True)
        ]

    def _unnamed_preemptions(self, rows: IntArray) -> list[str]:
        victims = self._ids(self._record.ledger.preemptions["victim"][rows])
        return [f"slurm_job_preempt: preempted JobId={victim} had to be killed" for victim in victims]


def _on_nodes(record: Record) -> Iterator[Happenings]:
    lines: dict[int, list[NodeLine]] = {}
    for line in node_lines(record):
        lines.setdefault(line.rank, []).append(line)
    for rank, found in sorted(lines.items()):
        texts = [line.text for line in found]

        def write(rows: IntArray, texts: list[str] = texts) -> list[str]:
            return [texts[row] for row in rows.tolist()]

        yield Happenings(record, np.arange(len(found)), np.array([line.at for line in found]), rank, write)


def _stamped(record: Record, rng: np.random.Generator, keys: IntArray, texts: list[str]) -> list[str]:
    """Sort the lines of a day and add their times. The lines of one second are a millisecond apart."""
    order = np.argsort(keys, kind="stable")
    seconds = keys[order] // RANKS
    place = np.arange(len(seconds))
    first = np.maximum.accumulate(np.where(np.diff(seconds, prepend=-1) != 0, place, 0))
    milliseconds = np.minimum(rng.integers(2, 120, len(seconds))[first] + place - first, 999)
    stamps = record.wall_clock.texts_with_milliseconds(seconds, milliseconds)
    return [f"[{stamp}] {texts[row]}\n" for stamp, row in zip(stamps, order.tolist(), strict=True)]


def write_slurmctld(record: Record, folder: Path) -> None:
    """Write `slurmctld.log`, or one `slurmctld.log-<day>` per local day if it is long. Some sites keep none."""
    profile = record.profile
    if not profile.logs.has_controller_log:
        return
    folder.mkdir(parents=True, exist_ok=True)
    kinds = [*Jobs(record).happenings(profile.logs.has_job_lines), *_on_nodes(record)]
    rng, is_rotated = record.rng("slurmctld"), profile.days > ONE_FILE_DAYS
    head = f"[{record.text(0)}.001] slurmctld version 22.05.8 started on cluster {profile.cluster_id}\n"
    for day in range(max(kind.last_day() for kind in kinds) + 1):
        found = [kind.on(day) for kind in kinds]
        keys, texts = np.concatenate([keys for keys, _ in found]), [text for _, texts in found for text in texts]
        lines = [*([head] if day == 0 else []), *_stamped(record, rng, keys, texts)]
        if lines:
            name = f"slurmctld.log-{record.wall_clock.date(day)}" if is_rotated else "slurmctld.log"
            with (folder / name).open("a", encoding="utf-8", newline="\n") as file:
                file.writelines(lines)
