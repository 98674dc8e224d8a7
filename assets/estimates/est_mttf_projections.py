"""estimates.est_mttf_projections: the MTTF of a job of any size at the cluster's own failure rate.

The paper projects to 131,072 GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assets.estimates.common_columns import CLUSTER, NODE_COUNT, NODES_OF_JOBS, WEIGHTED_METHODS, common_columns
from assets.estimates.reference_rate import (
    REFERENCE_MONTHS,
    REFERENCE_RATE,
    joined,
    no_rate,
    of_study,
    with_reference_months,
    with_reference_rate,
)
from assets.estimates.table import (
    Column,
    TableSpec,
    bounded,
    estimate,
    node_day_rate,
    nodes_of_jobs,
    numbers,
    read,
    variance_of_future,
)
from assets.model.mttf import mttf_at_scale
from assets.model.run_plan import predict_interruptions
from assets.rounding import rounded

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

RATE = (*REFERENCE_RATE, *NODES_OF_JOBS)
RATE_UNIT = "failures per 1,000 node-days"
PLANNED_DAYS = 30
WITHOUT_NODE_DAYS = "no failure rate: the cluster has no node-days"
WITHOUT_FAILURES = "no failure in {} node-days: only the lower limit is known"

TABLE = TableSpec(
    table="est_mttf_projections",
    description=(
        "Mean time to failure of a job of a given size, projected from the cluster's reference rate in "
        "estimates.est_failure_rates with the limits of that rate. One row per cluster and gpu_count."
    ),
    key=("cluster_id", "gpu_count"),
    columns=(
        CLUSTER,
        Column(
            "gpu_count",
            "bigint",
            "GPUs",
            "Size of the job: powers of two from 8 to 131,072, the largest job that ran, and the whole cluster.",
            is_required=True,
        ),
        NODE_COUNT,
        Column(
            "is_cluster_size",
            "boolean",
            "",
            "Whether the job would fill the cluster.",
            is_required=True,
        ),
        Column(
            "is_largest_job",
            "boolean",
            "",
            "Size of the largest job that ran; sizes above it are an extrapolation.",
            is_required=True,
        ),
        Column(
            "population",
            "varchar",
            "",
            "Population of est_failure_rates that the rate is of.",
            ("est_failure_rates.population", "est_failure_rates.is_reference"),
        ),
        Column("failures_per_1000_node_days", "double", RATE_UNIT, "The projected rate.", REFERENCE_RATE),
        Column("mttf_hours", "double", "hours", "24 / (node_count x rate). NULL: no rate.", RATE),
        Column("mttf_hours_low", "double", "hours", "At the upper limit of the rate.", RATE),
        Column(
            "mttf_hours_high",
            "double",
            "hours",
            "At the lower limit of the rate. NULL: no failure, so there is none.",
            RATE,
        ),
        Column(
            "failures_30d",
            "double",
            "failures",
            f"Expected failures of such a job in {PLANNED_DAYS} days. NULL: no rate.",
            RATE,
        ),
        Column(
            "failures_30d_low",
            "double",
            "failures",
            "Lower limit of the number itself, not of its mean (prediction interval, negative binomial): uncertainty "
            "of the rate, variation between months, and chance.",
            (*RATE, *REFERENCE_MONTHS),
        ),
        Column(
            "failures_30d_high",
            "double",
            "failures",
            "Upper limit of the number itself.",
            (*RATE, *REFERENCE_MONTHS),
        ),
        *common_columns(
            WEIGHTED_METHODS,
            "Failures behind the rate.",
            REFERENCE_RATE,
            "Node-days behind the rate.",
            REFERENCE_RATE,
            note_inputs=("estimates.est_evidence_reach.statement", "estimates.est_evidence_reach.is_doubtful"),
        ),
    ),
    inputs=("inp_job_sizes_listed",),
    estimates=("est_evidence_reach", "est_failure_rates", "est_forecast_scores"),
)


def with_projections(sizes: pd.DataFrame) -> pd.DataFrame:
    """Add node counts, and the MTTF with its limits, to sizes and reference rates."""
    nodes = nodes_of_jobs(sizes)
    rate = node_day_rate(sizes)
    mttf = mttf_at_scale(rate, nodes)
    planned = predict_interruptions(rate, nodes * PLANNED_DAYS, variance_of_future(sizes, rate, PLANNED_DAYS))
    return sizes.assign(
        node_count=nodes,
        failures_per_1000_node_days=1000 * np.where(rate.event_count > 0, rate.value, np.nan),
        mttf_hours=mttf.hours,
        mttf_hours_low=mttf.low,
        mttf_hours_high=bounded(mttf.high),
        failures_30d=planned.value,
        failures_30d_low=planned.low,
        failures_30d_high=planned.high,
        confidence_level=mttf.confidence_level,
        method=mttf.method,
        event_count=sizes["failure_count"],
        exposure=sizes["node_days"],
        exposure_unit="node-days",
        note=joined(sizes["note"], no_rate(sizes, WITHOUT_NODE_DAYS, WITHOUT_FAILURES, prefix=""), _doubts(sizes)),
    )


def _doubts(sizes: pd.DataFrame) -> pd.Series[Any]:
    """Return the note on how far the evidence reaches, if there is a rate."""
    has_rate = numbers(sizes, "node_days") > 0
    return sizes["statement"].where(has_rate & (sizes["is_doubtful"] == True))  # noqa: E712 -- NULL is no doubt


def headline(projections: pd.DataFrame) -> str:
    """Return a sentence: the MTTF of a job that fills each cluster, or that it is unknown."""
    own = projections[projections["is_cluster_size"]]
    times = zip(own["cluster_id"], own["gpu_count"], numbers(own, "mttf_hours"), strict=True)
    return "; ".join(
        f"{cluster_id}, all {gpu_count} GPUs: {'unknown' if np.isnan(hours) else f'{rounded(hours)} hours'}"
        for cluster_id, gpu_count, hours in times
    )


@estimate(TABLE, headline)
def est_mttf_projections(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Project each cluster's reference rate to jobs of every size."""
    sizes = with_reference_months(con, with_reference_rate(con, read(con, "inp_job_sizes_listed"), prefix=""))
    return with_projections(of_study(con, sizes))
