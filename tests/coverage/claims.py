"""What is claimed of published numbers, and how often it held in data sets whose truth is known.

A claim reads the tables of one refresh and gives a row per data set, or per pair or size of one: its kind, whether the
limits held the truth, and how many events were expected, since exact limits of small counts lie on the safe side.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import numpy as np
import pandas as pd

from orchestration.read_commands.plan import RunToPlan, plan_on_cluster
from orchestration.read_commands.published import ReadingError
from tests.coverage.happenings import DAY, Happenings, node_name
from tests.coverage.logs import is_exported
from tests.coverage.truth import chances, exposed, machines

BELOW, ABOVE = 0.02, 0.04
"""How far coverage may lie from nominal: below it anywhere, above it where enough events are expected."""
ENOUGH_EVENTS = 10
NOMINAL = 0.9
LAST_DAYS = 7
PLANNED_GPUS, PLANNED_DAYS = 136, 30
PLANS_AT_ONCE = 40
"""Clusters of a warehouse that are asked for a plan, which takes a second."""


@dataclass(frozen=True)
class Expected:
    """What the planted processes expect of one data set, by population and by size bin."""

    cluster_id: str
    kind: str
    attempts: pd.DataFrame
    """gpu_count, gpu_size_bin, hours, node_days and expected failures of every exported attempt.

    `usual` are the failures that an average month would bring, `of_last_week` those of the last seven days.
    """
    chance_ratio: dict[str, float]
    """Share of the attempts that failed that have a false alarm of each category in their window."""
    lemons: frozenset[str]
    month_cv: float
    machines: tuple[float, float]
    """Physical node-days in use, and the nodes expected to fail in them."""

    def rate(self, population: str) -> tuple[float, float]:
        """Return failures per 1,000 node-days of a population, and how many failures are expected."""
        rows = self.attempts[self.attempts["gpu_count"] > 128] if population == "gpus_gt_128" else self.attempts
        return 1000 * rows["expected"].sum() / rows["node_days"].sum(), rows["expected"].sum()


def expected_of(kind: str, happenings: Happenings) -> Expected:
    """Return what was planted in a history."""
    rows, of_failed = [], []
    for attempt in happenings.attempts:
        if is_exported(attempt, happenings):
            seconds, failures, usual = exposed(happenings, attempt)
            last_week = exposed(happenings, attempt, since=happenings.last - LAST_DAYS * DAY)
            nodes, gpus = len(attempt.nodes), attempt.job.gpus
            size = 1 << (gpus - 1).bit_length()
            days = seconds / DAY * nodes, last_week[0] / DAY * nodes
            rows.append((gpus, size, seconds / 3600, days[0], failures, usual, days[1], last_week[1]))
            if attempt.state in ("FAILED", "REQUEUED", "NODE_FAIL") and attempt.ended < happenings.last:
                of_failed.append(chances(happenings, attempt))
    columns = ["gpu_count", "gpu_size_bin", "hours", "node_days", "expected", "usual"]
    columns += ["node_days_of_last_week", "expected_of_last_week"]
    return Expected(
        cluster_id=happenings.site.name,
        kind=kind,
        attempts=pd.DataFrame(rows, columns=columns),
        chance_ratio=pd.DataFrame(of_failed).mean().to_dict(),
        lemons=frozenset(node_name(happenings.site, node) for node in happenings.lemons),
        month_cv=happenings.site.month_cv,
        machines=machines(happenings),
    )


Truths = dict[str, Expected]
Read = Callable[[duckdb.DuckDBPyConnection, Truths], pd.DataFrame]


@dataclass(frozen=True)
class Claim:
    """One published quantity; `low` and `high` are what is asked of the share of rows that hold."""

    name: str
    read: Read
    low: float = NOMINAL - BELOW
    high: float = NOMINAL + ABOVE
    kinds: tuple[str, ...] = ("steady", "months", "switches", "foggy")

    def holds(self, held: int, tried: int, errors: float = 3.0) -> bool:
        """Tell whether the share is as asked, give or take so many simulation errors."""
        share, padded = held / tried, (held + 1) / (tried + 2)
        error = errors * np.sqrt(padded * (1 - padded) / tried)
        return self.low - error <= share <= self.high + error

    def __str__(self) -> str:
        return f"{self.low:.0%} to {self.high:.0%}"


def _rows(rows: list[tuple[str, bool, float]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=["kind", "is_held", "expected"])


def _inside(low: float | None, value: float, high: float | None) -> bool:
    return (low is None or np.isnan(low) or low <= value) and (high is None or np.isnan(high) or value <= high)


def reference_rate(counted_as: str) -> Read:
    """Limits of r_f of the reference population."""

    def read(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
        found = con.execute(
            "select r.cluster_id, r.population, r.failures_per_1000_node_days_low, r.failures_per_1000_node_days_high "
            "from estimates.est_failure_rates as r join estimates.est_failure_rates as reference "
            "on r.cluster_id = reference.cluster_id and r.population = reference.population and reference.is_reference "
            "where r.counted_as = ?",
            [counted_as],
        ).fetchall()
        rows = []
        for cluster, population, low, high in found:
            rate, expected = truths[cluster].rate(population)
            rows.append((truths[cluster].kind, _inside(low, rate, high), expected))
        return _rows(rows)

    return read


def machines_rate(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
    """Limits of the rate at which nodes in use fail."""
    found = con.execute(
        "select cluster_id, failures_per_1000_node_days_low, failures_per_1000_node_days_high "
        "from estimates.est_failure_rates where population = 'nodes'"
    ).fetchall()
    rows = []
    for cluster, low, high in found:
        node_days, expected = truths[cluster].machines
        rows.append((truths[cluster].kind, _inside(low, 1000 * expected / node_days, high), expected))
    return _rows(rows)


def mttf_by_size(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
    """Limits of the MTTF of each size bin."""
    found = con.execute(
        "select cluster_id, gpu_size_bin, mttf_hours_low, mttf_hours_high from estimates.est_mttf_by_size "
        "where gpu_size_bin is not null"
    ).fetchall()
    sums = {name: truth.attempts.groupby("gpu_size_bin").sum() for name, truth in truths.items()}
    rows = []
    for cluster, size, low, high in found:
        hours, expected = sums[cluster].loc[size, ["hours", "expected"]]
        rows.append((truths[cluster].kind, _inside(low, hours / expected, high), expected))
    return _rows(rows)


def rate_ratios(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
    """Limits of the ratio of two clusters' rates; every cluster is in one pair."""
    names = sorted(truths)
    pairs = set(zip(names[::2], names[1::2], strict=False))
    found = con.execute(
        "select cluster_id, other_cluster_id, population, ratio_low, ratio_high from estimates.est_rate_ratios "
        "where comparison = 'clusters' and is_reference"
    ).fetchall()
    rows = []
    for cluster_id, other, population, low, high in found:
        if (cluster_id, other) in pairs:
            (rate, expected), (other_rate, other_expected) = (
                truths[name].rate(population) for name in (cluster_id, other)
            )
            inside = _inside(low, rate / other_rate, high)
            rows.append((truths[cluster_id].kind, inside, min(expected, other_expected)))
    return _rows(rows)


