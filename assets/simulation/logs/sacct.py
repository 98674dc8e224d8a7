"""Accounting as `sacct -a -D -P --noconvert` prints it: one file per day on which jobs ended, open jobs in the last.

A day is written at a time, with its columns as plain lists, because there are millions of rows.
"""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.simulation.ledger import Ledger
from assets.simulation.logs.record import ACCOUNTS, CPUS_PER_GPU, FIRST_UID, MEMORY_MB_PER_GPU, Record, write_lines
from assets.simulation.profiles import Profile
from assets.simulation.states import CANCELLED, COMPLETED, FAILED, OUT_OF_MEMORY, PENDING, QOS, RUNNING, STATES

IntArray = NDArray[np.int64]

HEADER = (
    "JobID|JobIDRaw|Cluster|User|Account|Partition|QOS|JobName|State|ExitCode|DerivedExitCode|Submit|Eligible|Start|End|ElapsedRaw|"
    "Suspended|NNodes|NodeList|AllocTRES|ReqTRES|TimelimitRaw|Reason|Flags"
)
STEP_STATES = {COMPLETED: "COMPLETED", FAILED: "FAILED", OUT_OF_MEMORY: "OUT_OF_MEMORY", RUNNING: "RUNNING"}
REASONS = ("None", "Priority", "Resources", "BeginTime")
"""Last reason for waiting: a requeued job waits for its begin time, others for their turn or for nodes."""
MIN_SUMMARY_SECONDS = 60
"""jobstats measures no job that ran for less than this, in seconds."""
UNNOTICED_WAIT = 60
"""A job that starts within this many seconds never gets a reason."""


class Accounting:
    """The attempts as `sacct -S -E` shows them, by row of the ledger.

    `until` is the second of the export. `shown` has the rows of its attempts: they ended after its beginning and were
    submitted before its end.
    """

    def __init__(self, profile: Profile, ledger: Ledger) -> None:
        self.until, self._attempts = profile.accounting_until, ledger.attempts
        end, start, state = (ledger.attempts[name] for name in ("end", "start", "state"))
        is_open = (end < 0) | (end >= self.until)
        is_early = self.until < profile.horizon
        waits = is_open & ((start < 0) | (is_early & (start >= self.until)))
        self._columns = {
            "end": np.where(is_open, -1, end),
            "start": np.where(waits, -1, start),
            "state": np.where(waits, PENDING, np.where(is_open, RUNNING, state)).astype(state.dtype),
        }
        is_shown = ((end < 0) | (end >= profile.accounting_from)) & (ledger.attempts["submit"] <= self.until)
        self.shown: NDArray[np.int64] = np.flatnonzero(is_shown)

    def column(self, name: str) -> NDArray[Any]:
        """Return a column of all attempts as the export shows it."""
        column: NDArray[Any] = self._columns.get(name, self._attempts[name])
        return column


@lru_cache
def tres(gpus: int, nodes: int, billing: bool = True, charged: int = 0) -> str:
    """Format trackable resources in Slurm's order. Processors and memory are those of `charged` GPUs, if any."""
    paid = charged or gpus
    cpus = paid * CPUS_PER_GPU
    first = f"billing={cpus}," if billing else ""
    return f"{first}cpu={cpus},gres/gpu:a100={gpus},gres/gpu={gpus},mem={paid * MEMORY_MB_PER_GPU}M,node={nodes}"


