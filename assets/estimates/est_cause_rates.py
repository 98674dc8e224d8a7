"""estimates.est_cause_rates: failures per GPU-hour by cause, with limits, where a log could have shown the cause.

A cause that was never seen has an upper limit. A cause that no log could have shown has none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assets.estimates.common_columns import CLUSTER, GARWOOD_METHODS, common_columns
from assets.estimates.table import Column, TableSpec, estimate, numbers, read
from assets.model.incident_counts import weighted_interval

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

FAILURES = ("failure_count", "failure_variance")
GPU_HOURS = ("gpu_hours",)
RATE = ("failure_count", "failure_variance", "gpu_hours")
UNIT = "failures per GPU-hour"

TABLE = TableSpec(
    table="est_cause_rates",
    description=(
        "Infrastructure failures per GPU-hour by cause, with limits. Only node-days count on which a log that was "
        "understood could have shown the cause on that node. A cause never seen on such days has an upper limit; a "
        "cause that no log could have shown has none. One row per cluster, failure_category and way of counting."
    ),
    key=("cluster_id", "failure_category", "counted_as"),
    columns=(
        CLUSTER,
        Column(
            "failure_category",
            "varchar",
            "",
            "Cause, as in marts.dim_failure_categories.",
            is_required=True,
        ),
        Column(
            "counted_as",
            "varchar",
            "",
            "attempts: expected failed attempts, each weighted by the probability that infrastructure failed it; the "
            "limits allow for incidents; attempts_paper: by the paper's rule, each attributed failure counts as "
            "certain, over all ended attempts, as in marts.agg_failure_rates_by_cause.",
            is_required=True,
        ),
        Column(
            "failure_count",
            "double",
            "failures",
            "Failed attempts, a sum of probabilities. 0: the cause was never seen. NULL: no log could have shown it. "
            "If the GPU-hours of only some attempts are known, the other attempts do not count; see note.",
        ),
        Column("incident_count", "double", "incidents", "Expected incidents; one incident can fail several attempts."),
        Column(
            "gpu_hours",
            "double",
            "GPU-hours",
            "GPU time of attempts in the study period, on node-days on which a log could have shown the cause; for "
            "attempts_paper, of all ended attempts, if the cause was found. NULL: no GPU count is known.",
        ),
        Column(
            "seen_ratio",
            "double",
            "ratio 0 to 1",
            "Share of the GPU-hours on which a log could have shown the cause. NULL: no GPU-hours are known.",
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
            "Upper limit, also of a cause never seen. NULL: unknown.",
            RATE,
        ),
        Column(
            "dispersion",
            "double",
            "none",
            "Variance of the count over its mean: 1 if failures come one by one and are certain.",
            FAILURES,
        ),
        *common_columns(
            GARWOOD_METHODS, "Expected failures, as failure_count.", FAILURES, "GPU-hours, as gpu_hours.", GPU_HOURS
        ),
    ),
    inputs=("inp_causes_counted",),
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
    """Return a sentence: how many causes were seen, and how many others could have been."""
    counts = rates[rates["counted_as"] == "attempts"]["failure_count"]
    return (
        f"{(counts > 0).sum()} causes seen, {(counts == 0).sum()} more with an upper limit only, "
        f"{counts.isna().sum()} not observable"
    )


@estimate(TABLE, headline)
def est_cause_rates(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Count failures by cause and put limits on their rates."""
    return with_rates(read(con, "inp_causes_counted"))
