"""Claims about published numbers, and how often they held in data sets with a known truth.

A claim reads the tables of one build and returns a row per data set, or per pair or size of one: its kind, whether the
limits held the truth, and the expected events, because exact limits of small counts are conservative.
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

from orchestration.read_commands.plan import RunToPlan, plan_on_cluster
from orchestration.read_commands.published import ReadingError
from tests.coverage.truth import Expected
from tests.truth.scorer import Claim, share

NOMINAL, BELOW, ABOVE = 0.9, 0.02, 0.04
"""The allowed distance of coverage from nominal: below it always, above it only with enough expected events."""
ENOUGH_EVENTS = 10
PLANNED_GPUS, PLANNED_DAYS = 136, 30
PLANS_AT_ONCE = 40
"""Number of clusters of a warehouse that get a plan, which takes a second."""
KINDS = ("steady", "months", "switches", "foggy")

Truths = dict[str, Expected]
Row = tuple[str, bool, float]
"""Kind of the data set, whether the limits held, events expected."""


@dataclass(frozen=True)
class Promise:
    """One published quantity. `low` and `high` limit the demanded share of rows that hold."""

    name: str
    read: Callable[[duckdb.DuckDBPyConnection, Truths], list[Row]]
    low: float = NOMINAL - BELOW
    high: float | None = NOMINAL + ABOVE
    kinds: tuple[str, ...] = KINDS

    def claims(self, relation: str = "limits") -> tuple[Claim, ...]:
        """Return the claims for each kind, for all kinds, and, from below only, for rows with few expected events."""
        of = f"name = '{self.name}' and list_contains({list(self.kinds)}, kind)"
        asked: dict[str, Any] = {"recall": self.low, "at_most": self.high, "errors": 3.0}
        enough, few = f"{of} and expected >= {ENOUGH_EVENTS}", f"{of} and expected < {ENOUGH_EVENTS}"
        return (
            share(f"{self.name}, by kind", relation, "is_held", enough, by="kind", **asked),
            share(f"{self.name}, all kinds", relation, "is_held", enough, is_rare=True, **asked),
            share(f"{self.name}, few events", relation, "is_held", few, is_rare=True, **asked | {"at_most": None}),
        )


def inside(low: float | None, value: float, high: float | None) -> bool:
    """Return whether limits hold a value. None is no limit."""
    return (low is None or np.isnan(low) or low <= value) and (high is None or np.isnan(high) or value <= high)


def limits(name: str, query: str, truth_of: Callable[..., tuple[float, float] | None], **asked: Any) -> Promise:
    """Promise that limits hold a truth.

    `query` returns a cluster, a low and a high limit, and the arguments of `truth_of` after the truths and the cluster.
    `truth_of` returns the truth and the expected events, or None to skip the row.
    """

    def read(con: duckdb.DuckDBPyConnection, truths: Truths) -> list[Row]:
        found = [(row[:3], truth_of(truths, row[0], *row[3:])) for row in con.execute(query).fetchall()]
        return [
            (truths[cluster].kind, inside(low, truth[0], high), truth[1])
            for (cluster, low, high), truth in found
            if truth
        ]

    return Promise(name, read, **asked)


def _r_f(counted_as: str) -> str:
    return f"""
        select r.cluster_id, r.failures_per_1000_node_days_low, r.failures_per_1000_node_days_high, r.population
        from estimates.est_failure_rates as r join estimates.est_failure_rates as reference
        on r.cluster_id = reference.cluster_id and r.population = reference.population and reference.is_reference
        where r.counted_as = '{counted_as}'
    """


def _rate(truths: Truths, cluster: str, population: str) -> tuple[float, float]:
    return truths[cluster].rate(population)


def _machines(truths: Truths, cluster: str) -> tuple[float, float]:
    node_days, expected = truths[cluster].machines
    return 1000 * expected / node_days, expected


def _mttf(truths: Truths, cluster: str, size: int) -> tuple[float, float]:
    hours, expected = truths[cluster].of_size(size)
    return hours / expected, expected


def _ratio(truths: Truths, cluster: str, other: str, population: str) -> tuple[float, float] | None:
    names = sorted(truths)
    if (cluster, other) not in zip(names[::2], names[1::2], strict=False):
        return None
    (rate, expected), (other_rate, other_expected) = (truths[name].rate(population) for name in (cluster, other))
    return rate / other_rate, min(expected, other_expected)


def _chance(truths: Truths, cluster: str, category: str, count: int) -> tuple[float, float]:
    ratio = truths[cluster].chance_ratio[category]
    return ratio, ratio * count


def _known(value: float) -> Callable[..., tuple[float, float]]:
    """Return a function of a truth that is the same everywhere."""
    return lambda truths, cluster, *_: (value, truths[cluster].rate("all")[1])


def _is_lemon(truths: Truths, cluster: str, node: str | None) -> tuple[float, float] | None:
    """Check that each name on a list is a lemon. An empty list of a cluster without lemons holds as well."""
    lemons = truths[cluster].lemons
    return None if node is None and lemons else (float(node is None or node in lemons), truths[cluster].rate("all")[1])


def planned_interruptions(con: duckdb.DuckDBPyConnection, truths: Truths) -> list[Row]:
    """Compare the interruptions that `faultline plan` predicts with those of a month drawn afterwards."""
    paths = con.execute("select path from duckdb_databases() where not internal order by database_oid desc").fetchall()
    costs = {"restart_minutes": 5.0, "write_minutes": 0.0, "queue_minutes": 0.0}
    run = RunToPlan(PLANNED_GPUS, PLANNED_DAYS, 0.9, 60.0, given=costs)
    rows: list[Row] = []
    with TemporaryDirectory() as folder:
        # The file is open here, and a plan has to open it with other settings.
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
            is_held = inside(plan["expected_interruptions_low"], count, plan["expected_interruptions_high"])
            rows.append((truth.kind, is_held, usual))
    return rows


def _plan(published: Path, cluster_id: str, run: RunToPlan) -> dict[str, Any] | None:
    try:
        return plan_on_cluster(published, cluster_id, run)
    except ReadingError:
        return None


def measured_ettr(con: duckdb.DuckDBPyConnection, truths: Truths) -> list[Row]:
    """Compare the limits of the mean ETTR of ten and more runs with the mean over all data sets of the kind."""
    frame = con.execute(
        "select cluster_id, gpu_size_bin, run_count, ettr_measured, ettr_measured_low, ettr_measured_high "
        "from estimates.est_ettr_by_size where ettr_measured is not null and gpu_size_bin >= 8"
    ).df()
    frame["kind"] = [truths[cluster].kind for cluster in frame["cluster_id"]]
    weighted = frame.assign(total=frame["ettr_measured"] * frame["run_count"])
    sums = weighted.groupby(["kind", "gpu_size_bin"])[["total", "run_count"]].sum()
    truth = (sums["total"] / sums["run_count"]).to_dict()
    return [
        (
            row.kind,
            inside(row.ettr_measured_low, truth[row.kind, row.gpu_size_bin], row.ettr_measured_high),
            row.run_count,
        )
        for row in frame.itertuples()
        if row.run_count >= 10
    ]


CHANGES = """
    select cluster_id, n, n from (
        select cluster_id, count(changed_at) filter (failure_category {} 'all') as n
        from estimates.est_rate_changes group by cluster_id
    )
