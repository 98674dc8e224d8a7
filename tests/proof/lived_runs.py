"""Runs lived through failure by failure, by which the forms of expected ETTR and the outlook of a run are judged.

Failures strike at random in scheduled time, so also during restarts and checkpoint writes. An attempt pays the restart
and saves as many segments of a checkpoint interval and a write as fit. Durations are days.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def days_until_done(
    per_day: float, needed: int, checkpoint: float, restart: float, write: float, queue: float,
    run_count: int, generator: np.random.Generator,
) -> NDArray[np.float64]:  # fmt: skip
    """Return the wall-clock days of runs that need so many checkpoint intervals."""
    left, wallclock = np.full(run_count, needed), np.zeros(run_count)
    running = np.arange(run_count)
    while running.size:
        until_failure = generator.standard_exponential(running.size) / per_day
        written = np.floor(np.maximum(until_failure - restart, 0.0) / (checkpoint + write))
        is_done = written >= left[running]
        wallclock[running] += queue + np.where(is_done, restart + left[running] * (checkpoint + write), until_failure)
        running, written = running[~is_done], written[~is_done]
        left[running] -= written.astype(int)
    return wallclock


def ettr_of_a_run(
    per_day: float, days: float, checkpoint: float, restart: float, write: float, generator: np.random.Generator
) -> float:
    """Return the ETTR of one run that holds its nodes for so many days; its own end loses nothing."""
    attempts = generator.standard_exponential(generator.poisson(per_day * days) + 1)
    work = np.maximum(attempts * days / attempts.sum() - restart, 0.0)
    segments = np.floor(work / (checkpoint + write))
    at_the_end = min(work[-1] - segments[-1] * (checkpoint + write), checkpoint)
    return float((segments.sum() * checkpoint + at_the_end) / days)
