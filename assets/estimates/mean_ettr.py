"""Columns and values of the tables of measured ETTR: means over long runs with limits, and the parts of their time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assets.estimates.table import Column, numbers
from assets.model.mean_ratio import MIN_RUNS, MeanInterval, mean_or_bounds

if TYPE_CHECKING:
    import pandas as pd

RATIO = "ratio 0 to 1"
METHODS = (
    "logit_t: Student's t on the logit scale; bounds_of_few_runs: fewer than ten runs, so the lowest and the highest "
    "run replace the limits, without a confidence level; no_spread: a single run, or no two that differ."
)
PARTS = {
    "queue": "waiting in the queue",
    "restart": "restarting, by the settings",
    "lost_work": "on work that was lost",
    "write": "writing checkpoints, by the settings",
    "productive": "on progress",
}
"""The parts of a run's time. They sum to `wallclock_hours`."""


def measured_columns() -> tuple[Column, ...]:
    """Return the columns of both means and of the parts."""
    return (
        Column("run_count", "bigint", "runs", "Runs with at least 24 scheduled hours.", is_required=True),
        *_mean("ettr_measured", "ettr", "ETTR as the paper defines it, of runs with known waiting"),
        *_mean("progress_ratio", "progress", "share of scheduled time that was progress"),
        *(Column(f"{part}_hours", "double", "hours", f"Time the runs spent {words}.") for part, words in PARTS.items()),
        Column("wallclock_hours", "double", "hours", "Sum of these parts; NULL: waiting is unknown."),
        *(
            Column(
                f"{part}_wallclock_ratio",
                "double",
                RATIO,
                f"{part}_hours over wallclock_hours: long runs weigh more here than in a mean over runs.",
                (f"{part}_hours", "wallclock_hours"),
            )
            for part in PARTS
        ),
    )


def _mean(stem: str, of: str, what: str) -> tuple[Column, ...]:
    spread = (f"{of}_count", f"{of}_mean", f"{of}_deviation")
    bound = "ettr" if of == "ettr" else stem
    return (
        Column(stem, "double", RATIO, f"Mean over the runs: {what}.", (f"{of}_mean",)),
        Column(
            f"{stem}_low",
            "double",
            RATIO,
            "Lower limit of the mean; for fewer than ten runs the lowest run. NULL: see note.",
            (*spread, f"{of}_lowest"),
        ),
        Column(
            f"{stem}_high",
            "double",
            RATIO,
            "Upper limit of the mean; for fewer than ten runs the highest run. NULL: see note.",
            (*spread, f"{of}_highest"),
        ),
        Column(
            f"{bound}_bound_low",
            "double",
            RATIO,
            "The mean if each interruption and time limit cost a whole checkpoint interval.",
        ),
        Column(
            f"{bound}_bound_high",
            "double",
            RATIO,
            "The mean if no interruption or time limit cost any work.",
        ),
    )


def measured_values(groups: pd.DataFrame) -> dict[str, Any]:
    """Compute these columns from the counts, means, deviations and hours of groups of runs."""
    ettr, progress = _mean_of(groups, "ettr"), _mean_of(groups, "progress")
    hours = numbers(groups, "wallclock_hours")
    return {
        "ettr_measured": ettr.value,
        "ettr_measured_low": ettr.low,
        "ettr_measured_high": ettr.high,
        "progress_ratio": progress.value,
        "progress_ratio_low": progress.low,
        "progress_ratio_high": progress.high,
        **{f"{part}_wallclock_ratio": numbers(groups, f"{part}_hours") / hours for part in PARTS},
        "confidence_level": ettr.confidence_level,
        "method": ettr.method,
        "event_count": groups["failure_count"],
        "exposure": groups["scheduled_hours"],
        "exposure_unit": "scheduled hours",
    }


def spread_note(groups: pd.DataFrame) -> list[str | None]:
    """Return for each group why its means have no limits, or bounds instead."""
    names = ["run_count", "ettr_deviation", "progress_deviation"]
    return [
        "a single run: no limits"
        if count == 1
        else f"{count} runs: the lowest and the highest in place of limits"
        if count < MIN_RUNS
        else "the runs do not differ: no limits"
        if ettr == 0
        else "the runs progress alike: no limits of the progress ratio"
        if progress == 0
        else None
        for count, ettr, progress in groups[names].itertuples(index=False)
    ]


def _mean_of(groups: pd.DataFrame, ratio: str) -> MeanInterval:
    names = (f"{ratio}_{value}" for value in ("count", "mean", "deviation", "lowest", "highest"))
    return mean_or_bounds(*(numbers(groups, name) for name in names))
