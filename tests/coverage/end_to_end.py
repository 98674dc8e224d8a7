"""Coverage of what is published: `python -m tests.coverage.end_to_end --sets 2000` measures every claim.

Data sets of four kinds become clusters of a warehouse, some hundreds at a time; dbt and the estimates make of them
what a refresh would publish.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import pandas as pd

from orchestration.settings.home import Home
from tests.conftest import refresh
from tests.coverage.checks import check_results, kernel_lines
from tests.coverage.claims import CLAIMS, ENOUGH_EVENTS, Claim, Truths, expected_of
from tests.coverage.happenings import live_through
from tests.coverage.logs import first_moment, write_logs
from tests.coverage.sites import Site
from tests.coverage.warehouse import Seen, build, insert, new_home, warehouse_of

STEADY = Site(
    "steady",
    node_count=100,
    load=0.16,
    fault_rate=20.0,
    one_gpu_share=0.2,
    large_share=0.25,
    runtime_factor=2.0,
    reported="failures",
)
KINDS = {
    "steady": STEADY,
    "months": replace(STEADY, month_cv=0.3),
    "switches": replace(STEADY, fault_rate=12.0, switch_rate=80.0, one_gpu_share=0.4),
    "foggy": replace(STEADY, false_alarm_share=0.03, user_failure_share=0.35),
}
DAYS = 60
SETS_AT_ONCE = 200


def data_sets(count: int, first_seed: int) -> Iterator[tuple[str, Seen]]:
    """Make data sets, the kinds in turn."""
    for seed in range(first_seed, first_seed + count):
        kind = list(KINDS)[seed % len(KINDS)]
        happenings = live_through(replace(KINDS[kind], name=f"s{seed:05d}"), DAYS, seed, first_moment(0))
        rng = np.random.default_rng([seed, 5])
        yield kind, (happenings, check_results(happenings, rng), kernel_lines(happenings, rng))


def measure(folder: Path, count: int, first_seed: int) -> dict[str, pd.DataFrame]:
    """Build a warehouse of so many data sets in an empty folder and try every claim on it."""
    home = new_home(folder)
    truths: Truths = {}

    def seen() -> Iterator[Seen]:
        for kind, data_set in data_sets(count, first_seed):
            truths[data_set[0].site.name] = expected_of(kind, data_set[0])
            yield data_set

    insert(home, seen())
    build(home)
    with warehouse_of(home).reading() as con:
        return {claim.name: claim.read(con, truths) for claim in CLAIMS}


def measure_folders(folder: Path, count: int, first_seed: int) -> dict[str, pd.DataFrame]:
    """Write so many data sets as folders of one home, refresh it once, and try every claim on what is published."""
    home = Home.at(folder)
    truths: Truths = {}
    for kind, (happenings, results, lines) in data_sets(count, first_seed):
        truths[happenings.site.name] = expected_of(kind, happenings)
        write_logs(home.sources / happenings.site.name, happenings, results, lines)
    refresh(home)
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        return {claim.name: claim.read(con, truths) for claim in CLAIMS}


def measure_in_turns(count: int, first_seed: int) -> dict[str, pd.DataFrame]:
    """Measure many data sets, some hundreds at a time."""
    parts: dict[str, list[pd.DataFrame]] = {claim.name: [] for claim in CLAIMS}
    for start in range(0, count, SETS_AT_ONCE):
        with TemporaryDirectory() as folder:
            found = measure(Path(folder), min(SETS_AT_ONCE, count - start), first_seed + start)
        for name, frame in found.items():
            parts[name].append(frame)
    return {name: pd.concat(frames, ignore_index=True) for name, frames in parts.items()}


def judged(claim: Claim, found: pd.DataFrame) -> list[tuple[str, int, int, bool]]:
    """Return for each kind, and for all together, its rows that held, those tried, and whether that is as asked.

    Where few events are expected only the lower limit is asked for, of all rows together.
    """
    of_kinds = found[found["kind"].isin(claim.kinds)]
    enough = of_kinds[of_kinds["expected"] >= ENOUGH_EVENTS]
    verdicts = []
    for kind, rows in [*enough.groupby("kind"), ("all of these", enough)]:
        if len(rows):
            held = int(rows["is_held"].sum())
            verdicts.append((str(kind), held, len(rows), claim.holds(held, len(rows))))
    few = of_kinds[of_kinds["expected"] < ENOUGH_EVENTS]
    if len(few):
        held = int(few["is_held"].sum())
        at_least = replace(claim, high=1.0)
        verdicts.append((f"fewer than {ENOUGH_EVENTS} events", held, len(few), at_least.holds(held, len(few))))
    return verdicts


def main() -> None:
    """Read the command line and print what was measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0, help="of the first data set")
    args = parser.parse_args()
    measured = measure_in_turns(args.sets, args.seed)
    for claim in CLAIMS:
        for kind, held, tried, is_as_asked in judged(claim, measured[claim.name]):
            mark = "" if is_as_asked else "  MISSED"
            print(f"{claim.name:<40}{kind:<24}{held / tried:>8.1%} of {tried:>6,}   asked {claim}{mark}")


if __name__ == "__main__":
    main()
