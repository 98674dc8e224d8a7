"""Columns and values that the tables of measured ETTR share: means over long runs with limits, and where time went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from assets.estimates.table import Column, numbers
from assets.model.mean_ratio import MeanInterval, mean_or_bounds

if TYPE_CHECKING:
    import pandas as pd

RATIO = "ratio 0 to 1"
METHODS = (
    "logit_t: Student's t on the logit scale; bounds_of_few_runs: fewer than ten runs, so the lowest and the highest "
    "run in place of limits, which hold no confidence level; no_spread: a single run, or no two that differ."
)
PARTS = {
    "queue": ("waiting in the queue", ("queue_hours",)),
    "restart": ("restarting, as the settings say", ("scheduled_hours", "working_seconds")),
    "lost_work": ("on work that was lost", ("productive_hours_high", "productive_hours")),
    "write": ("writing checkpoints, as the settings say", ("working_seconds", "productive_hours_high")),
    "productive": ("on progress", ("productive_hours",)),
}
"""What a run's time goes into: the words, and the columns that tell it. The parts sum to `wallclock_hours`."""


def measured_columns(runs: tuple[str, ...]) -> tuple[Column, ...]:
    """Return the columns of both means and of the parts. `runs` names the columns that select the runs."""
    return (
        Column("run_count", "bigint", "runs", "Runs with at least 24 scheduled hours.", runs, is_required=True),
        *_mean("ettr_measured", "ettr", "ETTR as the paper defines it, of those whose waiting is known", runs),
        *_mean("progress_ratio", "progress_ratio", "share of scheduled time that was progress", runs),
        *(
            Column(f"{part}_hours", "double", "hours", f"Time the runs spent {words}.", _of(columns, runs))
            for part, (words, columns) in PARTS.items()
        ),
        Column(
            "wallclock_hours",
            "double",
            "hours",
            "Sum of these parts; NULL: waiting is unknown.",
            _of(("wallclock_hours",), runs),
        ),
        *(
            Column(
                f"{part}_wallclock_ratio",
                "double",
                RATIO,
                f"{part}_hours over wallclock_hours: long runs weigh more here than in a mean over runs.",
                _of((*columns, "wallclock_hours"), runs),
            )
            for part, (_, columns) in PARTS.items()
        ),
    )


def _mean(stem: str, of: str, what: str, runs: tuple[str, ...]) -> tuple[Column, ...]:
    return (
        Column(stem, "double", RATIO, f"Mean over the runs: {what}.", _of((of,), runs)),
        Column(
            f"{stem}_low",
            "double",
            RATIO,
            "Lower limit of the mean; of fewer than ten runs the lowest run. NULL: see note.",
            _of((of,), runs),
        ),
        Column(
            f"{stem}_high",
            "double",
            RATIO,
            "Upper limit of the mean; of fewer than ten runs the highest run. NULL: see note.",
            _of((of,), runs),
        ),
        Column(
            f"{of}_bound_low",
            "double",
            RATIO,
            "The mean if each interruption and time limit had cost a whole checkpoint interval.",
            _of((f"{of}_low",), runs),
        ),
        Column(
            f"{of}_bound_high",
            "double",
            RATIO,
            "The mean if no interruption or time limit had cost any work.",
            _of((f"{of}_high",), runs),
        ),
    )


def _of(columns: tuple[str, ...], runs: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*(f"marts.fct_job_runs.{column}" for column in columns), *runs)))


def measured_values(groups: pd.DataFrame) -> dict[str, Any]:
    """Compute these columns and the evidence from the counts, means, deviations and hours of groups of runs."""
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


def _mean_of(groups: pd.DataFrame, ratio: str) -> MeanInterval:
    names = (f"{ratio}_{value}" for value in ("count", "mean", "deviation", "lowest", "highest"))
    return mean_or_bounds(*(numbers(groups, name) for name in names))
