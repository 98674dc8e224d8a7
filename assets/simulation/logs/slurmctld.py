"""The controller's own log: submissions, allocations, ends, evictions, failed nodes, drains and returns.

Lines carry milliseconds of the local clock; what happens in one second keeps its order.
"""

from __future__ import annotations

from pathlib import Path

from assets.simulation.logs.record import CPUS_PER_GPU, FIRST_UID, Record, write_lines
from assets.simulation.service import BOOT_SECONDS, PROLOG_ERROR, REBOOTED
from assets.simulation.states import CANCELLED, COMPLETED, FAILED, NODE_FAIL, OUT_OF_MEMORY, PREEMPTED, TIMEOUT

Line = tuple[int, int, str]
"""Second, rank within the second, text."""


def _job_name(record: Record, job: int) -> str:
    shown, raw = record.shown_job_id(job), int(record.ledger.jobs["job_id"][job])
    return f"JobId={shown}" if shown == str(raw) else f"JobId={shown}({raw})"


def _submissions(record: Record) -> list[Line]:
    jobs, lines = record.ledger.jobs, []
    usecs = record.rng("slurmctld jobs").integers(280, 2400, len(jobs))
    for job, (first, usec) in enumerate(zip(jobs["first_submit"].tolist(), usecs.tolist(), strict=True)):
        array = int(jobs["array_id"][job])
        if array and jobs["array_task"][job] != 0:
            continue
        job_id, priority = array or int(jobs["job_id"][job]), 10_000 * (1 + int(jobs["qos"][job]))
        lines.append((first, 1, f"_slurm_rpc_submit_batch_job: JobId={job_id} InitPrio={priority} usec={usec}"))
    return lines


def _starts(record: Record) -> list[Line]:
    attempts, jobs, lines = record.ledger.attempts, record.ledger.jobs, []
    for attempt in range(len(record.ledger.nodes)):
        nodes = record.ledger.nodes[attempt]
        job, start = int(attempts["job"][attempt]), int(attempts["start"][attempt])
        if start < 0:
            continue
        name, where = _job_name(record, job), record.node_list(nodes.tolist())
        cpus = int(jobs["gpus"][job]) * CPUS_PER_GPU
        if attempts["backfilled"][attempt]:
            lines.append((start, 9, f"sched/backfill: _start_job: Started {name} in train on {where}"))
        else:
            lines.append((start, 9, f"sched: Allocate {name} NodeList={where} #CPUs={cpus} Partition=train"))
    return lines


def _ending(record: Record, attempt: int, culprits: dict[int, int]) -> list[tuple[int, str]]:
    """Give rank and text of the lines that an attempt's end leaves."""
    attempts, jobs = record.ledger.attempts, record.ledger.jobs
    job, state = int(attempts["job"][attempt]), int(attempts["state"][attempt])
    name, raw = _job_name(record, job), int(jobs["job_id"][job])
    if state in (COMPLETED, FAILED, OUT_OF_MEMORY):
        code, signal = int(attempts["exit_code"][attempt]), int(attempts["exit_signal"][attempt])
        ending = f"WTERMSIG {signal}" if signal else f"WEXITSTATUS {code}"
        if state == OUT_OF_MEMORY:
            ending = "OOM failure"
        return [(2, f"_job_complete: {name} {ending}"), (3, f"_job_complete: {name} done")]
    if state == TIMEOUT:
        return [(2, f"Time limit exhausted for {name}")]
    if state == CANCELLED:
        return [(2, f"_slurm_rpc_kill_job: REQUEST_KILL_JOB {name} uid {FIRST_UID + int(jobs['user'][job])}")]
    if state == NODE_FAIL:
        node = record.node_names[culprits[attempt]]
        if attempts["requeued_at"][attempt] >= 0:
            return [(4, f"requeue job JobId={raw} due to failure of node {node}")]
        return [(4, f"Killing JobId={raw} on failed node {node}")]
    return []


def _ends(record: Record) -> list[Line]:
    ledger, lines = record.ledger, []
    attempts = ledger.attempts
    culprits = {int(a): int(n) for a, n in zip(ledger.failures["attempt"], ledger.failures["node"], strict=True)}
    for attempt in range(len(ledger.nodes)):
        end, requeued = int(attempts["end"][attempt]), int(attempts["requeued_at"][attempt])
        lines += [(end, rank, text) for rank, text in _ending(record, attempt, culprits)]
        if requeued >= 0:
            lines.append((requeued, 7, f"Requeuing {_job_name(record, int(attempts['job'][attempt]))}"))
    return lines


