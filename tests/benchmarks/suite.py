"""The runs, in order: every stage a process of its own, on homes that are thrown away.

The last day is held back until the night. Floor and full refresh read the same files; the night adds the day, and all
that follows works on what it published.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb

from orchestration.home import PROJECT, Home
from tests.benchmarks import checks, results
from tests.benchmarks.measuring import Cost, Sample, faultline, measure, megabytes
from tests.benchmarks.queries import questions
from tests.benchmarks.results import CheckLogs, OnSpark, Scale
from tests.benchmarks.steps import models_of, rebuilt_whole, steps_of
from tests.benchmarks.workloads import Workload
from tests.spark import engines

Say = Callable[[str], None]
CAPTURE = PROJECT / "data" / "sources" / "testbed"
START_RUNS = 3
MEMORY = "1GB"
SPARK_PARTITIONS = 8


def run_fixed(work: Path, say: Say) -> tuple[Cost, dict[str, float]]:
    """Refresh the committed four-minute capture: what Dagster, dbt and Great Expectations cost before any data.

    The seconds of its steps come with it.

    A first refresh fills the caches that stand beside the code, so that no later one is charged with them.
    """
    home = Home.at(_emptied(work / "capture"))
    shutil.copytree(CAPTURE, home.sources / CAPTURE.name)
    refresh = faultline("refresh", "--full", "--home", home.root)
    say("fixed cost: refresh of the committed capture, once to warm up and once measured")
    measure(refresh, work / "warm-up.log")
    return measure(refresh, work / "fixed.log"), steps_of(home)


def run_scale(workload: Workload, scale: Fraction, logs: Path, work: Path, runs: int, limited: bool, say: Say) -> Scale:
    """Measure every stage of a workload at one scale; `limited` adds one with little memory and one on one thread."""
    found = Scale(workload.name, scale, logs_mb=megabytes(logs))
    sources = _emptied(work / "sources")
    add_last_day = workload.hold_back(logs, sources)
    home = Home.at(work / "home", sources)
    for number in range(runs):
        of = f" (run {number + 1} of {runs})" if runs > 1 else ""
        say(f"floor{of}")
        _run_floor(found, sources, work)
        say(f"full refresh{of}")
        _run_full(found, home, work)
    if limited:
        say(f"full refresh with FAULTLINE_MEMORY={MEMORY}")
        _run_limited(found, Home.at(work / "limited", sources), work)
        say("full refresh on one thread")
        _run_single(found, Home.at(work / "single", sources), work)
    say("nightly increment")
    add_last_day()
    found.add(results.NIGHTLY, measure(_refresh(home), work / "nightly.log"))
    found.steps[results.NIGHTLY] = steps_of(home)
    found.rebuilt = rebuilt_whole(home)
    found.disk_mb[results.NIGHTLY] = megabytes(home.root)
    _measure_tables(found, home)
    say("no-op refresh, report, queries, start-up")
    for _ in range(START_RUNS):
        found.add(results.NO_OP, measure(_refresh(home), work / "no-op.log"))
    page = work / "page.html"
    command = [sys.executable, "-m", "tests.benchmarks.report", home.working_file, home.build_file, page]
    found.add(results.REPORT, measure(command, work / "report.log"))
    found.disk_mb[results.REPORT] = page.stat().st_size / 1e6
    _run_questions(found, home, work)
    shutil.rmtree(home.root)
    shutil.rmtree(sources)
    return found


def run_spark(workload: Workload, scale: Fraction, logs: Path, work: Path, say: Say) -> OnSpark:
    """Build the dbt project on Spark from the raw tables of a full refresh; DuckDB's time for it is from that one."""
    sources = _emptied(work / "sources")
    workload.hold_back(logs, sources)()
    home = Home.at(_emptied(work / "home"), sources)
    say("Spark: a full refresh for its raw tables")
    measure(_refresh(home), work / "full.log")
    seconds = steps_of(home)["dbt"]
    raw, folder = work / "raw", _emptied(work / "spark")
    measure(faultline("export-raw", raw, "--home", home.root), work / "export.log")
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        attempts = con.execute("select count(*) from marts.fct_attempts").fetchall()[0][0]
    shutil.rmtree(home.root)
    say("Spark: dbt build")
    environment = engines.build_environment(raw, folder, SPARK_PARTITIONS)
    cost = measure(engines.build_command(folder), work / "spark.log", environment, may_fail=True)
    found = OnSpark(workload.name, scale, attempts, cost, megabytes(raw), megabytes(folder), seconds)
    for used in (raw, folder, sources):
        shutil.rmtree(used)
    return found


