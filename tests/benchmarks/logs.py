"""Plain generated logs of any size for the benchmark; they mean nothing, they only weigh something."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

HEADER = (
    "JobID|JobIDRaw|Cluster|User|Account|Partition|QOS|JobName|State|ExitCode|DerivedExitCode|Submit|Eligible|Start|End|"
    "ElapsedRaw|Suspended|NNodes|NodeList|AllocTRES|ReqTRES|TimelimitRaw|Reason|Flags|SubmitLine"
)
START = datetime(2025, 1, 1)
ISO = "%Y-%m-%dT%H:%M:%S"
STATES = ["COMPLETED", "FAILED", "CANCELLED by 1001", "TIMEOUT", "PREEMPTED", "NODE_FAIL"]
SHARES = [0.66, 0.24, 0.05, 0.01, 0.037, 0.003]


def write(folder: Path, attempts: int, nodes: int, days: int, seed: int = 1) -> Path:
    """Write `<folder>/bench/{sacct,kernel,health,events}`, one file per day, and return the folder.

    Parameters
    ----------
    attempts, nodes, days
        Size: about 350 bytes of accounting per attempt, one check record per node and hour.
    """
    rng = np.random.default_rng(seed)
    cluster = folder / "bench"
    for kind in ("sacct", "kernel", "health", "events"):
        (cluster / kind).mkdir(parents=True, exist_ok=True)
    per_day = np.full(days, attempts // days)
    job = 0
    for day, count in enumerate(per_day):
        begin = START + timedelta(days=day)
        _accounting(cluster / "sacct" / f"{begin:%Y-%m-%d}.psv", rng, begin, job, int(count), nodes)
        _kernel(cluster / "kernel" / f"{begin:%Y-%m-%d}.log", rng, begin, nodes)
        _health(cluster / "health" / f"{begin:%Y-%m-%d}.jsonl", rng, begin, nodes)
        job += int(count)
    _events(cluster / "events" / "events.psv", rng, days, nodes)
    return folder


def _accounting(path: Path, rng: np.random.Generator, begin: datetime, first: int, count: int, nodes: int) -> None:
    size = rng.choice([1, 2, 4, 16, 32], count, p=[0.8, 0.08, 0.06, 0.04, 0.02])
    node = rng.integers(1, nodes - 32, count)
    submit = np.sort(rng.integers(0, 43200, count))
    wait, run = rng.integers(1, 3600, count), rng.integers(60, 36000, count)
    state = rng.choice(STATES, count, p=SHARES)
    user = rng.integers(0, 200, count)
    with path.open("w") as file:
        file.write(HEADER + "\n")
        for i in range(count):
            n, gpus = int(size[i]), int(size[i]) * 8
            at = begin + timedelta(seconds=int(submit[i]))
            start = at + timedelta(seconds=int(wait[i]))
            end = start + timedelta(seconds=int(run[i]))
            hosts = f"n{node[i]:04d}" if n == 1 else f"n[{node[i]:04d}-{node[i] + n - 1:04d}]"
            tres = f"billing={gpus * 8},cpu={gpus * 8},gres/gpu:a100={gpus},gres/gpu={gpus},mem={n * 500}G,node={n}"
            file.write(
                f"{first + i + 1}|{first + i + 1}|bench|u{user[i]}|a{user[i] % 20}|train|normal|"
                f"job{user[i]}-{i}|{state[i]}|0:0|0:0|"
                f"{at:{ISO}}|{at:{ISO}}|{start:{ISO}}|{end:{ISO}}|{run[i]}|00:00:00|"
                f"{n}|{hosts}|{tres}|{tres}|10080|None|SchedMain|sbatch --nodes={n} train.sh\n"
            )


def _kernel(path: Path, rng: np.random.Generator, begin: datetime, nodes: int) -> None:
    second = np.sort(rng.integers(0, 86400, 400))
    node, code = rng.integers(1, nodes, 400), rng.choice([13, 31, 48, 63, 74, 79, 94, 119], 400)
    with path.open("w") as file:
        for s, n, x in zip(second, node, code, strict=True):
            at = begin + timedelta(seconds=int(s))
            file.write(f"{at:{ISO}}+00:00 n{n:04d} kernel: NVRM: Xid (PCI:0000:17:00): {x}, pid=1, name=python, text\n")


def _health(path: Path, rng: np.random.Generator, begin: datetime, nodes: int) -> None:
    with path.open("w") as file:
        for hour in range(24):
            epoch = (begin + timedelta(hours=hour)).timestamp()
            bad = rng.random(nodes) < 0.0005
            for n in range(1, nodes + 1):
                record = {
                    "int": {"result": 2 if bad[n - 1] else 0, "job_id": 0},
                    "double": {"start_time": epoch, "end_time": epoch + 1},
                    "normal": {"node": f"n{n:04d}", "cluster": "bench", "derived_cluster": "bench",
                               "health_check": "check ibstat", "type": "nagios", "_msg": "ib link state"},
                    "tags": {},
                }  # fmt: skip
                file.write(json.dumps(record) + "\n")


def _events(path: Path, rng: np.random.Generator, days: int, nodes: int) -> None:
    with path.open("w") as file:
        file.write("Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n")
        for day in range(days):
            for n in rng.integers(1, nodes, 5):
                begin = START + timedelta(days=day, seconds=int(rng.integers(0, 80000)))
                end = begin + timedelta(hours=2)
                file.write(f"bench|n{n:04d}|{begin:{ISO}}|{end:{ISO}}|DOWN*|Not responding|slurm(64030)\n")