def chance(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
    """Limits of the share of failed attempts that see a false alarm by chance."""
    found = con.execute(
        "select cluster_id, failure_category, chance_ratio_low, chance_ratio_high, failed_count "
        "from estimates.est_attribution_chance"
    ).fetchall()
    rows = []
    for cluster, category, low, high, count in found:
        truth = truths[cluster]
        share = truth.chance_ratio[category]
        rows.append((truth.kind, _inside(low, share, high), share * count))
    return _rows(rows)


def planned_interruptions(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
    """Limits of the interruptions that `faultline plan` predicts, against those of a month drawn afterwards."""
    paths = con.execute("select path from duckdb_databases() where not internal order by database_oid desc").fetchall()
    costs = {"restart_minutes": 5.0, "write_minutes": 0.0, "queue_minutes": 0.0}
    run = RunToPlan(PLANNED_GPUS, PLANNED_DAYS, 0.9, 60.0, given=costs)
    rows = []
    with TemporaryDirectory() as folder:
        # The file is open here, and a plan wants to open it with other settings.
        published = Path(shutil.copy(paths[0][0], folder))
        plans = {name: _plan(published, name, run) for name in sorted(truths)[:PLANS_AT_ONCE]}
    for seed, (name, plan) in enumerate(plans.items()):
        truth = truths[name]
        large = truth.attempts[truth.attempts["gpu_count"] > 128]
        rng = np.random.default_rng([seed, 6])
        factor = rng.gamma(1 / truth.month_cv**2, truth.month_cv**2) if truth.month_cv else 1.0
        usual = large["usual"].sum() / large["node_days"].sum() * PLANNED_GPUS / 8 * PLANNED_DAYS
        count = rng.poisson(usual * factor)
        if plan:
            inside = _inside(plan["expected_interruptions_low"], count, plan["expected_interruptions_high"])
            rows.append((truth.kind, inside, usual))
    return _rows(rows)


def _plan(published: Path, cluster_id: str, run: RunToPlan) -> dict[str, Any] | None:
    try:
        return plan_on_cluster(published, cluster_id, run)
    except ReadingError:
        return None


def size_slope(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
    """Limits of the slope of the rate over job size, which is 0."""
    found = con.execute("select cluster_id, beta_low, beta_high from estimates.est_scale_tests where beta is not null")
    return _rows(
        [
            (truths[cluster].kind, _inside(low, 0.0, high), truths[cluster].rate("all")[1])
            for cluster, low, high in found.fetchall()
        ]
    )


def weibull_shape(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
    """Limits of the shape of times to failure, which is 1."""
    found = con.execute(
        "select cluster_id, gpu_size_bin, weibull_shape_low, weibull_shape_high from estimates.est_time_to_failure "
        "where weibull_shape is not null"
    ).fetchall()
    sums = {cluster: truth.attempts.groupby("gpu_size_bin")["expected"].sum() for cluster, truth in truths.items()}
    return _rows(
        [
            (truths[cluster].kind, _inside(low, 1.0, high), sums[cluster].get(size, sums[cluster].sum()))
            for cluster, size, low, high in found
        ]
    )


def measured_ettr(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
    """Limits of the mean ETTR of ten runs and more, against the mean over all data sets of the kind."""
    frame = con.execute(
        "select cluster_id, gpu_size_bin, run_count, ettr_measured, ettr_measured_low, ettr_measured_high "
        "from estimates.est_ettr_by_size where ettr_measured is not null and gpu_size_bin >= 8"
    ).df()
    frame["kind"] = [truths[cluster].kind for cluster in frame["cluster_id"]]
    weighted = frame.assign(total=frame["ettr_measured"] * frame["run_count"])
    sums = weighted.groupby(["kind", "gpu_size_bin"])[["total", "run_count"]].sum()
    truth = (sums["total"] / sums["run_count"]).to_dict()
    return _rows(
        [
            (
                row.kind,
                _inside(row.ettr_measured_low, truth[row.kind, row.gpu_size_bin], row.ettr_measured_high),
                row.run_count,
            )
            for row in frame.itertuples()
            if row.run_count >= 10
        ]
    )


def no_change(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
    """No change of the cluster's rate is shown where there was none."""
    found = con.execute(
        "select cluster_id, count(changed_at) filter (failure_category = 'all') from estimates.est_rate_changes "
        "group by cluster_id"
    ).fetchall()
    return _rows([(truths[name].kind, not changes, truths[name].rate("all")[1]) for name, changes in found])


def no_change_of_a_cause(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
    """No change of a single cause's rate is shown in the cluster."""
    found = con.execute(
        "select cluster_id, count(changed_at) filter (failure_category != 'all') from estimates.est_rate_changes "
        "group by cluster_id"
    ).fetchall()
    return _rows([(truths[name].kind, not changes, truths[name].rate("all")[1]) for name, changes in found])


def trend(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
    """The trend test has p of 0.1 and more in nine of ten."""
    found = con.execute(
        "select cluster_id, trend_p_value from estimates.est_rate_changes "
        "where failure_category = 'all' and trend_p_value is not null"
    ).fetchall()
    return _rows([(truths[name].kind, p >= 0.1, truths[name].rate("all")[1]) for name, p in found])


def no_false_lemon(con: duckdb.DuckDBPyConnection, truths: Truths) -> pd.DataFrame:
    """Each name on a list is a lemon; an empty list of a cluster without lemons holds as well."""
    found = con.execute(
        "select l.cluster_id, n.node_name from estimates.est_lemon_nodes as l join marts.dim_nodes as n "
        "using (cluster_id, node_id) where l.verdict = 'lemon'"
    ).fetchall()
    named: dict[str, list[str]] = {name: [] for name in truths}
    for cluster, node in found:
        named[cluster].append(node)
    rows = []
    for cluster, nodes in named.items():
        truth = truths[cluster]
        wrong = sum(node not in truth.lemons for node in nodes)
        rows += [(truth.kind, False, truth.rate("all")[1])] * wrong
        rows += [(truth.kind, True, truth.rate("all")[1])] * max(len(nodes) - wrong, 0 if nodes or truth.lemons else 1)
    return _rows(rows)


CLAIMS = (
    Claim("r_f of the reference population", reference_rate("attempts")),
    Claim("r_f counted as incidents", reference_rate("incidents"), kinds=("steady", "months", "foggy")),
    Claim("rate of machines", machines_rate),
    Claim("MTTF of a size", mttf_by_size),
    Claim("ratio of two clusters' r_f", rate_ratios),
    Claim("interruptions of the month to come", planned_interruptions),
    Claim("share attributed by chance", chance, high=1.0),
    Claim("slope of the rate over job size", size_slope, high=1.0),
    Claim("Weibull shape", weibull_shape, kinds=("steady", "foggy")),
    Claim("mean ETTR of ten runs and more", measured_ettr),
    Claim("no change of a constant rate", no_change, low=0.98, high=1.0, kinds=("steady", "foggy")),
    Claim("no change of a cause's constant rate", no_change_of_a_cause, low=0.9, high=1.0, kinds=("steady", "foggy")),
    Claim("no trend with p < 0.1", trend, low=0.88, high=0.92, kinds=("steady", "foggy")),
    Claim("a name on the list is a lemon", no_false_lemon, low=0.9, high=1.0),
)