@dataclass(frozen=True)
class Day:
    """The columns of some attempts, as texts."""

    record: Record
    rows: IntArray
    accounting: Accounting

    def attempts(self, name: str) -> NDArray[Any]:
        """Return a column of the attempts."""
        column: NDArray[Any] = self.accounting.column(name)[self.rows]
        return column

    def jobs(self, name: str) -> NDArray[Any]:
        """Return a column of the attempts' jobs."""
        column: NDArray[Any] = self.record.ledger.jobs[name][self.attempts("job")]
        return column

    def states(self) -> list[str]:
        """Return the states, with the user who cancelled: root if planned work took the nodes."""
        is_planned = np.isin(self.rows, self.record.ledger.planned_ends["attempt"])
        uids = np.where(is_planned, 0, FIRST_UID + self.jobs("user")).tolist()
        pairs = zip(self.attempts("state").tolist(), uids, strict=True)
        return [f"CANCELLED by {uid}" if state == CANCELLED else STATES[state] for state, uid in pairs]

    def times(self, name: str) -> list[str]:
        """Return a column of times as text. A job that was cancelled before its start has no start."""
        seconds, state = self.attempts(name), self.attempts("state")
        texts = self.record.wall_clock.texts(np.maximum(seconds, 0))
        for row in np.flatnonzero(seconds < 0).tolist():
            texts[row] = "None" if name == "start" and state[row] != PENDING else "Unknown"
        return texts

    def elapsed(self) -> list[int]:
        """Return the run times in seconds. Attempts that still run count up to the export."""
        start, end = self.attempts("start"), self.attempts("end")
        until = np.where(end >= 0, end, self.accounting.until)
        seconds: list[int] = np.where(start >= 0, np.maximum(until - start, 0), 0).tolist()
        return seconds

    def reasons(self) -> list[str]:
        """Return the last reasons for waiting."""
        waited = self.attempts("start") - self.attempts("eligible")
        codes = np.where(self.jobs("gpus") >= 8, 2, 1)
        codes = np.where((waited >= 0) & (waited <= UNNOTICED_WAIT), 0, codes)
        return [REASONS[code] for code in np.where(self.attempts("number") > 1, 3, codes).tolist()]

    def submit_lines(self, names: list[str]) -> list[str]:
        """Return the command lines with which the jobs were submitted."""
        record, per_node = self.record, self.record.profile.gpus_per_node
        keeps_id = record.ledger.runs["can_requeue"][self.jobs("run")].tolist()
        excludes = [record.ledger.excludes.get(job, ()) for job in self.attempts("job").tolist()]
        excluded = [
            f" --exclude={','.join(record.node_names[node] for node in held)}" if held else "" for held in excludes
        ]
        columns = (self.jobs(name).tolist() for name in ("user", "qos", "gpus", "limit"))
        return [
            f"|sbatch --job-name={name} --account={ACCOUNTS[user % len(ACCOUNTS)]} --partition=train --qos={QOS[qos]} "
            f"--nodes={max(1, gpus // per_node)} --gres=gpu:a100:{min(gpus, per_node)} --time={limit // 60}{'' if keeps else ' --no-requeue'}{without} run.sh"
            for name, user, qos, gpus, limit, keeps, without in zip(names, *columns, keeps_id, excluded, strict=True)
        ]

    def summaries(self) -> list[str]:
        """Return jobstats' summaries, as its epilog writes them into AdminComment once a job has ended."""
        per_node, has_ended = self.record.profile.gpus_per_node, (self.attempts("end") >= 0).tolist()
        shares = (100 * self.record.utilisation[self.rows]).round(2).tolist()
        columns = self.record.node_lists(self.rows), has_ended, shares, self.jobs("gpus").tolist(), self.elapsed()
        return [
            "|" if not (is_over and nodes)
            else "|JS1:Short" if seconds < MIN_SUMMARY_SECONDS
            else f"|{_summary(share, gpus, per_node, seconds)}"
            for nodes, is_over, share, gpus, seconds in zip(*columns, strict=True)
        ]  # fmt: skip


