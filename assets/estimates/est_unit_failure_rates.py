"""estimates.est_unit_failure_rates: recorded failures per 1,000 unit-days by cause, with limits.

Records that begin at the same moment are one incident, which widens the limits as for failures of one cause elsewhere.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from assets.estimates.common_columns import CLUSTER, WEIGHTED_METHODS, common_columns
from assets.estimates.table import Column, TableSpec, estimate, node_day_rate, numbers, read, with_limits

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

SERVICE = ("unit_days",)
FAILURES = ("failure_count", "failure_variance")
RATE = (*FAILURES, *SERVICE)
MIN_INCIDENTS = 3
"""Fewer moments at which failures began show no rate."""
ENOUGH = f"Whether {MIN_INCIDENTS} incidents or more began in the time in service. False: use no number of this row."

TABLE = TableSpec(
    table="est_unit_failure_rates",
    description=(
        "Failures that a site recorded for its nodes or other units per 1,000 days in service, with limits. One row "
        "per cluster with records of failures and cause, and one for all causes."
    ),
    key=("cluster_id", "cause"),
    columns=(
        CLUSTER,
        Column(
            "cause",
            "varchar",
            "",
            "Cause as recorded. all: all causes together; not recorded: none was given; all (as recorded): the records "
            "say all.",
            is_required=True,
        ),
        Column("recorded_count", "bigint", "failures", "All recorded failures.", is_required=True),
        Column(
            "failure_count",
            "bigint",
            "failures",
            "Failures that began while units are known to be in service. NULL: no time in service is configured.",
        ),
        Column(
            "incident_count",
            "bigint",
            "incidents",
            "Moments at which those failures began. NULL: no time in service is configured.",
        ),
        Column("unit_days", "double", "unit-days", "Units times days in service. NULL: not configured."),
        *with_limits(
            "failures_per_1000_unit_days",
            "failures per 1,000 unit-days",
            "Failure rate. NULL: no time in service is configured, or no failure yet.",
            RATE,
            "Upper limit, also without a failure. NULL: no time in service is configured.",
        ),
        Column(
            "down_unit_days",
            "double",
            "unit-days",
            "Time in service with a unit down, once for each unit. A lower bound if the note says that records "
            "without an end or a unit are left out. NULL: no time in service is configured, no record of it has an "
            "end and a unit, or more units were down than in service.",
        ),
        *(
            replace(column, description=ENOUGH, inputs=FAILURES) if column.name == "has_enough_data" else column
            for column in common_columns(
                WEIGHTED_METHODS, "Failures, as failure_count.", FAILURES, "Unit-days, as unit_days.", SERVICE
            )
        ),
    ),
    judges_itself=True,
    inputs=("inp_unit_failures_counted",),
)


def with_rates(counts: pd.DataFrame) -> pd.DataFrame:
    """Add rates and limits to counts with their variance and exposure."""
    rate = node_day_rate(counts.assign(node_days=counts["unit_days"]))
    is_enough = numbers(counts, "incident_count") >= MIN_INCIDENTS
    too_little = f"too little to tell: {MIN_INCIDENTS} incidents are needed"
    reasons = np.where(is_enough | counts["unit_days"].isna(), "", too_little)
    notes: list[Any] = [
        "; ".join(filter(None, parts)) or None for parts in zip(reasons, counts["note"].fillna(""), strict=True)
    ]
    return counts.assign(
        failures_per_1000_unit_days=1000 * np.where(rate.event_count > 0, rate.value, np.nan),
        failures_per_1000_unit_days_low=1000 * rate.low,
        failures_per_1000_unit_days_high=1000 * rate.high,
        confidence_level=rate.confidence_level,
        method=rate.method,
        has_enough_data=is_enough,
        note=notes,
        event_count=counts["failure_count"],
        exposure=counts["unit_days"],
        exposure_unit="unit-days",
    )


def headline(rates: pd.DataFrame) -> str:
    """Return a sentence: each cluster's recorded failures."""
    of_all = rates[rates["cause"] == "all"]
    return "; ".join(f"{row.cluster_id}: {row.recorded_count:,} recorded failures" for row in of_all.itertuples())


@estimate(TABLE, headline)
def est_unit_failure_rates(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Count recorded failures over the time in service, and put limits on the rate."""
    return with_rates(read(con, "inp_unit_failures_counted"))
