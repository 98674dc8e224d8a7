"""How likely a run reaches an ETTR, from draws that are the same on every machine and in every language.

`run_outlook` draws with numpy's generator. A page that answers while a slider moves has no numpy, so the draws here
are a rule that a few lines of any language repeat: a hash of run and attempt, and evenly spaced quantiles of the rate.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.ettr import MINUTES_PER_DAY
from assets.model.failure_rate import RateInterval
from assets.model.run_plan import ASSUMED, MAX_SIMULATED_FAILURES, MIN_MINUTES, rates_to_come

RUN_COUNT = 1_000
"""The standard error of the probability is at most 0.016."""
WORD = 2.0**32


@dataclass(frozen=True)
class TargetProbability:
    """Whether a run reaches its target; `nan` where the rate has no value.

    Attributes
    ----------
    probability
        Share of the runs whose ETTR reaches it.
    ettr_mean
        Mean ETTR of the runs.
    run_count
        How many runs there were.
    """

    probability: float
    ettr_mean: float
    run_count: int


def target_probability(
    rate: RateInterval,
    node_count: float,
    checkpoint_minutes: float,
    *,
    restart_minutes: float,
    write_minutes: float,
    queue_minutes: float = 0.0,
    scheduled_days: float,
    target: float,
    run_count: int = RUN_COUNT,
    relative_variance: float = 0.0,
) -> TargetProbability:
    """Live through a planned run many times, at rates spread evenly over those that the count leaves possible.

    Parameters
    ----------
    rate
        Per node-day, of one element, counted or assumed.
    node_count, checkpoint_minutes, restart_minutes, write_minutes, queue_minutes, scheduled_days, target
        As in `run_outlook`.
    run_count
        Number n of runs.
    relative_variance
        As in `predict_interruptions`.

    Returns
    -------
    TargetProbability

    Notes
    -----
    Run i has the rate at quantile ``(i + 1/2) / n`` of `rates_to_come`, or the assumed rate. Its attempt j lasts
    ``-log((h + 1/2) / 2^32) / (rate x nodes)`` days, where h is a 32-bit hash of i and j, and what it saves is reckoned
    as in `simulate_runs`. A run that would fail more than 1,000 times is cut short as in `run_outlook`.

    When it lies: as `run_outlook`; and two questions that differ little have the same luck, which is wanted.

    Examples
    --------
    65 failures in 10,000 node-days; 4,096 GPUs for 30 days with a checkpoint each hour, as `run_outlook` answers 0.94:

    >>> from assets.model.failure_rate import garwood_interval
    >>> found = target_probability(
    ...     garwood_interval(65, 10_000.0), 512, 60, restart_minutes=5, write_minutes=0, scheduled_days=30, target=0.9
    ... )
    >>> print(f"{found.probability:.2f}")
    0.94
    """
    if not rate.value > 0 or not np.isfinite(node_count) or not np.isfinite(checkpoint_minutes):
        return TargetProbability(np.nan, np.nan, run_count)
    per_day = possible_rates(rate, run_count, relative_variance) * node_count
    checkpoint, restart, write, queue = (
        np.array([max(checkpoint_minutes, MIN_MINUTES), restart_minutes, write_minutes, queue_minutes])
        / MINUTES_PER_DAY
    )
    lengths = np.minimum(scheduled_days, MAX_SIMULATED_FAILURES / per_day)
    elapsed, productive = np.zeros(run_count), np.zeros(run_count)
    failures = np.zeros(run_count)
    running, attempt = np.arange(run_count), 0
    while running.size:
        draws = _lives(run_count, attempt)[running] / per_day[running]
        left = lengths[running] - elapsed[running]
        is_last = draws >= left
        work = np.maximum(np.where(is_last, left, draws) - restart, 0.0)
        segments = np.floor(work / (checkpoint + write))
        at_the_end = np.where(is_last, np.minimum(work - segments * (checkpoint + write), checkpoint), 0.0)
        productive[running] += segments * checkpoint + at_the_end
        elapsed[running] += draws
        failures[running] += ~is_last
        running, attempt = running[~is_last], attempt + 1
    ettr = productive / (lengths + queue * (failures + 1))
    return TargetProbability(float(np.mean(ettr >= target)), float(ettr.mean()), run_count)


def possible_rates(
    rate: RateInterval, run_count: int = RUN_COUNT, relative_variance: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """Spread rates evenly over those that a count leaves possible; all are alike where the rate is assumed.

    Parameters
    ----------
    rate
        Of one element, counted or assumed.
    run_count
        Number n of rates.
    relative_variance
        As in `predict_interruptions`.

    Returns
    -------
    ndarray
        The quantiles ``(i + 1/2) / n`` of `rates_to_come`, shape ``(n,)``, in the unit of the rate.

    Examples
    --------
    >>> from assets.model.failure_rate import garwood_interval
    >>> possible_rates(garwood_interval(65, 10_000.0), 3).round(5).tolist()
    [0.00577, 0.00652, 0.00733]
    """
    if rate.method == ASSUMED:
        return np.full(run_count, float(rate.value))
    shape, mean = (float(x) for x in rates_to_come(rate, relative_variance))
    levels = (np.arange(run_count) + 0.5) / run_count
    return np.asarray(special.gammaincinv(shape, levels) * mean / shape)


@lru_cache(maxsize=2_000)
def _lives(run_count: int, attempt: int) -> NDArray[np.float64]:
    """Return how long an attempt of each run lasts at a rate of one; every question has the same ones.

    A run has hardly more attempts than are kept. Fewer would be of no use: they are asked for one after the other, so
    each would be gone before its turn comes again.
    """
    return -np.log((_hash(np.arange(run_count), attempt) + 0.5) / WORD)


def _hash(run: NDArray[np.int64], attempt: int) -> NDArray[np.float64]:
    """Mix two numbers into 32 bits that look random (the finalizer of MurmurHash3, by A. Appleby)."""
    mixed = run.astype(np.uint32) * np.uint32(0x9E3779B1) ^ np.uint32(attempt * 0x85EBCA77 & 0xFFFFFFFF)
    for _ in range(2):
        mixed ^= mixed >> np.uint32(16)
        mixed *= np.uint32(0x85EBCA6B)
        mixed ^= mixed >> np.uint32(13)
        mixed *= np.uint32(0xC2B2AE35)
        mixed ^= mixed >> np.uint32(16)
    return mixed.astype(np.float64)
