"""Run with `make benchmark`; prints wall seconds of both, their ratio, and the ratio without the fixed cost.

The fixed cost is a refresh of the committed four-minute capture: starting Dagster, dbt and Great Expectations.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

from tests.benchmarks import logs

HERE = Path(__file__).parent
PROJECT = HERE.parents[1]


def handwritten(folder: Path, scratch: Path) -> float:
    """Seconds of the script in `handwritten.sql`, writing to a file as a refresh does."""
    target = scratch / "hand.duckdb"
    target.unlink(missing_ok=True)
    started = time.perf_counter()
    with duckdb.connect(str(target)) as con:
        con.execute("set timezone = 'UTC'")
        con.execute("set variable folder = ?", [str(folder)])
        con.execute((HERE / "handwritten.sql").read_text())
    return time.perf_counter() - started


def refresh(sources: Path, scratch: Path) -> float:
    """Seconds of `faultline refresh` into a new home, as a whole process."""
    home = scratch / "home"
    shutil.rmtree(home, ignore_errors=True)
    command = [Path(sys.executable).with_name("faultline"), "refresh", "--home", home, "--sources", sources]
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def describe(name: str, seconds: list[float]) -> None:
    """Print one row: minimum, median, maximum."""
    print(f"{name:<34}{min(seconds):8.2f}{statistics.median(seconds):8.2f}{max(seconds):8.2f}")


def main() -> None:
    """Generate, time in turn, print."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--attempts", type=int, default=500_000)
    parser.add_argument("--nodes", type=int, default=1_000)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="faultline-benchmark-") as name:
        scratch = Path(name)
        sources = logs.write(scratch / "sources", options.attempts, options.nodes, options.days)
        megabytes = sum(path.stat().st_size for path in sources.rglob("*") if path.is_file()) / 1e6
        print(
            f"{options.attempts:,} attempts, {options.nodes:,} nodes, {options.days} days, {megabytes:,.0f} MB of logs"
        )
        print(f"{'wall seconds':<34}{'min':>8}{'median':>8}{'max':>8}")
        capture = scratch / "capture"
        shutil.copytree(PROJECT / "data" / "sources" / "testbed", capture / "testbed")
        fixed, hand, ours = [], [], []
        for _ in range(options.runs):
            fixed.append(refresh(capture, scratch))
            hand.append(handwritten(sources, scratch))
            ours.append(refresh(sources, scratch))
    describe("refresh of the capture (fixed cost)", fixed)
    describe("hand-written script", hand)
    describe("refresh", ours)
    by_hand, floor = statistics.median(hand), statistics.median(fixed)
    print(f"ratio refresh / script             {statistics.median(ours) / by_hand:8.2f}")
    print(f"ratio without the fixed cost       {(statistics.median(ours) - floor) / by_hand:8.2f}")


if __name__ == "__main__":
    main()
