"""estimates.est_checkpoint_plans: how often to checkpoint a run of each size, and the expected ETTR.

Runs fail at the cluster's reference rate, with the configured costs. `faultline plan` answers the same for any run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assets.estimates.common_columns import CLUSTER, NODE_COUNT, NODES_OF_JOBS, WEIGHTED_METHODS, common_columns
from assets.estimates.reference_rate import (
    REFERENCE_MONTHS,
    REFERENCE_RATE,
    joined,
    no_rate,
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
    with_limits,
)
from assets.model.incident_counts import weighted_interval
from assets.model.mttf import mttf_at_scale
from assets.model.run_outlook import run_outlook
from assets.model.run_plan import plan_checkpoints, predict_interruptions

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

TARGET = 0.9
PLANNED_DAYS = 30.0

RATIO = "ratio 0 to 1"
RATE_UNIT = "failures per 1,000 node-days"
RESTART = ("restart_minutes",)
WRITE = ("write_minutes",)
RATE = (*REFERENCE_RATE, *NODES_OF_JOBS)
INTERVAL = (*RATE, *WRITE)
ETTR = (*INTERVAL, *RESTART)
RUN = (*ETTR, *REFERENCE_MONTHS)
WITHOUT_NODE_DAYS = "no failure rate: the cluster has no node-days"
WITHOUT_FAILURES = "no failure in {} node-days: only bounds are known"

TABLE = TableSpec(
    table="est_checkpoint_plans",
    description=(
        "Checkpoint intervals and expected ETTR of a run of 30 days without queue, at the cluster's reference rate in "
        "estimates.est_failure_rates and its limits. One row per cluster and gpu_count."
    ),
    key=("cluster_id", "gpu_count"),
    columns=(
        CLUSTER,
        Column("gpu_count", "bigint", "GPUs", "Powers of two from 8 to 131,072.", is_required=True),
        NODE_COUNT,
        Column(
            "population",
            "varchar",
            "",
            "Population of est_failure_rates that the rate is of.",
            ("est_failure_rates.population", "est_failure_rates.is_reference"),
        ),
        Column(
            "counted_as",
            "varchar",
            "",
            "attempts: each failed attempt interrupts a run, even if one incident hits many runs; incidents: the rate "
            "is of nodes.",
            ("est_failure_rates.counted_as", "est_failure_rates.is_reference"),
        ),
        *with_limits("failures_per_1000_node_days", RATE_UNIT, "The rate. NULL: see note.", REFERENCE_RATE),
        Column("mttf_hours", "double", "hours", "Mean time between failures of the run.", RATE),
        Column("mttf_hours_low", "double", "hours", "At the upper limit of the rate.", RATE),
        Column("mttf_hours_high", "double", "hours", "At the lower limit of the rate.", RATE),
        Column("planned_days", "double", "days", "Days for which the run holds its nodes.", (), is_required=True),
        Column("expected_interruptions", "double", "failures", "Expected failures in planned_days.", RATE),
        Column(
            "expected_interruptions_low",
            "double",
            "failures",
            "Lower limit for a single run: uncertainty of the rate, variation between months, and chance.",
            (*RATE, *REFERENCE_MONTHS),
        ),
        Column(
            "expected_interruptions_high",
            "double",
            "failures",
            "Upper limit for a single run.",
            (*RATE, *REFERENCE_MONTHS),
        ),
        Column("restart_minutes", "double", "minutes", "Configured restart time.", is_required=True),
        Column("write_minutes", "double", "minutes", "Configured write time; 5 without one.", is_required=True),
        Column("checkpoint_minutes_young", "double", "minutes", "Interval by Young's rule.", INTERVAL),
        Column("checkpoint_minutes_daly", "double", "minutes", "Interval by Daly's series.", INTERVAL),
        Column("checkpoint_minutes_optimal", "double", "minutes", "Interval with the greatest ETTR.", INTERVAL),
        Column("checkpoint_minutes_optimal_low", "double", "minutes", "At the upper limit of the rate.", INTERVAL),
        Column("checkpoint_minutes_optimal_high", "double", "minutes", "At the lower limit of the rate.", INTERVAL),
        Column("ettr_optimal", "double", RATIO, "Expected ETTR at the optimal interval, by the renewal form.", ETTR),
        Column("ettr_optimal_low", "double", RATIO, "The same at the upper limit of the rate.", ETTR),
        Column("ettr_optimal_high", "double", RATIO, "The same at the lower limit of the rate.", ETTR),
        Column(
            "ettr_run_low",
            "double",
            RATIO,
            "Lower limit for a single run: uncertainty of the rate, variation between months, and chance.",
            RUN,
        ),
        Column("ettr_run_high", "double", RATIO, "Upper limit for a single run.", RUN),
        Column("ettr_target", "double", RATIO, "ETTR to reach.", (), is_required=True),
        Column(
            "probability_ettr_ge_target",
            "double",
            RATIO,
            "Share of 1,000 simulated runs that reach the target at the optimal interval. Their rates are drawn from "
            "those that the count and the variation between months allow. NULL: no rate.",
            RUN,
        ),
        *common_columns(
            f"Method of the limits of the rate. {WEIGHTED_METHODS} Interruptions: negative binomial prediction limits.",
            "Failures behind the rate.",
            REFERENCE_RATE,
            "Node-days behind the rate.",
            REFERENCE_RATE,
        ),
    ),
    inputs=("inp_job_sizes_listed",),
    estimates=("est_failure_rates", "est_forecast_scores"),
)


def with_plans(sizes: pd.DataFrame) -> pd.DataFrame:
    """Add rate, MTTF, interruptions, intervals and ETTR to sizes with their counts and costs."""
    nodes = nodes_of_jobs(sizes)
    rate, variance = node_day_rate(sizes), numbers(sizes, "failure_variance")
    months = variance_of_future(sizes, rate, PLANNED_DAYS)
    mttf, future = mttf_at_scale(rate, nodes), predict_interruptions(rate, nodes * PLANNED_DAYS, months)
    costs = {name: numbers(sizes, name) for name in ("restart_minutes", "write_minutes")}
    plan = plan_checkpoints(rate, nodes, **costs)
    outlooks = [
        run_outlook(
            weighted_interval(rate.event_count[row], variance[row], rate.exposure[row]),
            nodes[row],
            plan.optimal[row],
            restart_minutes=costs["restart_minutes"][row],
            write_minutes=costs["write_minutes"][row],
            scheduled_days=PLANNED_DAYS,
            target=TARGET,
            relative_variance=months[row],
        )
        for row in range(len(sizes))
    ]
    return sizes.assign(
        node_count=nodes,
        failures_per_1000_node_days=1000 * np.where(rate.event_count > 0, rate.value, np.nan),
        failures_per_1000_node_days_low=1000 * rate.low,
        failures_per_1000_node_days_high=1000 * rate.high,
        mttf_hours=mttf.hours,
        mttf_hours_low=mttf.low,
        mttf_hours_high=bounded(mttf.high),
        planned_days=PLANNED_DAYS,
        expected_interruptions=future.value,
        expected_interruptions_low=future.low,
        expected_interruptions_high=future.high,
        checkpoint_minutes_young=plan.young,
        checkpoint_minutes_daly=plan.daly,
        checkpoint_minutes_optimal=plan.optimal,
        checkpoint_minutes_optimal_low=plan.optimal_low,
        checkpoint_minutes_optimal_high=bounded(plan.optimal_high),
        ettr_optimal=plan.ettr_optimal,
        ettr_optimal_low=plan.ettr_optimal_low,
        ettr_optimal_high=plan.ettr_optimal_high,
        ettr_run_low=[outlook.ettr_low for outlook in outlooks],
        ettr_run_high=[outlook.ettr_high for outlook in outlooks],
        ettr_target=TARGET,
        probability_ettr_ge_target=[outlook.probability for outlook in outlooks],
        confidence_level=rate.confidence_level,
        method=rate.method,
        event_count=sizes["failure_count"],
        exposure=sizes["node_days"],
        exposure_unit="node-days",
        note=joined(
            sizes["note"], no_rate(sizes, WITHOUT_NODE_DAYS, WITHOUT_FAILURES, prefix=""), sizes["note_on_writes"]
        ),
    )


def headline(plans: pd.DataFrame) -> str:
    """Return a sentence: the largest size at which a run is likely to reach the target, for each cluster."""
    likely = plans[plans["probability_ettr_ge_target"] >= 0.5].groupby("cluster_id")["gpu_count"].max()
    return "; ".join(
        f"{cluster_id}: ETTR {TARGET} up to {likely[cluster_id]:,} GPUs"
        if cluster_id in likely.index
        else f"{cluster_id}: no size known to reach ETTR {TARGET}"
        for cluster_id in plans["cluster_id"].unique()
    )


@estimate(TABLE, headline)
def est_checkpoint_plans(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Plan runs of every size at each cluster's own rate."""
    sizes = read(con, "inp_job_sizes_listed")
    planned = with_reference_rate(con, sizes[sizes["is_power_of_two"]], prefix="")
    return with_plans(with_reference_months(con, planned))
