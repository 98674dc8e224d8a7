"""estimates.est_mttf_by_size: the measured MTTF of jobs by size, and the MTTF that the failure rate predicts.

The paper's figure 7.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assets.estimates.common_columns import CLUSTER, WEIGHTED_METHODS, common_columns
from assets.estimates.reference_rate import REFERENCE_RATE, joined, with_reference_rate
from assets.estimates.table import Column, TableSpec, bounded, estimate, node_day_rate, numbers, read
from assets.model.mttf import MttfInterval, mttf_at_scale, mttf_from_runtime, nodes_of
from assets.model.rate_ratio import common_dispersion, rate_ratio
from assets.rounding import rounded

if TYPE_CHECKING:
    import duckdb
    import pandas as pd
    from numpy.typing import NDArray

FAILURES = ("failure_count",)
RUNTIME = ("runtime_hours",)
MTTF = ("failure_count", "failure_variance", "runtime_hours")
THEORY = (*REFERENCE_RATE, "gpu_size_bin", "gpus_per_node", "mean_node_count")

WITHOUT_RATE = "no failure rate for the theory line"
WITHOUT_NODES = "GPUs per node unknown: no theory line"
MAX_LOOPS_NAMED = 3

TABLE = TableSpec(
    table="est_mttf_by_size",
    description=(
        "Mean time to infrastructure failure of attempts by size inside the study period, with limits, from "
        "marts.fct_attempt_exposures, and the time that the cluster's reference rate predicts for the size. Attempts "
        "that still run count with their time so far. If the prediction is outside the limits, the note has the "
        "p-value, corrected for the number of sizes, and the crash loops among the failures. One row per cluster and "
        "gpu_size_bin."
    ),
    key=("cluster_id", "gpu_size_bin"),
    columns=(
        CLUSTER,
        Column(
            "gpu_size_bin",
            "bigint",
            "GPUs",
            "Allocated GPUs rounded up to a power of two; 0: no GPU; NULL: unknown.",
        ),
        Column("attempt_count", "bigint", "attempts", "Attempts of the size that ran.", is_required=True),
        Column(
            "failure_count",
            "double",
            "failures",
            "Expected infrastructure failures, a sum of probabilities. NULL: none was seen, and attempts ended FAILED "
            "on nodes without an understood log.",
        ),
        Column(
            "runtime_hours",
            "double",
            "hours",
            "Hours that all attempts ran inside the study period.",
            is_required=True,
        ),
        Column("mttf_hours", "double", "hours", "Hours run per failure. NULL: no failure, or no runtime.", MTTF),
        Column("mttf_hours_low", "double", "hours", "Lower limit, also without failures.", MTTF),
        Column("mttf_hours_high", "double", "hours", "Upper limit. NULL: no failure, so there is none.", MTTF),
        Column(
            "mttf_theory_hours",
            "double",
            "hours",
            "24 / (nodes of the bin x r_f); the nodes are a mean over the time that its attempts ran. NULL: no rate.",
            THEORY,
        ),
        Column("mttf_theory_hours_low", "double", "hours", "The same at the upper limit of r_f.", THEORY),
        Column("mttf_theory_hours_high", "double", "hours", "The same at the lower limit of r_f.", THEORY),
        Column(
            "theory_population",
            "varchar",
            "",
            "Population of est_failure_rates that r_f is of. NULL: no prediction.",
            ("est_failure_rates.population", "est_failure_rates.is_reference"),
        ),
        *common_columns(
            WEIGHTED_METHODS,
            "Infrastructure failures, as failure_count.",
            FAILURES,
            "Hours run, as runtime_hours.",
            RUNTIME,
            note_inputs=(*MTTF, *THEORY, "repeat_count", "loops"),
        ),
    ),
    inputs=("inp_sizes_counted",),
    estimates=("est_failure_rates",),
)


def with_mttf(sizes: pd.DataFrame) -> pd.DataFrame:
    """Add the measured MTTF and the theory line to failures and hours by size."""
    measured = mttf_from_runtime(
        numbers(sizes, "failure_count"),
        numbers(sizes, "runtime_hours"),
        failure_variance=numbers(sizes, "failure_variance"),
    )
    rate = node_day_rate(sizes, "rate_")
    upper_edge = nodes_of(numbers(sizes, "gpu_size_bin"), numbers(sizes, "gpus_per_node"))
    mean_node_count = numbers(sizes, "mean_node_count")
    theory = mttf_at_scale(
        rate, np.where(np.isnan(upper_edge), np.nan, np.where(mean_node_count > 0, mean_node_count, upper_edge))
    )
    is_known = np.isfinite(theory.hours)
    return sizes.assign(
        mttf_hours=measured.hours,
        mttf_hours_low=measured.low,
        mttf_hours_high=bounded(measured.high),
        mttf_theory_hours=theory.hours,
        mttf_theory_hours_low=np.where(is_known, theory.low, np.nan),
        mttf_theory_hours_high=np.where(is_known, bounded(theory.high), np.nan),
        theory_population=sizes["rate_population"].where(is_known, None),
        confidence_level=measured.confidence_level,
        method=measured.method,
        event_count=sizes["failure_count"],
        exposure=sizes["runtime_hours"],
        exposure_unit="hours",
        note=joined(sizes["note"], _without_theory(sizes), _deviations(sizes, measured, theory)),
    )


def _deviations(sizes: pd.DataFrame, measured: MttfInterval, theory: MttfInterval) -> list[str | None]:
    """Return a note for each size with the theory outside its limits: the p-value, and the crash loops.

    Failures are compared with those expected at the reference rate, which is an estimate, too. The p-value has
    Bonferroni's correction: times the number of the cluster's sizes.
    """
    count, variance, repeats, hours, rate_count, rate_variance = (
        numbers(sizes, name)
        for name in ("failure_count", "failure_variance", "repeat_count", "runtime_hours", "rate_failure_count",
                     "rate_failure_variance")
    )  # fmt: skip
    expected, once = hours / theory.hours, count - repeats
    is_compared = np.isfinite(expected) & np.isfinite(measured.low)
    tried = sizes.assign(is_compared=is_compared).groupby("cluster_id")["is_compared"].transform("sum").to_numpy()

    def p_value(of: NDArray[np.float64], of_variance: NDArray[np.float64]) -> NDArray[np.float64]:
        phi = common_dispersion(of, of_variance, rate_count, rate_variance)
        return np.minimum(1.0, tried * rate_ratio(of, expected, rate_count, rate_count, dispersion=phi).p_value)

    # The remaining failures scatter as all did.
    left = np.divide(once, count, out=np.ones_like(count), where=count > 0)
    p_all, p_once, alpha = p_value(count, variance), p_value(once, left * variance), 1 - measured.confidence_level
    is_off = is_compared & (count > 0) & ((theory.hours < measured.low) | (theory.hours > measured.high))
    said: list[str | None] = [None] * len(sizes)
    for row in np.flatnonzero(is_off):
        by_chance = ", no more than chance" if p_all[row] > alpha else ""
        text = (
            f"{rounded(count[row])} failures where {rounded(expected[row])} are expected: p = {p_all[row]:.2g} after "
            f"{tried[row]} sizes{by_chance}"
        )
        if repeats[row] > 0 and count[row] > expected[row]:
            explains = "explain it" if p_once[row] > alpha >= p_all[row] else "are among them"
            text += f"; crash loops {explains}: {_named(sizes['loops'].iloc[row])}"
            text += f"; each counted once, p = {p_once[row]:.2g}"
        said[row] = text
    return said


def _named(loops: list[dict[str, Any]]) -> str:
    """Name the jobs of crash loops, most failures first."""
    named = [f"job {loop['job_id']} ({rounded(loop['failure_count'])} failures)" for loop in loops[:MAX_LOOPS_NAMED]]
    further = len(loops) - MAX_LOOPS_NAMED
    return ", ".join(named) + (f" and {further} more" if further > 0 else "")


def _without_theory(sizes: pd.DataFrame) -> list[str | None]:
    """Return the reason why a size has no theory line."""
    has_rate = (numbers(sizes, "rate_failure_count") > 0) & (numbers(sizes, "rate_node_days") != 0)
    has_nodes = numbers(sizes, "gpus_per_node") > 0
    is_sized = numbers(sizes, "gpu_size_bin") > 0
    return [
        WITHOUT_RATE if not rate else WITHOUT_NODES if sized and not nodes else None
        for rate, sized, nodes in zip(has_rate, is_sized, has_nodes, strict=True)
    ]


def headline(mttf: pd.DataFrame) -> str:
    """Return a sentence: the number of sizes with a measured MTTF, and their failures and hours."""
    known = int(mttf["mttf_hours"].notna().sum())
    return (
        f"MTTF known for {known} of {len(mttf)} sizes: {rounded(mttf['failure_count'].sum(), 4)} failures "
        f"in {rounded(mttf['runtime_hours'].sum(), 4)} hours"
    )


@estimate(TABLE, headline)
def est_mttf_by_size(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Divide hours run by failures in each size, and add the theory line from the reference rate."""
    return with_mttf(with_reference_rate(con, read(con, "inp_sizes_counted")))
