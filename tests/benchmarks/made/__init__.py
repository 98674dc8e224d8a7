"""A made-up cluster: `cluster.sql` says what happens, `lines.sql` how growing files show it, `HABITS` how it differs.

It shares no code with the simulated clusters or with what is measured. The scale multiplies nodes, attempts and
episodes of checks; the days stay.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import duckdb

from orchestration.settings.home import DBT_PROJECT

BEFORE, LAST_DAY = "before", "last-day"
HERE = Path(__file__).parent
MESSAGES = HERE / "messages.csv"
CHECK_NAMES = DBT_PROJECT / "seeds" / "health_checks.csv"
SETTINGS = """\
# A simulated cluster: these logs were made by `tests/benchmarks/made`, nothing in them happened.
simulated = true
timezone = "{timezone}"
gpus_per_node = {gpus_per_node}
gpu_model = "{gpu_model}"
"""
FILES = {
    "sacct": (
        "sacct.psv",
        "JobID|JobIDRaw|Cluster|User|Account|Partition|QOS|JobName|State|ExitCode|DerivedExitCode|Submit|Eligible|Start"
        "|End|ElapsedRaw|Suspended|NNodes|NodeList|AllocTRES|ReqTRES|TimelimitRaw|Reason|Flags|SubmitLine\n",
        True,
    ),
    "health": ("health.jsonl", "", True),
    "kernel": ("kern.log", "", True),
    "slurmctld": ("slurmctld.log", "", True),
    "events": ("events.psv", "Cluster|NodeName|TimeStart|TimeEnd|State|Reason|User\n", False),
    "inventory": ("scontrol_node.txt", "", False),
    "tickets": ("tickets.csv", "ticket_id,node,opened,closed,component,action,status,summary\n", False),
}
"""By kind: its file, the file's first line, and whether some of its lines are damaged."""
BLOCK = 1 << 24


@dataclass(frozen=True)
class Habits:
    """A cluster at scale 1: how large it is, and what is dense and rare in it.

    Attributes
    ----------
    episodes
        Of checks: about nine bad results on a node, and the good one after them.
    wide_share, parts, is_scattered
        Share of the nodes that run jobs of several nodes; into how many lanes each of the others is cut, in turn;
        whether large jobs hold whatever nodes were free, or always the same four.
    nodes_per_rack
        More than 100: nodes have no rack in their names.
    fates
        Shares of attempts below which they lose a node (from the first to the second), are requeued, die of a fault,
        are preempted, fail, are cancelled, time out, run out of memory.
    user_power, array_share, few_names
        Of users; of batches of jobs that are arrays, and that have one of thirty names.
    hot_node, only_good, warnings_end, failures_end, wording_power, is_noisy
        Episodes of the first node for each of another; shares of episodes that are a good result after nothing, and of
        warnings and failures with a good one after them; how uneven wordings are; whether kernels log episodes, too.
    """

    cluster: str
    timezone: str
    gpus_per_node: int
    gpu_model: str
    began_at: datetime
    nodes: int
    min_nodes: int
    days: int
    attempts: int
    episodes: int
    wide_share: float
    parts: tuple[int, ...]
    is_scattered: bool
    nodes_per_rack: int
    fates: tuple[float, ...]
    user_power: float
    array_share: float
    few_names: float
    hot_node: int
    only_good: float
    warnings_end: float
    failures_end: float
    wording_power: float
    is_noisy: bool


HABITS = {
    "growing": Habits(
        "campus", "Europe/Berlin", 4, "A30", datetime(2024, 1, 1), nodes=480, min_nodes=12, days=365,
        attempts=4_000_000, episodes=300_000, wide_share=0.05, parts=(4, 2, 4, 4, 1, 4, 4, 2, 4, 4),
        is_scattered=False, nodes_per_rack=10_000, user_power=0.06, array_share=0.4, few_names=1.0, hot_node=1,
        fates=(0.0, 0.0004, 0.002, 0.003, 0.006, 0.15, 0.21, 0.235, 0.245), only_good=0.0, warnings_end=1.0,
        failures_end=1.0, wording_power=1.0, is_noisy=False,
    ),
    "varied": Habits(
        "foundry", "America/Chicago", 8, "H100", datetime(2025, 1, 15), nodes=1_600, min_nodes=40, days=240,
        attempts=4_000_000, episodes=350_000, wide_share=0.7, parts=(8, 4, 4, 2, 2, 1, 1, 1),
        is_scattered=True, nodes_per_rack=16, user_power=0.585, array_share=0.0, few_names=0.5, hot_node=10,
        fates=(0.0, 0.0003, 0.0012, 0.002, 0.008, 0.19, 0.27, 0.3, 0.305), only_good=0.15, warnings_end=0.3,
        failures_end=0.85, wording_power=1.4, is_noisy=True,
    ),
}  # fmt: skip