"""
R_F = limits("r_f of the reference population", _r_f("attempts"), _rate)
PROMISES = (
    R_F,
    limits("r_f counted as incidents", _r_f("incidents"), _rate, kinds=("steady", "months", "foggy")),
    limits(
        "rate of machines",
        "select cluster_id, failures_per_1000_node_days_low, failures_per_1000_node_days_high "
        "from estimates.est_failure_rates where population = 'nodes'",
        _machines,
    ),
    limits(
        "MTTF of a size",
        "select cluster_id, mttf_hours_low, mttf_hours_high, gpu_size_bin from estimates.est_mttf_by_size "
        "where gpu_size_bin is not null",
        _mttf,
    ),
    # Every cluster is in one pair.
    limits(
        "ratio of the r_f of two clusters",
        "select cluster_id, ratio_low, ratio_high, other_cluster_id, population from estimates.est_rate_ratios "
        "where comparison = 'clusters' and is_reference",
        _ratio,
    ),
    Promise("interruptions of the month to come", planned_interruptions),
    limits(
        "share attributed by chance",
        "select cluster_id, chance_ratio_low, chance_ratio_high, failure_category, failed_count "
        "from estimates.est_attribution_chance",
        _chance,
        high=None,
    ),
    limits(
        "slope of the rate over job size",
        "select cluster_id, beta_low, beta_high from estimates.est_scale_tests where beta is not null",
        _known(0.0),
        high=None,
    ),
    limits(
        "Weibull shape",
        "select cluster_id, weibull_shape_low, weibull_shape_high, gpu_size_bin from estimates.est_time_to_failure "
        "where weibull_shape is not null",
        lambda truths, cluster, size: (1.0, truths[cluster].of_size(size)[1]),
        kinds=("steady", "foggy"),
    ),
    Promise("mean ETTR of ten runs and more", measured_ettr),
    limits("no change of a constant rate", CHANGES.format("="), _known(0.0), low=0.98, high=None,
           kinds=("steady", "foggy")),
    limits("no change of the constant rate of a cause", CHANGES.format("!="), _known(0.0), low=0.9, high=None,
           kinds=("steady", "foggy")),
    limits(
        "no trend with p < 0.1",
        "select cluster_id, 0.1::double, null, trend_p_value from estimates.est_rate_changes "
        "where failure_category = 'all' and trend_p_value is not null",
        lambda truths, cluster, p: (p, truths[cluster].rate("all")[1]),
        low=0.88, high=0.92, kinds=("steady", "foggy"),
    ),
    limits(
        "a name on the list is a lemon",
        "select c.cluster_id, 1, null, n.node_name from marts.dim_clusters as c left join (estimates.est_lemon_nodes "
        "as l join marts.dim_nodes as n using (cluster_id, node_id)) on c.cluster_id = l.cluster_id "
        "and l.verdict = 'lemon'",
        _is_lemon, low=0.9, high=None,
    ),
)  # fmt: skip
"""With a high of None, limits only have to hold often enough: a share of 1 is as good."""
LEFT_EVIDENCE = "has_evidence and state in ('FAILED', 'REQUEUED')"
NAMED = "is_probable and (has_evidence or not is_planted) and state in ('FAILED', 'REQUEUED')"
ATTRIBUTED = (
    # NODE_FAIL needs no attribution.
    Claim("failures with evidence, at p >= 0.5", "failures", LEFT_EVIDENCE, NAMED, precision=0.88, recall=0.9),
    share("culprit nodes", "failures", "is_culprit", f"is_probable and {LEFT_EVIDENCE}", recall=0.95),
    share("planted rates within the limits of r_f", "limits", "is_held", f"name = '{R_F.name}'", recall=0.8),
)
"""Claims about the failures of `sites.SITES` and `sites.FOREIGN`, all together."""
