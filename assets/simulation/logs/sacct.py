"""Accounting as `sacct -a -D -P --noconvert` prints it, one file per day of the jobs' end; open jobs in the last file."""

from __future__ import annotations

from collections import defaultdict
from datetime import date
from pathlib import Path

from assets.simulation.logs.record import ACCOUNTS, CPUS_PER_GPU, FIRST_UID, MEMORY_MB_PER_GPU, Record, write_lines
from assets.simulation.states import CANCELLED, COMPLETED, FAILED, OUT_OF_MEMORY, PENDING, QOS, RUNNING, STATES

HEADER = (
    "JobID|JobIDRaw|Cluster|User|Account|Partition|QOS|JobName|State|ExitCode|DerivedExitCode|Submit|Eligible|Start|End|ElapsedRaw|"
    "Suspended|NNodes|NodeList|AllocTRES|ReqTRES|TimelimitRaw|Reason|Flags|SubmitLine"
)
STEP_SHARE = 0.35
"""Share of jobs whose batch step is kept in the accounting."""
STEP_STATES = {COMPLETED: "COMPLETED", FAILED: "FAILED", OUT_OF_MEMORY: "OUT_OF_MEMORY", RUNNING: "RUNNING"}


def tres(gpus: int, nodes: int, billing: bool = True) -> str:
    """Write trackable resources in Slurm's order."""
    cpus = gpus * CPUS_PER_GPU
    first = f"billing={cpus}," if billing else ""
    return f"{first}cpu={cpus},gres/gpu:a100={gpus},gres/gpu={gpus},mem={gpus * MEMORY_MB_PER_GPU}M,node={nodes}"


def submit_line(record: Record, job: int) -> str:
    """Write the command line a job was submitted with."""
    jobs, runs = record.ledger.jobs, record.ledger.runs
    run, gpus = int(jobs["run"][job]), int(jobs["gpus"][job])
    per_node = record.profile.gpus_per_node
    parts = [
        f"sbatch --job-name={record.run_name(int(runs['name'][run]))} --account={account(record, job)} --partition=train --qos={QOS[int(jobs['qos'][job])]}",
        f"--nodes={max(1, gpus // per_node)} --gres=gpu:a100:{min(gpus, per_node)} --time={int(jobs['limit'][job]) // 60}",
    ]
    if not runs["can_requeue"][run]:
        parts.append("--no-requeue")
    excluded = record.ledger.excludes.get(job, ())
    if excluded:
        parts.append(f"--exclude={','.join(record.node_names[node] for node in excluded)}")
    return " ".join([*parts, "run.sh"])


def account(record: Record, job: int) -> str:
    """Give the account of a job's user."""
    return ACCOUNTS[int(record.ledger.jobs["user"][job]) % len(ACCOUNTS)]


def _reason(record: Record, attempt: int) -> str:
    attempts = record.ledger.attempts
    if attempts["number"][attempt] > 1:
        return "BeginTime"
    waited = attempts["start"][attempt] - attempts["eligible"][attempt]
    return (
        "None"
        if 0 <= waited <= 60
        else "Resources"
        if record.ledger.jobs["gpus"][attempts["job"][attempt]] >= 8
        else "Priority"
    )


def rows_of(record: Record, attempt: int, with_step: bool) -> list[str]:
    """Write an attempt's row and, if asked, the row of its batch step."""
    ledger = record.ledger
    attempts, jobs = ledger.attempts, ledger.jobs
    job = int(attempts["job"][attempt])
    state, start, end = (int(attempts[name][attempt]) for name in ("state", "start", "end"))
    gpus, shown, raw = int(jobs["gpus"][job]), record.shown_job_id(job), int(jobs["job_id"][job])
    node_count = max(1, gpus // record.profile.gpus_per_node)
    nodes = ledger.nodes[attempt].tolist()
    until = end if end >= 0 else record.profile.horizon
    state_text = STATES[state]
    if state == CANCELLED:
        state_text = f"CANCELLED by {FIRST_UID + int(jobs['user'][job])}"
    exit_code = f"{int(attempts['exit_code'][attempt])}:{int(attempts['exit_signal'][attempt])}"
    started = record.text(start) if start >= 0 else "Unknown" if state == PENDING else "None"
    ended = record.text(end) if end >= 0 else "Unknown"
    elapsed = max(0, until - start) if start >= 0 else 0
    scheduler = "SchedBackfill" if attempts["backfilled"][attempt] else "SchedMain"
    row = (
        shown, raw, record.profile.cluster_id, record.user(int(jobs["user"][job])), account(record, job), "train", QOS[int(jobs["qos"][job])],
        record.run_name(int(ledger.runs["name"][jobs["run"][job]])), state_text, exit_code, "0:0", record.text(int(attempts["submit"][attempt])),
        record.text(int(attempts["eligible"][attempt])), started, ended, elapsed, "00:00:00", node_count,
        record.node_list(nodes) if nodes else "None assigned", tres(gpus, node_count) if nodes else "", tres(gpus, node_count),
        int(jobs["limit"][job]) // 60, _reason(record, attempt), f"{scheduler},StartRecieved" if nodes else "StartRecieved",
        submit_line(record, job),
    )  # fmt: skip
    rows = ["|".join(map(str, row))]
    if with_step and nodes:
        on_first = min(gpus, record.profile.gpus_per_node)
        step_exit = exit_code if state in STEP_STATES else "0:15"
        step = (
            f"{shown}.batch", f"{raw}.batch", record.profile.cluster_id, "", account(record, job), "", "", "batch", STEP_STATES.get(state, "CANCELLED"),
            step_exit, "", started, started, started, ended, elapsed, "00:00:00", 1, record.node_names[nodes[0]], tres(on_first, 1, billing=False),
            "", "", "", "", "",
        )  # fmt: skip
        rows.append("|".join(map(str, step)))
    return rows


def write_sacct(record: Record, folder: Path) -> None:
    """Write `sacct-<day>.psv` for every day on which a job ended, and the open jobs with the last day."""
    attempts = record.ledger.attempts
    ends = attempts["end"]
    last = record.day(record.profile.horizon - 1)
    has_step = record.rng("sacct").random(len(record.ledger.jobs)) < STEP_SHARE
    order = sorted(range(len(attempts)), key=lambda a: (int(ends[a]) if ends[a] >= 0 else record.profile.horizon, a))
    days: dict[date, list[str]] = defaultdict(lambda: [HEADER])
    for attempt in order:
        day = record.day(int(ends[attempt])) if ends[attempt] >= 0 else last
        days[day].extend(rows_of(record, attempt, bool(has_step[attempts["job"][attempt]])))
    for day, lines in days.items():
        write_lines(folder / f"sacct-{day:%Y-%m-%d}.psv", lines)
