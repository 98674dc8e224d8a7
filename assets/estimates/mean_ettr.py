"""Columns and values that the tables of measured ETTR share: the mean over long runs, and its limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assets.estimates.table import Column, numbers
from assets.model.mean_ratio import mean_or_bounds

if TYPE_CHECKING:
    import pandas as pd

RATIO = "ratio 0 to 1"
METHODS = (
    "logit_t: Student's t on the logit scale; bounds_of_few_runs: fewer than ten runs, so the lowest and the highest "
    "run in place of limits, which hold no confidence level; no_spread: a single run, or no two that differ."
)


def measured_columns(runs: tuple[str, ...]) -> tuple[Column, ...]:
    """Return the columns of the mean with its limits and bounds. `runs` names the columns that select the runs."""
    return (
        Column("run_count", "bigint", "runs", "Runs with at least 24 scheduled hours.", runs, is_required=True),
        Column("ettr_measured", "double", RATIO, "Mean ETTR of the runs.", _of("ettr", runs), is_required=True),
        Column(
            "ettr_measured_low",
            "double",
            RATIO,
            "Lower limit of the mean; of fewer than ten runs the lowest run. NULL: see note.",
            _of("ettr", runs),
        ),
        Column(
            "ettr_measured_high",
            "double",
            RATIO,
            "Upper limit of the mean; of fewer than ten runs the highest run. NULL: see note.",
            _of("ettr", runs),
        ),
        Column(
            "ettr_bound_low",
            "double",
            RATIO,
            "Mean ETTR if each interruption had cost a whole checkpoint interval.",
            _of("ettr_low", runs),
        ),
        Column(
            "ettr_bound_high",
            "double",
            RATIO,
            "Mean ETTR if no interruption had cost any work.",
            _of("ettr_high", runs),
        ),
    )


def _of(column: str, runs: tuple[str, ...]) -> tuple[str, ...]:
    return (f"marts.fct_job_runs.{column}", *runs)


def measured_values(groups: pd.DataFrame) -> dict[str, Any]:
    """Compute these columns and the evidence from the counts, means and deviations of groups of runs."""
    names = ("run_count", "ettr_mean", "ettr_deviation", "ettr_lowest", "ettr_highest")
    mean = mean_or_bounds(*(numbers(groups, name) for name in names))
    return {
        "ettr_measured": mean.value,
        "ettr_measured_low": mean.low,
        "ettr_measured_high": mean.high,
        "confidence_level": mean.confidence_level,
        "method": mean.method,
        "event_count": groups["failure_count"],
        "exposure": groups["scheduled_hours"],
        "exposure_unit": "scheduled hours",
    }
