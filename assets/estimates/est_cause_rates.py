"""estimates.est_cause_rates: failures per GPU-hour by cause, with limits, where a log could have shown the cause.

Read from marts.fct_attempt_exposures, by the paper's rule from marts.fct_failures, and from ops.sight. A cause that was
never seen has an upper limit; one that could not have been seen has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg
import numpy as np

from assets.estimates.evidence import CLUSTER, GARWOOD_METHODS, SIGNATURES, evidence
from assets.estimates.table import Column, TableSpec, estimate, numbers, write
from assets.model.incident_counts import weighted_interval
from assets.warehouse import Warehouse

if TYPE_CHECKING:
    import pandas as pd

EXPOSURES = "marts.fct_attempt_exposures"
FAILURES = tuple(f"{EXPOSURES}.{name}" for name in ("failure_probability", "failure_category", "incident_id"))
PAPER_FAILURES = ("marts.fct_failures.failure_category", "marts.fct_failures.incident_id")
GPU_HOURS = (f"{EXPOSURES}.gpu_hours",)
SHOWABLE = (
    "marts.dim_failure_categories.is_infrastructure",
    *SIGNATURES,
    "marts.dim_nodes.gpu_vendor",
    "ops.sight.kind",
)
SEEN = (*SHOWABLE, "marts.fct_node_days.allocated_gpu_hours", "marts.fct_attempt_nodes.node_id")
RATE = (*FAILURES, *GPU_HOURS, "intermediate.int_failure_draws.probability")
UNIT = "failures per GPU-hour"

TABLE = TableSpec(
    table="est_cause_rates",
    description=(
        "Infrastructure failures per GPU-hour by cause with their limits, on the node-days on which a log was "
        "understood that can show the cause on such a node. Causes that were never seen there have an upper limit; "
        "those that could be seen nowhere have none. One row per cluster, failure_category and way of counting."
    ),
    key=("cluster_id", "failure_category", "counted_as"),
    columns=(
        CLUSTER,
        Column(
            "failure_category",
            "varchar",
            "",
            "Cause, as in marts.dim_failure_categories.",
            (*SHOWABLE, FAILURES[1]),
            is_required=True,
        ),
        Column(
            "counted_as",
            "varchar",
            "",
            "attempts: the failed attempts to expect, each weighted by the probability that infrastructure failed it, "
            "with limits that know incidents; attempts_paper: by the paper's rule each attributed failure as certain, "
            "over all ended attempts, as in marts.agg_failure_rates_by_cause.",
            is_required=True,
        ),
        Column(
            "failure_count",
            "double",
            "failures",
            "Failed attempts counted, a sum of probabilities. 0: the cause was never seen. NULL: it could not have "
            "been seen. Where the GPU-hours of some attempts are known, those of others do not count; see note.",
            (*FAILURES, *PAPER_FAILURES, *SEEN),
        ),
        Column("incident_count", "double", "incidents", "Incidents to expect, as they hit several attempts.", FAILURES),
        Column(
            "gpu_hours",
            "double",
            "GPU-hours",
            "GPU time of attempts inside the study period, on the node-days on which the cause could have been seen; "
            "of attempts_paper: of all ended attempts where it was found. NULL: no attempt tells its GPUs.",
            (*GPU_HOURS, "marts.fct_attempts.gpu_count", "marts.fct_attempts.runtime_seconds", *SEEN),
        ),
        Column(
            "seen_ratio",
            "double",
            "ratio 0 to 1",
            "Share of the GPU-hours in which the cause could have been seen. NULL: no GPU-hours are known.",
            SEEN,
        ),
        Column(
            "failures_per_gpu_hour",
            "double",
            UNIT,
            "Rate. NULL: never seen, not observable, or no exposure; see note.",
            RATE,
        ),
        Column("failures_per_gpu_hour_low", "double", UNIT, "Lower limit.", RATE),
        Column(
            "failures_per_gpu_hour_high",
            "double",
            UNIT,
            "Upper limit, also of a cause never seen. NULL: none is known.",
            RATE,
        ),
        Column(
            "dispersion",
            "double",
            "none",
            "Variance of the count over its mean: 1 where failures come one by one and are certain.",
            FAILURES,
        ),
        *evidence(
            GARWOOD_METHODS, "Failures to expect, as failure_count.", FAILURES, "GPU-hours, as gpu_hours.", GPU_HOURS
        ),
    ),
    shared=("cause_signatures",),
    prepared=("exposure_days", "failed_exposures", "node_day_sight"),
)


def with_rates(counts: pd.DataFrame) -> pd.DataFrame:
    """Add rates and limits to counts with their variance and GPU-hours."""
    count, variance = numbers(counts, "failure_count"), numbers(counts, "failure_variance")
    rate = weighted_interval(count, variance, numbers(counts, "gpu_hours"))
    return counts.assign(
        failures_per_gpu_hour=np.where(count > 0, rate.value, np.nan),
        failures_per_gpu_hour_low=rate.low,
        failures_per_gpu_hour_high=rate.high,
        dispersion=rate.dispersion,
        confidence_level=rate.confidence_level,
        method=rate.method,
        event_count=counts["failure_count"],
        exposure=counts["gpu_hours"],
        exposure_unit="GPU-hours",
    )


def headline(rates: pd.DataFrame) -> str:
    """Say how many causes were seen, and how many others could have been."""
    counts = rates[rates["counted_as"] == "attempts"]["failure_count"]
    return (
        f"{(counts > 0).sum()} causes seen, {(counts == 0).sum()} more with an upper limit only, "
        f"{counts.isna().sum()} not observable"
    )


@estimate(TABLE)
def est_cause_rates(warehouse: Warehouse) -> dg.MaterializeResult[None]:
    """Count failures by cause and put limits on their rates."""
    with warehouse.writing() as con:
        rates = with_rates(con.execute(TABLE.query).df())
        return write(con, TABLE, rates, headline(rates))
