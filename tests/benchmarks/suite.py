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

from orchestration.settings.home import PROJECT, Home
from tests.benchmarks import checks, machine, results
from tests.benchmarks.measuring import Sample, faultline, measure, megabytes
from tests.benchmarks.queries import questions
from tests.benchmarks.results import CheckLogs, Results, Scale
from tests.benchmarks.steps import estimates_of, models_of, steps_of
from tests.benchmarks.workloads import Workload

Say = Callable[[str], None]
CAPTURE = PROJECT / "data" / "sources" / "testbed"
START_RUNS = 3
MEMORY = "1GB"


def run_fixed(work: Path, say: Say) -> Results:
    """Refresh the committed four-minute capture: what Dagster, dbt and Great Expectations cost before any data.

    A first refresh fills the caches that stand beside the code, so that no later one is charged with them.
    """
    home = Home.at(_emptied(work / "capture"))
    shutil.copytree(CAPTURE, home.sources / CAPTURE.name)
    refresh = faultline("refresh", "--full", "--home", home.root)
    say("fixed cost: refresh of the committed capture, once to warm up and once measured")
    measure(refresh, work / "warm-up.log")
    return Results(machine.describe(work), measure(refresh, work / "fixed.log"), steps_of(home), megabytes(home.root))


def run_scale(workload: Workload, scale: Fraction, logs: Path, work: Path, say: Say) -> Scale:
    """Measure every stage of a workload; where the full refresh fails, there are no others."""
    found = Scale(workload.name, scale, logs_mb=megabytes(logs))
    sources = _emptied(work / "sources")
    add_last_day = workload.hold_back(logs, sources)
    home = Home.at(work / "home", sources)
    say("floor")
    _run_floor(found, sources, work)
    say("full refresh")
    _run_full(found, home, work)
    if home.published_file.exists():
        say(f"full refresh with FAULTLINE_MEMORY={MEMORY}")
        _run_limited(found, Home.at(work / "limited", sources), work)
        add_last_day()
        _run_night(found, home, work, say)
    shutil.rmtree(home.root)
    shutil.rmtree(sources)
    return found


def _run_night(found: Scale, home: Home, work: Path, say: Say) -> None:
    """Add a day, and measure what works on its publication."""
    say("nightly increment")
    found.add(results.NIGHTLY, measure(_refresh(home), work / "nightly.log"))
    found.steps[results.NIGHTLY] = steps_of(home)
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
    """Whether it completes is a result, so it may fail."""
    _emptied(home.root)
    samples: list[Sample] = []
    found.add(results.FULL, measure(_refresh(home), work / "full.log", may_fail=True, samples=samples))
    found.disk_mb[results.FULL] = megabytes(home.root)
    if home.published_file.exists():
        found.steps[results.FULL] = steps_of(home)
        found.estimates, found.models = estimates_of(home, samples), models_of(home, samples)


def _run_limited(found: Scale, home: Home, work: Path) -> None:
    """With little memory; this may fail as well."""
    _emptied(home.root)
    environment = {"FAULTLINE_MEMORY": MEMORY}
    found.add(results.LIMITED, measure(_refresh(home), work / "limited.log", environment, may_fail=True))
    found.disk_mb[results.LIMITED] = megabytes(home.root)
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


def run_checks(work: Path, lines: int, say: Say) -> list[CheckLogs]:
    """Read raw check logs, plain and compressed, by DuckDB's own scan and by the product's reader."""
    found = []
    for form, compressed in (("jsonl", False), ("jsonl.gz", True)):
        say(f"raw check logs: writing {lines:,} lines of {form}")
        sources = checks.write(_emptied(work / "checks"), lines, compressed)
        costs = {}
        for how in ("scan", "read"):
            say(f"raw check logs: {how} {form}")
            target = work / "faultline.duckdb"
            command = [sys.executable, "-m", "tests.benchmarks.checks", how, sources, target]
            costs[how] = measure(command, work / f"checks-{how}.log")
            target.unlink()
        found.append(CheckLogs(form, lines, megabytes(sources / checks.CLUSTER / "health"), **costs))
        shutil.rmtree(sources)
    return found