def _preemptions(record: Record) -> list[Line]:
    attempts, jobs, lines = record.ledger.attempts, record.ledger.jobs, []
    preemptions = record.ledger.preemptions
    for row in range(len(preemptions)):
        victim, instigator, at = (int(preemptions[name][row]) for name in ("victim", "instigator", "at"))
        if attempts["state"][victim] != PREEMPTED:
            raise RuntimeError(f"attempt {victim} is listed as preempted and is not")
        ids = [int(jobs["job_id"][attempts["job"][attempt]]) for attempt in (victim, instigator)]
        if preemptions["is_named"][row]:
            how = "requeued" if attempts["requeued_at"][victim] >= 0 else "killed"
            lines.append((at, 5, f"preempted JobId={ids[0]} has been {how} to reclaim resources for JobId={ids[1]}"))
        else:
            lines.append((at, 4, f"slurm_job_preempt: preempted JobId={ids[0]} had to be killed"))
    return lines


def _job_lines(record: Record) -> list[Line]:
    return [*_submissions(record), *_starts(record), *_ends(record), *_preemptions(record)]


def _node_lines(record: Record) -> list[Line]:
    outages, reasons = record.ledger.outages, record.ledger.reasons
    lines: list[Line] = []
    reboots = list(zip(record.ledger.reboots["node"].tolist(), record.ledger.reboots["at"].tolist(), strict=True))
    follows = {(int(outages["node"][row]), int(outages["start"][row])) for row in range(len(outages))}
    for row in range(len(outages)):
        node, requested, start, end = (int(outages[name][row]) for name in ("node", "requested", "start", "end"))
        name, reason = record.node_names[node], reasons[row]
        if outages["is_silent"][row]:
            lines.append((start, 5, f"error: Nodes {name} not responding, setting DOWN"))
        elif reason == REBOOTED:
            booted = max(at for other, at in reboots if other == node and at <= start)
            times = f"boot_time={record.epoch + booted} last response={record.epoch + booted - 60}"
            lines.append((start, 3, f"validate_node_specs: Node {name} unexpectedly rebooted {times}"))
        elif reason == PROLOG_ERROR:
            lines.append(
                (
                    start,
                    3,
                    f"error: validate_node_specs: Prolog or job env setup failure on node {name}, draining the node",
                )
            )
            lines.append((start, 4, f"drain_nodes: node {name} state set to DRAIN"))
        else:
            state = "DOWN" if outages["is_down"][row] else "DRAINED" if requested == start else "DRAINING"
            lines += [
                (requested, 3, f"update_node: node {name} reason set to: {reason}"),
                (requested, 6, f"update_node: node {name} state set to {state}"),
            ]
        if end >= 0 and (node, end) not in follows:
            lines.append((end - BOOT_SECONDS // 4, 1, f"Node {name} now responding"))
            lines.append(
                (
                    end,
                    1,
                    f"node {name} returned to service"
                    if outages["is_silent"][row]
                    else f"update_node: node {name} state set to IDLE",
                )
            )
    return lines


def _prolog_lines(record: Record) -> list[Line]:
    attempts, failures = record.ledger.attempts, record.ledger.failures
    faults, reasons = record.ledger.faults, record.ledger.reasons
    prolog = {
        int(fault)
        for fault, reason in zip(record.ledger.outages["fault"], reasons, strict=True)
        if reason == PROLOG_ERROR
    }
    jobs = record.ledger.jobs["job_id"][attempts["job"][failures["attempt"]]]
    return [
        (int(failures["at"][row]), 2, f"error: Prolog launch failure, JobId={int(jobs[row])}")
        for row in range(len(failures))
        if int(failures["fault"][row]) in prolog and faults["detected"][failures["fault"][row]] >= 0
    ]


def write_slurmctld(record: Record, folder: Path) -> None:
    """Write `slurmctld.log`."""
    lines = sorted(_job_lines(record) + _node_lines(record) + _prolog_lines(record), key=lambda line: line[:2])
    rng = record.rng("slurmctld")
    first = rng.integers(2, 120, len(lines)).tolist()
    written, second, milli = (
        [f"[{record.text(0)}.004] slurmctld version 22.05.8 started on cluster {record.profile.cluster_id}"],
        -1,
        0,
    )
    for (at, _, text), start in zip(lines, first, strict=True):
        milli = start if at != second else min(milli + 1, 999)
        second = at
        written.append(f"[{record.text(at)}.{milli:03d}] {text}")
    write_lines(folder / "slurmctld.log", written)
