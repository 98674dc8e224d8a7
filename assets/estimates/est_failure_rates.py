"""estimates.est_failure_rates: failures per 1,000 node-days of each cluster, with limits.

Every cluster has all rows, even if nothing can be estimated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assets.estimates.common_columns import CLUSTER, WEIGHTED_METHODS, common_columns
from assets.estimates.table import Column, TableSpec, estimate, node_day_rate, read, with_limits
from assets.rounding import rounded

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

FAILURES = ("failure_count", "failure_variance")
NODE_DAYS = ("node_days",)
RATE = (*FAILURES, *NODE_DAYS)

NEARLY_ALL = 0.9
"""A rate is more than a lower bound if the evidence shows at least this share of failures, by its lower limit."""

TABLE = TableSpec(
    table="est_failure_rates",
    description=(
        "Infrastructure failures per 1,000 node-days inside the study period, without gaps of accounting, with limits, "
        "from marts.fct_attempt_exposures. Attempts that still run count with their time so far. One row per cluster, "
        "population and way of counting."
    ),
    key=("cluster_id", "population", "counted_as"),
    columns=(
        CLUSTER,
        Column(
            "population",
            "varchar",
            "",
            "gpus_gt_128: attempts of jobs above 128 GPUs, the paper's population; whole_nodes: attempts that held "
            "all GPUs of their nodes; all: every attempt; nodes: the nodes themselves, where a day of a node that "
            "several jobs shared counts once.",
            is_required=True,
        ),
        Column(
            "counted_as",
            "varchar",
            "",
            "attempts: expected failed attempts, each weighted by the probability that infrastructure failed it; "
            "incidents: the same for incidents, as failures that share a node or an event within minutes (for "
            "population nodes, each node that an incident took down); attempts_paper, incidents_paper: by the paper's "
            "rule, each attributed failure is certain, and what planned maintenance ended has failed.",
            is_required=True,
        ),
        Column(
            "failure_count",
            "double",
            "failures",
            "Failures, a sum of probabilities. NULL: unknown, for example because none was seen and attempts ended "
            "FAILED on nodes without an understood log.",
        ),
        Column(
            "failure_variance",
            "double",
            "failures squared",
            "Variance of failure_count. Failures share incidents, may be no failures, and depend on uncertain "
            "parameters of the posterior. Equal to failure_count if all are certain and alone. NULL: unknown.",
        ),
        Column(
            "node_days",
            "double",
            "node-days",
            "Allocated nodes times days of all attempts; for population nodes, days that nodes were in use.",
        ),
        *with_limits(
            "failures_per_1000_node_days",
            "failures per 1,000 node-days",
            "Failure rate r_f. NULL: no exposure, or no failure yet.",
            RATE,
            "Upper limit, also without a failure. NULL: no log could have shown failures, or there is no exposure.",
        ),
        Column(
            "unexplained_count",
            "bigint",
            "attempts",
            "Attempts that ended FAILED or REQUEUED without evidence of infrastructure. How many of them "
            "infrastructure failed is unknown; failure_count has none of them. NULL: unknown.",
        ),
        Column(
            "is_lower_bound",
            "boolean",
            "",
            "The true rate may well be higher: attempts ended without evidence, and the evidence is not known to show "
            "90% of what infrastructure ended (est_evidence_reach.low), or there is no evidence.",
            ("is_lower_bound", "est_evidence_reach.low"),
            is_required=True,
        ),
        Column(
            "is_reference",
            "boolean",
            "",
            "The rate behind the theory lines, projections, plans and expected ETTR of this cluster. It is chosen by "
            "exposure alone: gpus_gt_128, else whole_nodes, if it has 300 node-days, else nodes; all if no attempt "
            "has known nodes. Never a rate by the paper's rule.",
            is_required=True,
        ),
        *common_columns(
            WEIGHTED_METHODS,
            "Failures, as failure_count.",
            FAILURES,
            "Node-days, as node_days.",
            NODE_DAYS,
        ),
    ),
    inputs=("inp_failures_counted",),
    estimates=("est_evidence_reach",),
)


def with_rates(counts: pd.DataFrame) -> pd.DataFrame:
    """Add rates and limits to failure counts with their variance and node-days."""
    rate = node_day_rate(counts)
    return counts.assign(
        failures_per_1000_node_days=1000 * np.where(rate.event_count > 0, rate.value, np.nan),
        failures_per_1000_node_days_low=1000 * rate.low,
        failures_per_1000_node_days_high=1000 * rate.high,
        confidence_level=rate.confidence_level,
        method=rate.method,
        event_count=counts["failure_count"],
        exposure=counts["node_days"],
        exposure_unit="node-days",
    )


def with_bound(con: duckdb.DuckDBPyConnection, counts: pd.DataFrame) -> pd.DataFrame:
    """Mark a rate as a lower bound unless the evidence shows that nearly all failures were seen."""
    reach = read(con, "est_evidence_reach")[["cluster_id", "month_date", "low"]]
    joined = counts.merge(reach, "left", ["cluster_id", "month_date"])
    return counts.assign(is_lower_bound=joined["is_lower_bound"] & ~(joined["low"] >= NEARLY_ALL).to_numpy())


def headline(rates: pd.DataFrame) -> str:
    """Return a sentence: each cluster's reference rate with its count and exposure."""
    return "; ".join(
        f"{row['cluster_id']}: {rounded(row['failure_count'], 4)} failures in {rounded(row['node_days'], 4)} node-days "
        f"({row['population']})"
        for row in rates[rates["is_reference"]].to_dict("records")
    )


@estimate(TABLE, headline)
def est_failure_rates(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Put exact limits on the ratio of failures and node-days."""
    counts = with_bound(con, read(con, "inp_failures_counted"))
    return with_rates(counts[counts["month_date"].isna()])