def _summary(share: float, gpus: int, per_node: int, seconds: int) -> str:
    of_node = {"gpu_utilization": {str(gpu): share for gpu in range(min(gpus, per_node))}}
    nodes = {f"n{number}": of_node for number in range(max(1, gpus // per_node))}
    text = json.dumps({"gpus": gpus, "nodes": nodes, "total_time": seconds}, separators=(",", ":"))
    return f"JS1:{base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()}"


def lines_of(day: Day, has_step: NDArray[np.bool_]) -> list[str]:
    """Return the rows of some attempts. The row of a batch step follows the row of its job."""
    record, rows, logs = day.record, day.rows, day.record.profile.logs
    cluster, per_node, users = record.profile.cluster_id, record.profile.gpus_per_node, record.users
    lines: list[str] = []
    names = [record.run_name(code) for code in record.ledger.runs["name"][day.jobs("run")].tolist()]
    tails = day.submit_lines(names) if logs.has_submit_lines else [""] * len(rows)
    if logs.has_job_summaries:
        tails = list(map("".join, zip(tails, day.summaries(), strict=True)))
    step_end = "||||" + "|" * logs.has_submit_lines + "|" * logs.has_job_summaries
    # A job that still waits has no nodes yet, even if it got some later.
    starts = day.attempts("start").tolist()
    where = [nodes if start >= 0 else "" for nodes, start in zip(record.node_lists(rows), starts, strict=True)]
    columns = zip(
        record.shown_job_ids(day.attempts("job")), day.jobs("job_id").tolist(), day.jobs("user").tolist(), day.jobs("qos").tolist(),
        names, day.attempts("state").tolist(), day.states(), day.attempts("exit_code").tolist(), day.attempts("exit_signal").tolist(),
        day.times("submit"), day.times("eligible"), day.times("start"), day.times("end"), day.elapsed(), day.jobs("gpus").tolist(), where,
        (day.jobs("limit") // 60).tolist(), day.reasons(), day.attempts("backfilled").tolist(), tails, has_step[day.attempts("job")].tolist(),
        strict=True,
    )  # fmt: skip
    for (
        shown, raw, user, qos, name, state, state_text, exit_code, exit_signal, submitted, eligible, started, ended, elapsed,
        gpus, nodes, minutes, reason, is_backfilled, tail, is_step_kept,
    ) in columns:  # fmt: skip
        account, node_count = ACCOUNTS[user % len(ACCOUNTS)], gpus // per_node or 1
        requested, placed, scheduler = tres(gpus, node_count), "None assigned|", ""
        if nodes:
            charged = tres(gpus, node_count, charged=node_count * per_node) if logs.charges_whole_nodes else requested
            placed, scheduler = f"{nodes}|{charged}", "SchedBackfill," if is_backfilled else "SchedMain,"
        lines.append(
            f"{shown}|{raw}|{cluster}|{users[user]}|{account}|train|{QOS[qos]}|{name}|{state_text}|{exit_code}:{exit_signal}|0:0|{submitted}|{eligible}|"
            f"{started}|{ended}|{elapsed}|00:00:00|{node_count}|{placed}|{requested}|{minutes}|{reason}|{scheduler}StartRecieved{tail}"
        )
        if is_step_kept and nodes:
            first = nodes if node_count == 1 else nodes.replace("[", "").partition("-")[0].partition(",")[0]
            step_exit = f"{exit_code}:{exit_signal}" if state in STEP_STATES else "0:15"
            lines.append(
                f"{shown}.batch|{raw}.batch|{cluster}||{account}|||batch|{STEP_STATES.get(state, 'CANCELLED')}|{step_exit}||{started}|{started}|"
                f"{started}|{ended}|{elapsed}|00:00:00|1|{first}|{tres(min(gpus, per_node), 1, billing=False)}{step_end}"
            )
    return lines


def write_sacct(record: Record, folder: Path) -> None:
    """Write `sacct-<day>.psv` for every local day on which a job ended, and the open jobs with the last day."""
    habits, accounting = record.profile.logs, Accounting(record.profile, record.ledger)
    has_step = record.rng("sacct").random(len(record.ledger.jobs)) < habits.step_share
    header = f"{HEADER}|SubmitLine" if habits.has_submit_lines else HEADER
    header += "|AdminComment" if habits.has_job_summaries else ""
    ends = accounting.column("end")[accounting.shown]
    days = record.wall_clock.days(np.where(ends >= 0, ends, accounting.until - 1))
    order = np.lexsort((np.where(ends >= 0, ends, accounting.until), days))
    found, firsts = np.unique(days[order], return_index=True)
    for day, rows in zip(found.tolist(), np.split(accounting.shown[order], firsts[1:]), strict=True):
        lines = lines_of(Day(record, rows, accounting), has_step)
        write_lines(folder / f"sacct-{record.wall_clock.date(day)}.psv", [header, *lines])
