"""estimates.est_failure_rates: failures per 1,000 node-days of each cluster, with exact Poisson limits.

Read from marts.fct_attempts; every cluster has its four rows, also where nothing can be estimated.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg
import numpy as np

from assets.estimates.evidence import CLUSTER, GARWOOD_METHODS, evidence
from assets.estimates.table import Column, TableSpec, estimate, numbers, write
from assets.model.failure_rate import garwood_interval
from assets.warehouse import Warehouse

if TYPE_CHECKING:
    import pandas as pd

FAILURES = (
    "marts.fct_attempts.is_infrastructure_failure",
    "marts.fct_attempts.incident_id",
    "marts.fct_attempts.gpu_count",
    "marts.fct_attempts.is_terminal",
)
NODE_DAYS = ("marts.fct_attempts.node_days", "marts.fct_attempts.gpu_count", "marts.fct_attempts.is_terminal")
RATE = (*FAILURES, NODE_DAYS[0])

TABLE = TableSpec(
    table="est_failure_rates",
    description=(
        "Infrastructure failures per 1,000 node-days with exact (Garwood) limits, from finished attempts in "
        "marts.fct_attempts. One row per cluster, population and way of counting."
    ),
    key=("cluster_id", "population", "counted_as"),
    columns=(
        CLUSTER,
        Column(
            "population",
            "varchar",
            "",
            "gpus_gt_128: attempts with more than 128 GPUs, the paper's population; all: every attempt.",
            is_required=True,
        ),
        Column(
            "counted_as",
            "varchar",
            "",
            "attempts: each failed attempt is a failure, what users feel; incidents: failures that share a node or an "
            "event within minutes are one, what nodes do.",
            is_required=True,
        ),
        Column("failure_count", "bigint", "failures", "Failures counted. NULL: cannot be known.", FAILURES),
        Column(
            "node_days", "double", "node-days", "Allocated nodes times days, over all finished attempts.", NODE_DAYS
        ),
        Column(
            "failures_per_1000_node_days",
            "double",
            "failures per 1,000 node-days",
            "Failure rate r_f. NULL: no exposure, or no failure yet; the upper limit then still holds.",
            RATE,
        ),
        Column("failures_per_1000_node_days_low", "double", "failures per 1,000 node-days", "Lower limit.", RATE),
        Column("failures_per_1000_node_days_high", "double", "failures per 1,000 node-days", "Upper limit.", RATE),
        Column(
            "is_reference",
            "boolean",
            "",
            "The rate that theory lines, projections and expected ETTR of this cluster are built on: gpus_gt_128 "
            "counted as attempts, or all where that population has no failure.",
            FAILURES,
            is_required=True,
        ),
        *evidence(
            GARWOOD_METHODS,
            "Failures counted, as failure_count.",
            FAILURES,
            "Node-days, as node_days.",
            NODE_DAYS,
        ),
    ),
)


def with_rates(counts: pd.DataFrame) -> pd.DataFrame:
    """Add rates and limits to failure counts and node-days."""
    rate = garwood_interval(numbers(counts, "failure_count"), numbers(counts, "node_days"))
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


def headline(rates: pd.DataFrame) -> str:
    """Say each cluster's reference rate with its count and exposure."""
    return "; ".join(
        f"{row.cluster_id}: {row.failure_count:.0f} failures in {row.node_days:.4g} node-days ({row.population})"
        for row in rates[rates["is_reference"]].itertuples()
    )


@estimate(TABLE)
def est_failure_rates(warehouse: Warehouse) -> dg.MaterializeResult[None]:
    """Count failures and node-days in the marts and put exact limits on their ratio."""
    with warehouse.writing() as con:
        rates = with_rates(con.execute(TABLE.query).df())
        return write(con, TABLE, rates, headline(rates))