def _emptied(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _refresh(home: Home) -> list[str | Path]:
    return faultline("refresh", "--home", home.root, "--sources", home.sources)


def _run_floor(found: Scale, sources: Path, work: Path) -> None:
    target = work / "floor.duckdb"
    command = [sys.executable, "-m", "tests.benchmarks.floor", found.workload, sources, target]
    found.add(results.FLOOR, measure(command, work / "floor.log"))
    found.disk_mb[results.FLOOR] = target.stat().st_size / 1e6
    target.unlink()


def _run_full(found: Scale, home: Home, work: Path) -> None:
    _emptied(home.root)
    found.add(results.FULL, measure(_refresh(home), work / "full.log"))
    found.disk_mb[results.FULL] = megabytes(home.root)
    found.steps[results.FULL] = steps_of(home)


def _run_limited(found: Scale, home: Home, work: Path) -> None:
    """Whether it completes is a result, so it may fail."""
    _emptied(home.root)
    environment = {"FAULTLINE_MEMORY": MEMORY}
    found.add(results.LIMITED, measure(_refresh(home), work / "limited.log", environment, may_fail=True))
    found.disk_mb[results.LIMITED] = megabytes(home.root)
    shutil.rmtree(home.root)


def _run_single(found: Scale, home: Home, work: Path) -> None:
    """On one thread nothing runs beside a model, so what is used meanwhile is its own."""
    _emptied(home.root)
    samples: list[Sample] = []
    found.add(results.SINGLE, measure(_refresh(home), work / "single.log", {"FAULTLINE_THREADS": "1"}, samples=samples))
    found.models = models_of(home, samples)
    shutil.rmtree(home.root)


def _measure_tables(found: Scale, home: Home) -> None:
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        found.attempts = con.execute("select count(*) from marts.fct_attempts").fetchall()[0][0]
        found.node_days = con.execute("select count(*) from marts.fct_node_days").fetchall()[0][0]
        found.lines = int(con.execute("select sum(lines_in) from ops.files").fetchall()[0][0])
    found.published_mb = home.published_file.stat().st_size / 1e6
    found.working_mb = home.working_file.stat().st_size / 1e6


def _run_questions(found: Scale, home: Home, work: Path) -> None:
    at_home = ("--home", home.root)
    commands = {
        "query": ("query", "select 1", *at_home),
        "status": ("status", *at_home),
        "tables": ("tables", *at_home),
    }
    for name in results.STARTS:
        for _ in range(START_RUNS):
            found.add(name, measure(faultline(*commands[name]), work / f"{name}.log"))
    for name, sql in questions(home.published_file).items():
        found.asked_seconds[name] = measure(faultline("query", sql, *at_home), work / "question.log").wall_seconds
    log = work / "direct.log"
    measure([sys.executable, "-m", "tests.benchmarks.queries", home.published_file], log)
    found.direct_seconds = json.loads(log.read_text(encoding="utf-8").splitlines()[-1])


def run_checks(work: Path, lines: int, runs: int, say: Say) -> list[CheckLogs]:
    """Read raw check logs, plain and compressed, by DuckDB's own scan and by the product's reader."""
    found = []
    for form, compressed in (("jsonl", False), ("jsonl.gz", True)):
        say(f"raw check logs: writing {lines:,} lines of {form}")
        sources = checks.write(_emptied(work / "checks"), lines, compressed)
        costs: dict[str, list[Cost]] = {"scan": [], "read": []}
        for _ in range(runs):
            for how, measured in costs.items():
                say(f"raw check logs: {how} {form}")
                target = work / "faultline.duckdb"
                command = [sys.executable, "-m", "tests.benchmarks.checks", how, sources, target]
                measured.append(measure(command, work / f"checks-{how}.log"))
                target.unlink()
        scan, read = (min(costs[how], key=lambda cost: cost.cpu_seconds) for how in ("scan", "read"))
        found.append(CheckLogs(form, lines, megabytes(sources / checks.CLUSTER / "health"), scan, read))
        shutil.rmtree(sources)
    return found
