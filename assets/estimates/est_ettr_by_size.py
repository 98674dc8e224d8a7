"""estimates.est_ettr_by_size: the share of their time that long runs spent on productive work, measured and expected.

The paper's figure 9. Expected values follow from the cluster's reference rate and checkpoint settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.mean_ettr import METHODS, RATIO, measured_columns, measured_values, spread_note
from assets.estimates.reference_rate import REFERENCE_RATE, joined, no_rate, with_reference_rate
from assets.estimates.table import Column, TableSpec, estimate, node_day_rate, numbers, read
from assets.model.checkpoint import expected_ettr_v2
from assets.model.ettr import expected_ettr, expected_ettr_exact

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

RUNS = ("scheduled_hours",)
FAILURES = ("failure_count",)
NODES = ("node_count_median",)
SETTINGS = ("checkpoint_minutes", "restart_minutes", "write_minutes")
EXPECTED = (*REFERENCE_RATE, *SETTINGS, *NODES, "queue_minutes_mean", "productive_hours_mean")

WITHOUT_FAILURES = "no failure yet: expected ETTR known by its lower limit only"

TABLE = TableSpec(
    table="est_ettr_by_size",
    description=(
        "How job runs with at least 24 scheduled hours spent their time, from marts.fct_job_runs: the share of "
        "scheduled time that was progress (progress_ratio) and the paper's effective training time ratio, which also "
        "counts waiting (ettr_measured), each as a mean over runs with limits; the ETTR expected at the cluster's "
        "reference rate; and the time in each part. A run that still runs counts with its time so far. A run with an "
        "unknown time in the queue is left out of ETTR. One row per cluster and gpu_size_bin that has such runs."
    ),
    key=("cluster_id", "gpu_size_bin"),
    columns=(
        CLUSTER,
        Column("gpu_size_bin", "bigint", "GPUs", "GPUs of the run, rounded up to a power of two; NULL: unknown."),
        Column(
            "population", "varchar", "", "runs_ge_24h: runs with at least 24 scheduled hours.", (), is_required=True
        ),
        *measured_columns(),
        Column("ettr_expected", "double", RATIO, "Expected by the paper's form, at this length and queue.", EXPECTED),
        Column("ettr_expected_low", "double", RATIO, "At the upper limit of the failure rate.", EXPECTED),
        Column("ettr_expected_high", "double", RATIO, "At the lower limit of the failure rate.", EXPECTED),
        Column("ettr_expected_exact", "double", RATIO, "Expected by the renewal form, likewise.", EXPECTED),
        Column("ettr_expected_exact_low", "double", RATIO, "At the upper limit of the failure rate.", EXPECTED),
        Column("ettr_expected_exact_high", "double", RATIO, "At the lower limit of the failure rate.", EXPECTED),
        Column(
            "ettr_expected_v2",
            "double",
            RATIO,
            "Expected by the form of the paper's second version: writes of 5 minutes, 5 minutes to restart, and the "
            "interval of Young's rule for these, sqrt(2 w / (nodes x rate)); no queue, a long run.",
            (*REFERENCE_RATE, *NODES),
        ),
        Column("ettr_expected_v2_low", "double", RATIO, "At the upper limit of the rate.", (*REFERENCE_RATE, *NODES)),
        Column("ettr_expected_v2_high", "double", RATIO, "At the lower limit of the rate.", (*REFERENCE_RATE, *NODES)),
        Column(
            "rate_population",
            "varchar",
            "",
            "Population that the failure rate is of.",
            ("est_failure_rates.population", "est_failure_rates.is_reference"),
        ),
        Column("node_count_median", "double", "nodes", "Median over runs of the nodes allocated."),
        Column("queue_minutes_mean", "double", "minutes", "Mean time queued per attempt."),
        Column("productive_hours_mean", "double", "hours", "Mean productive time of a run."),
        Column("checkpoint_minutes", "double", "minutes", "Configured checkpoint interval."),
        Column("restart_minutes", "double", "minutes", "Configured restart time."),
        Column("write_minutes", "double", "minutes", "Configured time of one checkpoint write."),
        *common_columns(
            f"Method of the limits of ettr_measured and progress_ratio. {METHODS} The limits of the expected values "
            "follow from those of the failure rate at the confidence level.",
            "Infrastructure failures of the runs.",
            FAILURES,
            "Scheduled hours of the runs.",
            RUNS,
        ),
    ),
    inputs=("inp_runs_summed",),
    estimates=("est_failure_rates",),
)


def with_ettr(sizes: pd.DataFrame) -> pd.DataFrame:
    """Add the limits of the measured means, and the expected forms at the rate and its limits."""
    rate = node_day_rate(sizes, "rate_")
    nodes, productive = numbers(sizes, "node_count_median"), numbers(sizes, "productive_hours_mean") / 24
    settings = {name: numbers(sizes, name) for name in ("checkpoint_minutes", "restart_minutes", "write_minutes")} | {
        "queue_minutes": numbers(sizes, "queue_minutes_mean"),
        "productive_days": np.where(productive > 0, productive, np.nan),
    }
    rates = {"": np.where(rate.event_count > 0, rate.value, np.nan), "_low": rate.high, "_high": rate.low}
    forms = {"ettr_expected": expected_ettr, "ettr_expected_exact": expected_ettr_exact}
    expected = {
        f"{name}{limit}": form(nodes * per_node_day, **settings)
        for name, form in forms.items()
        for limit, per_node_day in rates.items()
    }
    expected |= {f"ettr_expected_v2{limit}": expected_ettr_v2(nodes * of) for limit, of in rates.items()}
    return sizes.assign(**expected, population="runs_ge_24h", **measured_values(sizes), note=_notes(sizes))


def _notes(sizes: pd.DataFrame) -> NDArray[np.object_]:
    """Return notes on what the means of a size leave out, and why limits or an expected ETTR are missing."""
    left_out = sizes["run_count"] - sizes["ettr_count"]
    restarts = zip(sizes["restart_count"], sizes["failure_count"], strict=True)
    return joined(
        ["runs whose GPU count is unknown" if is_unknown else None for is_unknown in sizes["gpu_size_bin"].isna()],
        spread_note(sizes),
        [f"runs left out of ETTR, time queued unknown: {count}" if count else None for count in left_out],
        _not_expected(sizes),
        [
            f"expected covers infrastructure failures only: {failures:.0f} of {count:.0f} restarts"
            if count > 2 * failures
            else None
            for count, failures in restarts
        ],
    )


def _not_expected(sizes: pd.DataFrame) -> list[str | None]:
    """Return the reason why runs of a size have no expected ETTR."""
    without_rate = no_rate(sizes, "no failure rate: no expected ETTR", WITHOUT_FAILURES)
    has_nodes, hours = sizes["node_count_median"].notna(), numbers(sizes, "productive_hours_mean")
    return [
        "nodes unknown: no expected ETTR" if not nodes else "no productive time: no expected ETTR" if not hour else said
        for nodes, hour, said in zip(has_nodes, hours, without_rate, strict=True)
    ]


def headline(ettr: pd.DataFrame) -> str:
    """Return a sentence: the number of runs that were long enough."""
    if ettr.empty:
        return "no run with 24 scheduled hours"
    return f"{ettr['run_count'].sum():.0f} runs with 24 scheduled hours and more, in {len(ettr)} sizes"


@estimate(TABLE, headline)
def est_ettr_by_size(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Average the ETTR of long runs by size, and compute the expected ETTR at the reference rate."""
    runs = read(con, "inp_runs_summed")
    return with_ettr(with_reference_rate(con, runs[~runs["is_by_qos"]]))
