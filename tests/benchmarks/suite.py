"""The runs, in order: every stage a process of its own, on homes that are thrown away.

The last day is held back until the night. Floor and full refresh read the same files; the night adds the day, and all
that follows works on what it published.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

import duckdb

from assets.warehouse import one_value
from orchestration.runs.instance import open_storage
from orchestration.settings.home import PROJECT, Home
from tests.benchmarks.measuring import Cost, describe_machine, faultline, measure, megabytes
from tests.benchmarks.queries import questions
from tests.benchmarks.workloads import Workload

Say = Callable[[str], None]
CAPTURE = PROJECT / "data" / "sources" / "testbed"
START_RUNS = 3
MEMORY = "1GB"
MAX_LOAD = 3
"""Of the machine before a stage: above it, the machine had other work as well."""
FLOOR, FULL, LIMITED = "floor", "full refresh", "full refresh, 1 GB"
NIGHTLY, NO_OP = "nightly increment", "no-op refresh"
STARTS = {"query": ("query", "select 1"), "status": ("status",)}
MODEL, ESTIMATE = "model ", "estimate "


@dataclass
class Scale:
    """One workload.

    Attributes
    ----------
    attempts, lines, logs_mb
        What was read, the last day included: attempts, lines of all logs, and the size of all logs.
    costs
        Of each stage the quickest run, by its name.
    steps
        Seconds of each step of a full refresh and of a night, by the name of the stage, the longest first.
    disk_mb
        What each stage left on the disk, without the logs, by its name.
    published_mb
        Size of the published file after the night.
    asked_seconds
        Wall seconds of each analyst's question through `faultline query`.
    """

    workload: str
    scale: Fraction
    attempts: int = 0
    lines: int = 0
    logs_mb: float = 0
    costs: dict[str, Cost] = field(default_factory=dict)
    steps: dict[str, dict[str, float]] = field(default_factory=dict)
    disk_mb: dict[str, float] = field(default_factory=dict)
    published_mb: float = 0
    asked_seconds: dict[str, float] = field(default_factory=dict)

    @property
    def is_measured_alone(self) -> bool:
        """Whether the machine had no other work."""
        return all(cost.load <= MAX_LOAD for cost in self.costs.values())


@dataclass
class Results:
    """All of one benchmark: the machine, the refresh of the committed capture with its steps, and the workloads."""

    machine: dict[str, str]
    fixed: Cost
    fixed_steps: dict[str, float]
    scales: list[Scale] = field(default_factory=list)


def run_fixed(work: Path, say: Say) -> Results:
    """Refresh the committed four-minute capture: what Dagster, dbt and Great Expectations cost before any data.

    A first refresh fills the caches that stand next to the code, so that no later one is charged with them.
    """
    home = Home.at(_emptied(work / "capture"))
    shutil.copytree(CAPTURE, home.sources / CAPTURE.name)
    refresh = faultline("refresh", "--full", "--home", home.root)
    say("fixed cost: refresh of the committed capture, once to warm up and once measured")
    measure(refresh, work / "warm-up.log")
    return Results(describe_machine(), measure(refresh, work / "fixed.log"), steps_of(home))


def run_scale(workload: Workload, scale: Fraction, logs: Path, work: Path, say: Say) -> Scale:
    """Measure every stage of a workload; where the full refresh fails, there are no others."""
    found = Scale(workload.name, scale, logs_mb=megabytes(logs))
    sources = _emptied(work / "sources")
    add_last_day = workload.hold_back(logs, sources)
    home = Home.at(_emptied(work / "home"), sources)
    say(FLOOR)
    target = work / "floor.duckdb"
    command = [sys.executable, "-m", "tests.benchmarks.floor", sources, target]
    found.costs[FLOOR] = measure(command, work / "floor.log")
    found.disk_mb[FLOOR] = target.stat().st_size / 1e6
    target.unlink()
    _refresh(found, FULL, home, work, say)
    if home.published_file.exists():
        limited = Home.at(_emptied(work / "limited"), sources)
        _refresh(found, LIMITED, limited, work, say, {"FAULTLINE_MEMORY": MEMORY})
        shutil.rmtree(limited.root)
        add_last_day()
        _refresh(found, NIGHTLY, home, work, say)
        _measure_tables(found, home)
        say("no-op refresh, queries, start-up")
        found.costs[NO_OP] = _quickest(_refreshing(home), work)
        _run_questions(found, home, work)
    shutil.rmtree(home.root)
    shutil.rmtree(sources)
    return found


def steps_of(home: Home) -> dict[str, float]:
    """Give the seconds of the last refresh by step, the longest first.

    Stages stand under their names; the parts of the stage `dbt` as `model <name>`, `dbt seeds`, `dbt tests`, those of
    the stage `estimates` as `estimate <name>`.
    """
    with duckdb.connect(str(home.working_file), read_only=True) as con:
        run_id = one_value(con, "select arg_max(run_id, started_at) from ops.runs")
        found = dict(con.execute("select stage, seconds from ops.stages where run_id = ?", [run_id]).fetchall())
    results = home.work / "dbt" / "run_results.json"
    for result in json.loads(results.read_text(encoding="utf-8"))["results"]:
        kind, _, name = result["unique_id"].partition(".")
        step = f"{MODEL}{name.rpartition('.')[2]}" if kind == "model" else f"dbt {kind}s"
        found[step] = found.get(step, 0) + result["execution_time"]
    with open_storage(home) as instance:
        for step in instance.get_run_step_stats(run_id):
            prefix, _, name = step.step_key.partition("__")
            if prefix == "estimates" and step.start_time and step.end_time:
                found[f"{ESTIMATE}{name}"] = step.end_time - step.start_time
    return dict(sorted(found.items(), key=lambda step: -step[1]))


def _refresh(
    found: Scale, stage: str, home: Home, work: Path, say: Say, environment: dict[str, str] | None = None
) -> None:
    """Measure a refresh; whether it completes is a result, so it may fail."""
    say(stage)
    found.costs[stage] = measure(_refreshing(home), work / "refresh.log", environment, may_fail=stage != NIGHTLY)
    found.disk_mb[stage] = megabytes(home.root)
    if stage != LIMITED and home.published_file.exists():
        found.steps[stage] = steps_of(home)


def _refreshing(home: Home) -> list[str | Path]:
    return faultline("refresh", "--home", home.root, "--sources", home.sources)


def _quickest(command: list[str | Path], work: Path) -> Cost:
    return min((measure(command, work / "started.log") for _ in range(START_RUNS)), key=lambda cost: cost.wall_seconds)


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _measure_tables(found: Scale, home: Home) -> None:
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        ((found.attempts, lines),) = con.execute(
            "select (select count(*) from marts.fct_attempts), (select sum(lines_in) from ops.files)"
        ).fetchall()
    found.lines = int(lines)
    found.published_mb = home.published_file.stat().st_size / 1e6


def _run_questions(found: Scale, home: Home, work: Path) -> None:
    at_home = ("--home", home.root)
    for name, words in STARTS.items():
        found.costs[name] = _quickest(faultline(*words, *at_home), work)
    for name, sql in questions(home.published_file).items():
        found.asked_seconds[name] = measure(faultline("query", sql, *at_home), work / "question.log").wall_seconds