def sources_of(name: str, scale: Fraction, logs: Path) -> Path:
    """Give the kept logs of a scale below a folder, which is whole or missing; make them in that case."""
    folder = logs / name / str(scale).replace("/", "-")
    if not folder.exists():
        unfinished = folder.with_name(f"{folder.name}.unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        write(HABITS[name], unfinished, scale)
        unfinished.rename(folder)
    return folder


def write(habits: Habits, folder: Path, scale: Fraction) -> None:
    """Write the logs of all days but the last to `before`, and what the last day adds to them to `last-day`."""
    folder.mkdir(parents=True)
    nodes = max(habits.min_nodes, int(habits.nodes * scale))
    sizes = {"nodes": nodes, "attempts": int(habits.attempts * scale), "episodes": int(habits.episodes * scale)}
    with duckdb.connect(str(folder / "made.duckdb")) as con:
        given = {**asdict(habits), **sizes, "messages": str(MESSAGES), "check_names": str(CHECK_NAMES)}
        for name, value in given.items():
            con.execute(f"set variable {name} = ?", [list(value) if isinstance(value, tuple) else value])
        for script in ("cluster.sql", "lines.sql"):
            con.execute((HERE / script).read_text(encoding="utf-8"))
        for part, kind in ((part, kind) for part in (BEFORE, LAST_DAY) for kind in FILES):
            _write(con, kind, part, folder / part / habits.cluster / kind)
    (folder / "made.duckdb").unlink()
    # An inventory is of the time at which its file was written.
    last_day = (habits.began_at + timedelta(habits.days - 1)).replace(tzinfo=UTC).timestamp()
    os.utime(folder / BEFORE / habits.cluster / "inventory" / FILES["inventory"][0], (last_day, last_day))
    (folder / BEFORE / habits.cluster / "cluster.toml").write_text(SETTINGS.format(**asdict(habits)), encoding="utf-8")


def _write(con: duckdb.DuckDBPyConnection, kind: str, part: str, folder: Path) -> None:
    """Write the lines of a part; an accented letter, which only damage brings, becomes a byte that is not UTF-8."""
    name, first_line, is_damaged = FILES[kind]
    folder.mkdir(parents=True)
    made = folder / "made"
    lines = "unnest(damaged(line, hash(line)))" if is_damaged else "line"
    con.execute(
        f"copy (select {lines} from {kind}_lines where logged_at {'<' if part == BEFORE else '>='}"
        f" began_at() + to_days(getvariable('days') - 1) order by logged_at, line)"
        f" to '{made}' (format csv, header false, delimiter '\x01', quote '', escape '')"
    )
    with made.open("rb") as source, (folder / name).open("wb") as target:
        target.write(first_line.encode() if part == BEFORE else b"")
        while block := source.readlines(BLOCK):
            target.write(b"".join(block).replace("é".encode(), "é".encode("latin-1")))
    made.unlink()


def hold_back(folder: Path, sources: Path) -> Callable[[], None]:
    """Copy all days but the last to `sources`, and give what appends the last day to these files."""
    shutil.copytree(folder / BEFORE, sources, dirs_exist_ok=True)

    def append() -> None:
        for part in sorted(path for path in (folder / LAST_DAY).rglob("*") if path.is_file()):
            with part.open("rb") as source, (sources / part.relative_to(folder / LAST_DAY)).open("ab") as target:
                shutil.copyfileobj(source, target)

    return append
