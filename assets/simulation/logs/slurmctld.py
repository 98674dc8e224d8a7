"""The controller's log: submissions, allocations, ends, preemptions, failed nodes, drains and returns.

Times are local, with milliseconds; the events of one second keep their order.
"""

from __future__ import annotations

import bisect
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.logs.record import CPUS_PER_GPU, FIRST_UID, Record, write_lines
from assets.simulation.service import BOOT_SECONDS, PROLOG_ERROR, REBOOTED
from assets.simulation.states import CANCELLED, COMPLETED, FAILED, NODE_FAIL, OUT_OF_MEMORY, PREEMPTED, TIMEOUT

IntArray = NDArray[Any]
ONE_FILE_DAYS = 120
"""A log of more days is written as one file per local day, as with log rotation."""
RANKS = 16
"""Number of ranks. Lines of one second are ordered by their rank."""


class Lines:
    """Lines with their second and their rank within the second."""

    def __init__(self, record: Record) -> None:
        self.record, self.attempts, self.jobs = record, record.ledger.attempts, record.ledger.jobs
        self.keys: list[IntArray] = []
        self.texts: list[str] = []

    def add(self, seconds: IntArray | list[int], rank: int, texts: list[str]) -> None:
        """Add lines of one rank."""
        self.keys.append(np.asarray(seconds, np.int64) * RANKS + rank)
        self.texts += texts

    def ids(self, attempts: IntArray) -> list[int]:
        """Return the job ids of attempts."""
        ids: list[int] = self.jobs["job_id"][self.attempts["job"][attempts]].tolist()
        return ids

    def names(self, attempts: IntArray) -> list[str]:
        """Return the jobs of attempts as the controller names them: a task of an array with its own id."""
        shown = self.record.shown_job_ids(self.attempts["job"][attempts])
        return [f"JobId={a}({b})" if "_" in a else f"JobId={a}" for a, b in zip(shown, self.ids(attempts), strict=True)]

    def stamped(self) -> tuple[IntArray, list[str]]:
        """Return the lines in order with their local days. The lines of one second are a millisecond apart."""
        keys = np.concatenate(self.keys)
        order = np.argsort(keys, kind="stable")
        seconds, place = keys[order] // RANKS, np.arange(len(keys))
        first = np.maximum.accumulate(np.where(np.diff(seconds, prepend=-1) != 0, place, 0))
        drawn = self.record.rng("slurmctld").integers(2, 120, len(seconds))
        clock, milliseconds = self.record.wall_clock, np.minimum(drawn[first] + place - first, 999)
        stamps = clock.texts_with_milliseconds(seconds, milliseconds)
        lines = [f"[{stamp}] {self.texts[row]}" for stamp, row in zip(stamps, order.tolist(), strict=True)]
        return clock.days(seconds), lines


def _add_jobs(lines: Lines) -> None:
    """Add submissions, starts and ends."""
    record, attempts, jobs = lines.record, lines.attempts, lines.jobs
    ends, states = attempts["end"], attempts["state"]
    usecs = record.rng("slurmctld jobs").integers(280, 2400, len(jobs))
    rows = np.flatnonzero((jobs["array_id"] == 0) | (jobs["array_task"] == 0))
    columns = (jobs[name][rows].tolist() for name in ("job_id", "array_id", "qos"))
    texts = [
        f"_slurm_rpc_submit_batch_job: JobId={array or own} InitPrio={10_000 * (1 + qos)} usec={usec}"
        for own, array, qos, usec in zip(*columns, usecs[rows].tolist(), strict=True)
    ]
    lines.add(jobs["first_submit"][rows], 1, texts)
    rows = np.flatnonzero(attempts["start"] >= 0)
    cpus = (jobs["gpus"][attempts["job"][rows]] * CPUS_PER_GPU).tolist()
    is_filled = attempts["backfilled"][rows].tolist()
    texts = [
        f"sched/backfill: _start_job: Started {name} in train on {nodes}"
        if filled
        else f"sched: Allocate {name} NodeList={nodes} #CPUs={cpu} Partition=train"
        for name, nodes, filled, cpu in zip(lines.names(rows), record.node_lists(rows), is_filled, cpus, strict=True)
    ]
    lines.add(attempts["start"][rows], 9, texts)
    rows = np.flatnonzero(np.isin(states, (COMPLETED, FAILED, OUT_OF_MEMORY)))
    names, columns = (
        lines.names(rows),
        (attempts[name][rows].tolist() for name in ("state", "exit_code", "exit_signal")),
    )
    exits = [
        "OOM failure" if state == OUT_OF_MEMORY else f"WTERMSIG {signal}" if signal else f"WEXITSTATUS {code}"
        for state, code, signal in zip(*columns, strict=True)
    ]
    lines.add(ends[rows], 2, [f"_job_complete: {name} {exit}" for name, exit in zip(names, exits, strict=True)])
    lines.add(ends[rows], 3, [f"_job_complete: {name} done" for name in names])
    rows = np.flatnonzero(states == TIMEOUT)
    lines.add(ends[rows], 2, [f"Time limit exhausted for {name}" for name in lines.names(rows)])
    rows = np.flatnonzero(states == CANCELLED)
    is_planned = np.isin(rows, record.ledger.planned_ends["attempt"])
    uids = np.where(is_planned, 0, FIRST_UID + jobs["user"][attempts["job"][rows]]).tolist()
    named = zip(lines.names(rows), uids, strict=True)
    lines.add(ends[rows], 2, [f"_slurm_rpc_kill_job: REQUEST_KILL_JOB {name} uid {uid}" for name, uid in named])


