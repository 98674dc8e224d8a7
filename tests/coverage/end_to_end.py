"""Many data sets as clusters of one home, and a comparison of their publication with the planted truth."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import dagster as dg
import duckdb
import numpy as np
import pandas as pd

import assets.estimates
import assets.raw
from assets.warehouse import Warehouse
from orchestration.dbt.command import DBT
from orchestration.lifecycle.resources import resources
from orchestration.settings.environment import HomeSettings, environment_of_dbt
from orchestration.settings.home import DBT_PROJECT, Home
from tests.conftest import refresh
from tests.coverage.checks import check_results, kernel_lines
from tests.coverage.claims import ATTRIBUTED, PROMISES, R_F, Promise, Row, Truths
from tests.coverage.happenings import live_through
from tests.coverage.logs import first_moment, write_logs
from tests.coverage.sites import FOREIGN, SITES, Site, hard
from tests.coverage.truth import expected_of, failures_of
from tests.truth import scorer
from tests.truth.scorer import Claim, Measure

STEADY = Site(
    "steady", node_count=100, load=0.16, fault_rate=20.0, one_gpu_share=0.2, large_share=0.25, runtime_factor=2.0,
    reported="failures",
)  # fmt: skip
KINDS = {
    "steady": STEADY,
    "months": replace(STEADY, month_cv=0.3),
    "switches": replace(STEADY, fault_rate=12.0, switch_rate=80.0, one_gpu_share=0.4),
    "foggy": replace(STEADY, false_alarm_share=0.03, user_failure_share=0.35),
}
DAYS = 60
SETS_AT_ONCE = 200
NOT_TRIED = frozenset({"est_checkpoint_plans", "est_ettr_grid", "est_lemon_evaluations"})
"""Estimates that no claim reads and that take a second per cluster."""
PROMISED = tuple(claim for promise in PROMISES for claim in promise.claims())
Measures = dict[str, tuple[Measure, ...]]


def promises_measured(sets: int, first_seed: int = 0) -> Measures:
    """Build warehouses of many data sets, the kinds in turn and some hundreds at a time, and measure every promise."""
    rows: list[tuple[str, *Row]] = []
    for start in range(first_seed, first_seed + sets, SETS_AT_ONCE):
        with TemporaryDirectory() as folder:
            home, truths = Home.at(Path(folder)), {}
            for seed in range(start, min(start + SETS_AT_ONCE, first_seed + sets)):
                kind = list(KINDS)[seed % len(KINDS)]
                happenings = live_through(replace(KINDS[kind], name=f"s{seed:05d}"), DAYS, seed, first_moment(0))
                truths[happenings.site.name] = expected_of(kind, happenings)
                rng = np.random.default_rng([seed, 5])
                results, lines = check_results(happenings, rng), kernel_lines(happenings, rng)
                write_logs(home.sources / happenings.site.name, happenings, results, lines)
            build(home)
            with Warehouse(path=str(home.working_file), publication=str(home.build_file)).reading() as con:
                rows += promised_rows(con, truths, PROMISES)
    with duckdb.connect() as con:
        con.execute("create schema judged")
        add_limits(con, rows)
        return scorer.judged(con, PROMISED)


def sites_measured(home: Home, days: int, seed: int, is_hard: bool = False) -> Measures:
    """Refresh clusters of all sites in one home, and measure the attribution and the limits of rates."""
    truths: Truths = {}
    failures, neighbours = [], []
    for index, each in enumerate((*SITES, *FOREIGN)):
        site = hard(each) if is_hard else each
        happenings = live_through(site, days, 1000 * seed + index, first_moment(index))
        rng = np.random.default_rng([1000 * seed + index, 4])
        results, lines = check_results(happenings, rng), kernel_lines(happenings, rng)
        write_logs(home.sources / site.name, happenings, results, lines)
        truths[site.name] = expected_of(site.name, happenings)
        found = failures_of(happenings, results, lines)
        failures += found[0]
        neighbours += found[1]
    refresh(home)
    with scorer.opened(home.published_file, *truths) as con:
        con.execute(
            "create table truth.failures (attempt_id varchar, state varchar, culprit_node varchar, "
            "true_category varchar, visible_category varchar, has_evidence boolean, fault_number bigint, "
            "incident_number bigint)"
        )
        con.execute("create table truth.broken_beside (attempt_id varchar, node varchar, categories varchar[])")
        con.executemany("insert into truth.failures values ($1, $2, $3, $4, $5, $6, $7, $7)", failures)
        con.executemany("insert into truth.broken_beside values ($1, $2, $3)", neighbours)
        scorer.run(con, scorer.HERE / "failures.sql")
        con.execute("use published")
        rows = promised_rows(con, truths, [R_F])
        con.execute("use memory")
        add_limits(con, rows)
        return scorer.judged(con, ATTRIBUTED)


def promised_rows(
    con: duckdb.DuckDBPyConnection, truths: Truths, promises: Iterable[Promise]
) -> list[tuple[str, *Row]]:
    """Return the rows of promises with their names."""
    return [(promise.name, *row) for promise in promises for row in promise.read(con, truths)]


def add_limits(con: duckdb.DuckDBPyConnection, rows: list[tuple[str, *Row]]) -> None:
    """Create the relation `judged.limits` from rows of promises."""
    con.register("rows", pd.DataFrame(rows, columns=["name", "kind", "is_held", "expected"]))
    con.execute("create table judged.limits as from rows")


def build(home: Home) -> None:
    """Load the logs, run dbt without its tests, and compute the estimates that claims read. There is no report."""
    _materialise(home, assets.raw)
    folders = ["--project-dir", str(DBT_PROJECT), "--profiles-dir", str(DBT_PROJECT)]
    outputs = ["--target-path", str(home.root / "dbt"), "--log-path", str(home.root / "dbt")]
    no_tests = ["--exclude-resource-type", "unit_test", "--exclude-resource-type", "test"]
    done = subprocess.run(
        [DBT, "build", "--full-refresh", "--threads", "1", *no_tests, *folders, *outputs],
        env=environment_of_dbt(HomeSettings(home)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    _materialise(home, assets.estimates, NOT_TRIED)


def _materialise(home: Home, package: object, leave_out: frozenset[str] = frozenset()) -> None:
    found = dg.load_assets_from_package_module(package)
    wanted = [asset for asset in found if not leave_out.intersection(key.path[-1] for key in asset.keys)]
    assert dg.materialize(wanted, resources=resources(HomeSettings(home))).success


def lines(claims: Iterable[Claim], measures: Measures) -> Iterator[str]:
    """Yield each measure, and whether it meets the demand."""
    for claim in claims:
        for m in measures[claim.item]:
            numbers = " ".join("-".rjust(7) if share is None else f"{share:>7.1%}" for share in (m.precision, m.recall))
            mark = "" if claim.holds(m) else "  MISSED"
            name = claim.item if m.item == claim.item else f"{claim.item}: {m.item}"
            yield f"{name:<60}{numbers} of {m.planted:>6,}   asked {claim.demand}{mark}"
