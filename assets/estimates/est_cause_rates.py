"""estimates.est_cause_rates: failures per GPU-hour by cause, with limits; causes never seen have an upper one.

Read from marts.fct_attempt_exposures, and from what the cluster's evidence could have shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg
import numpy as np

from assets.estimates.evidence import CLUSTER, GARWOOD_METHODS, evidence
from assets.estimates.table import Column, TableSpec, estimate, numbers, write
from assets.model.incident_counts import weighted_interval
from assets.warehouse import Warehouse

if TYPE_CHECKING:
    import pandas as pd

EXPOSURES = "marts.fct_attempt_exposures"
FAILURES = tuple(f"{EXPOSURES}.{name}" for name in ("failure_probability", "failure_category", "incident_id"))
GPU_HOURS = (f"{EXPOSURES}.gpu_hours",)
SHOWABLE = (
    "marts.dim_failure_categories.is_infrastructure",
    "marts.agg_check_introductions.failure_category",
    "marts.dim_clusters.has_kernel_messages",
)
RATE = (*FAILURES, *GPU_HOURS, "intermediate.int_failure_draws.probability")
UNIT = "failures per GPU-hour"

TABLE = TableSpec(
    table="est_cause_rates",
    description=(
        "Infrastructure failures per GPU-hour by cause, each failure weighted by the probability that it is one, with "
        "limits that know incidents. Causes that the cluster's checks and logs could have shown and never did stand "
        "with their upper limit. One row per cluster and failure_category."
    ),
    key=("cluster_id", "failure_category"),
    columns=(
        CLUSTER,
        Column(
            "failure_category",
            "varchar",
            "",
            "Cause, as in marts.dim_failure_categories: one that was found, or that the evidence could have shown.",
            (*SHOWABLE, FAILURES[1]),
            is_required=True,
        ),
        Column(
            "failure_count",
            "double",
            "failures",
            "Failed attempts to expect: the sum of their probabilities. 0: the cause was never seen.",
            FAILURES,
            is_required=True,
        ),
        Column("incident_count", "double", "incidents", "Incidents to expect, as they hit several attempts.", FAILURES),
        Column("gpu_hours", "double", "GPU-hours", "GPU time of all attempts inside the study period.", GPU_HOURS),
        Column("failures_per_gpu_hour", "double", UNIT, "Rate. NULL: never seen, or no exposure; see note.", RATE),
        Column("failures_per_gpu_hour_low", "double", UNIT, "Lower limit.", RATE),
        Column("failures_per_gpu_hour_high", "double", UNIT, "Upper limit, also of a cause never seen.", RATE),
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
    seen = int((rates["failure_count"] > 0).sum())
    return f"{seen} causes seen, {len(rates) - seen} more with an upper limit only"


@estimate(TABLE)
def est_cause_rates(warehouse: Warehouse) -> dg.MaterializeResult[None]:
    """Count failures by cause and put limits on their rates."""
    with warehouse.writing() as con:
        rates = with_rates(con.execute(TABLE.query).df())
        return write(con, TABLE, rates, headline(rates))