def _add_losses(lines: Lines) -> None:
    """Add failed nodes, requeues and preemptions."""
    record, attempts, ledger = lines.record, lines.attempts, lines.record.ledger
    culprits: dict[int, int] = {}
    for ended in (ledger.failures, ledger.planned_ends):
        culprits |= dict(zip(ended["attempt"].tolist(), ended["node"].tolist(), strict=True))
    goes_back = attempts["requeued_at"] >= 0
    rows = np.flatnonzero(attempts["state"] == NODE_FAIL)
    nodes = [record.node_names[culprits[row]] for row in rows.tolist()]
    texts = [
        f"requeue job JobId={raw} due to failure of node {node}"
        if back
        else f"Killing JobId={raw} on failed node {node}"
        for raw, node, back in zip(lines.ids(rows), nodes, goes_back[rows].tolist(), strict=True)
    ]
    lines.add(attempts["end"][rows], 4, texts)
    rows = np.flatnonzero(goes_back)
    lines.add(attempts["requeued_at"][rows], 7, [f"Requeuing {name}" for name in lines.names(rows)])
    victims, instigators, at = (ledger.preemptions[name] for name in ("victim", "instigator", "at"))
    if (attempts["state"][victims] != PREEMPTED).any():
        raise RuntimeError("an attempt is listed as preempted, but has another state")
    named, unnamed = (np.flatnonzero(ledger.preemptions["is_named"] == is_named) for is_named in (True, False))
    texts = [
        f"preempted JobId={victim} has been {'requeued' if back else 'killed'} to reclaim resources for JobId={instigator}"
        for victim, instigator, back in zip(
            lines.ids(victims[named]), lines.ids(instigators[named]), goes_back[victims[named]].tolist(), strict=True
        )
    ]
    lines.add(at[named], 5, texts)
    texts = [f"slurm_job_preempt: preempted JobId={raw} had to be killed" for raw in lines.ids(victims[unnamed])]
    lines.add(at[unnamed], 4, texts)


def _add_nodes(lines: Lines) -> None:
    """Add nodes that are lost, restart, are drained or come back, and failed prologs."""
    record, ledger = lines.record, lines.record.ledger
    names = ("node", "requested", "start", "end", "is_silent", "is_down")
    rows = list(zip(*(ledger.outages[name].tolist() for name in names), strict=True))
    boots = sorted(zip(ledger.reboots["node"].tolist(), ledger.reboots["at"].tolist(), strict=True))
    follows = {(row[0], row[2]) for row in rows}
    for (node, requested, start, end, is_silent, is_down), reason in zip(rows, ledger.reasons, strict=True):
        name = record.node_names[node]
        if is_silent:
            lines.add([start], 5, [f"error: Nodes {name} not responding, setting DOWN"])
        elif reason == REBOOTED:
            booted = record.epoch + boots[bisect.bisect_right(boots, (node, start)) - 1][1]
            times = f"boot_time={booted} last response={booted - 60}"
            lines.add([start], 3, [f"validate_node_specs: Node {name} unexpectedly rebooted {times}"])
        elif reason == PROLOG_ERROR:
            text = f"error: validate_node_specs: Prolog or job env setup failure on node {name}, draining the node"
            lines.add([requested], 3, [text])
            lines.add([requested], 4, [f"drain_nodes: node {name} state set to DRAIN"])
        else:
            state = "DOWN" if is_down else "DRAINED" if requested == start else "DRAINING"
            lines.add([requested], 3, [f"update_node: node {name} reason set to: {reason}"])
            lines.add([requested], 6, [f"update_node: node {name} state set to {state}"])
        # An outage with two reasons has two intervals. The node is back only after the second.
        if end >= 0 and (node, end) not in follows:
            back = f"node {name} returned to service" if is_silent else f"update_node: node {name} state set to IDLE"
            lines.add([end - BOOT_SECONDS // 4], 1, [f"Node {name} now responding"])
            lines.add([end], 1, [back])
    known = zip(ledger.outages["fault"].tolist(), ledger.reasons, strict=True)
    prolog, failures = {fault for fault, reason in known if reason == PROLOG_ERROR}, ledger.failures
    columns = zip(failures["fault"].tolist(), failures["at"].tolist(), lines.ids(failures["attempt"]), strict=True)
    for fault, at, job_id in columns:
        if fault in prolog and ledger.faults["detected"][fault] >= 0:
            lines.add([at], 2, [f"error: Prolog launch failure, JobId={job_id}"])


def write_slurmctld(record: Record, folder: Path) -> None:
    """Write `slurmctld.log`, or one `slurmctld.log-<day>` per local day if it is long. Some sites keep none."""
    profile, lines = record.profile, Lines(record)
    if not profile.logs.has_controller_log:
        return
    if profile.logs.has_job_lines:
        _add_jobs(lines)
    _add_losses(lines)
    _add_nodes(lines)
    days, texts = lines.stamped()
    texts.insert(0, f"[{record.text(0)}.001] slurmctld version 22.05.8 started on cluster {profile.cluster_id}")
    if profile.days <= ONE_FILE_DAYS:
        write_lines(folder / "slurmctld.log", texts)
        return
    days = np.concatenate(([0], days))
    for day in np.unique(days).tolist():
        low, high = np.searchsorted(days, (day, day + 1)).tolist()
        write_lines(folder / f"slurmctld.log-{record.wall_clock.date(day)}", texts[low:high])
