"""What a planned run can expect at a failure rate: MTTF, interruptions, checkpoint interval and ETTR, with limits.

It composes the other modules, so that a table over all sizes and the answer for one run are the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assets.model.checkpoint import daly_minutes, optimal_minutes, young_minutes
from assets.model.ettr import expected_ettr, expected_ettr_exact
from assets.model.ettr_simulation import simulate_runs
from assets.model.failure_rate import CONFIDENCE_LEVEL, RateInterval
from assets.model.prediction import (
    PRIOR_EVENTS,
    PredictionInterval,
    gamma_shape,
    prediction_at_known_rate,
    prediction_interval,
)

ASSUMED = "assumed"
MAX_SIMULATED_FAILURES = 1_000.0
MIN_MINUTES = 1e-3


@dataclass(frozen=True)
class CheckpointPlan:
    """Checkpoint intervals in minutes and the ETTR they lead to; all arrays have one shape, `nan` is unknown.

    Attributes
    ----------
    young, daly, optimal
        Intervals at the rate's value; 0, write all the time, where a write costs nothing.
    optimal_low, optimal_high
        The optimum at the upper and at the lower limit of the rate; `inf` where the rate may be 0.
    ettr_young, ettr_young_exact
        Expected ETTR with Young's interval, by the published and by the renewal form.
    ettr_optimal, ettr_optimal_low, ettr_optimal_high
        The best there is, by the renewal form, at the rate's value, upper and lower limit.
    """

    young: NDArray[np.float64]
    daly: NDArray[np.float64]
    optimal: NDArray[np.float64]
    optimal_low: NDArray[np.float64]
    optimal_high: NDArray[np.float64]
    ettr_young: NDArray[np.float64]
    ettr_young_exact: NDArray[np.float64]
    ettr_optimal: NDArray[np.float64]
    ettr_optimal_low: NDArray[np.float64]
    ettr_optimal_high: NDArray[np.float64]


@dataclass(frozen=True)
class RunOutlook:
    """What may become of one run; `nan` where the rate has no value.

    Attributes
    ----------
    probability
        That its ETTR reaches the target.
    ettr_low, ettr_high
        Between which its ETTR will come to lie.
    confidence_level
        Probability that it does.
    """

    probability: float
    ettr_low: float
    ettr_high: float
    confidence_level: float


def assumed_rate(failures_per_node_day: ArrayLike) -> RateInterval:
    """Take a rate as known: its limits are the rate itself, and it rests on no count.

    Parameters
    ----------
    failures_per_node_day
        Failures per **node-day** (not per 1,000), above 0.

    Returns
    -------
    RateInterval
        Method `assumed`; count and exposure are `nan`.

    Raises
    ------
    ValueError
        A rate of 0 or less, or not finite.

    Examples
    --------
    >>> from assets.model.mttf import mttf_at_scale
    >>> mttf_at_scale(assumed_rate(0.0065), 2048).hours.round(3).item()
    1.803
    """
    rate = np.asarray(failures_per_node_day, dtype=float)
    if not np.all(np.isfinite(rate) & (rate > 0)):
        raise ValueError(f"a failure rate is above 0 and finite, not {failures_per_node_day!r}")
    unknown = np.full(rate.shape, np.nan)
    return RateInterval(unknown, unknown, rate, rate, rate, CONFIDENCE_LEVEL, np.full(rate.shape, ASSUMED))


def predict_interruptions(
    rate: RateInterval, node_days: ArrayLike, relative_variance: ArrayLike = 0.0
) -> PredictionInterval:
    """Predict how often runs of so many node-days will be interrupted.

    Parameters
    ----------
    rate
        Per node-day, counted (`garwood_interval`, `weighted_interval`) or assumed (`assumed_rate`).
    node_days
        Nodes x days of scheduled time of each run, broadcast against the rate.
    relative_variance
        How far the rate of the run's days may lie from the one counted (`MonthVariation.of_future`); a rate that is
        assumed is taken at its word.

    Returns
    -------
    PredictionInterval
        Negative binomial for a rate that was counted, Poisson for one that is assumed.

    Examples
    --------
    >>> future = predict_interruptions(assumed_rate(0.0065), 2048 * 30)
    >>> print(f"{future.value:.1f} [{future.low:.0f}, {future.high:.0f}] {future.method}")
    399.4 [367, 433] poisson
    """
    if np.all(rate.method == ASSUMED):
        return prediction_at_known_rate(rate.value * np.asarray(node_days, dtype=float), rate.confidence_level)
    return prediction_interval(
        rate.event_count,
        rate.exposure,
        node_days,
        rate.confidence_level,
        dispersion=rate.dispersion,
        relative_variance=relative_variance,
    )


def probability_uninterrupted(
    rate: RateInterval, node_days: ArrayLike, relative_variance: ArrayLike = 0.0
) -> NDArray[np.float64]:
    """Work out how likely a run of so many node-days is to meet no failure at all.

    Parameters
    ----------
    rate, node_days, relative_variance
        As in `predict_interruptions`.

    Returns
    -------
    ndarray
        Ratio 0 to 1; `nan` where the rate has no value.

    Notes
    -----
    ``exp(-r t)`` at an assumed rate r; at a counted one its mean over the Gamma distribution of the rate, with shape s
    and mean m: ``(s / (s + m t))^s``. Of a plain count that is Gamma(k + 1/2, T).

    Assumptions: those of `prediction_interval`.

    Examples
    --------
    >>> probability_uninterrupted(assumed_rate(0.0065), [1, 8 * 30]).round(3).tolist()
    [0.994, 0.21]
    """
    future = np.asarray(node_days, dtype=float)
    if np.all(rate.method == ASSUMED):
        return np.exp(-rate.value * future)
    shape, mean = rates_to_come(rate, relative_variance)
    return np.asarray((shape / (shape + np.where(rate.value > 0, mean, np.nan) * future)) ** shape)


def rates_to_come(
    rate: RateInterval, relative_variance: ArrayLike = 0.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give shape and mean of the Gamma distribution that a count leaves for the rate of the days to come.

    Parameters
    ----------
    rate, relative_variance
        As in `predict_interruptions`; the rate is a counted one.

    Returns
    -------
    tuple of ndarray
        Shape, and mean per node-day.

    Examples
    --------
    >>> from assets.model.failure_rate import garwood_interval
    >>> [float(x.round(4)) for x in rates_to_come(garwood_interval(65, 10_000.0), 0.09)]
    [9.4996, 0.0066]
    """
    counted = rate.event_count / rate.dispersion + PRIOR_EVENTS
    return gamma_shape(counted, relative_variance), np.asarray(counted * rate.dispersion / rate.exposure)


def plan_checkpoints(
    rate: RateInterval,
    node_count: ArrayLike,
    *,
    restart_minutes: ArrayLike,
    write_minutes: ArrayLike,
    queue_minutes: ArrayLike = 0.0,
) -> CheckpointPlan:
    """Choose checkpoint intervals for jobs at a rate and its limits.

    Parameters
    ----------
    rate
        Per node-day, counted or assumed.
    node_count
        Nodes N of the job, broadcast against the rate.
    restart_minutes, write_minutes, queue_minutes
        As in `expected_ettr`.

    Returns
    -------
    CheckpointPlan
        Where no failure was counted, only `optimal_low` and `ettr_optimal_low` tell something.

    Notes
    -----
    Assumptions: those of the expected forms; and the rate per node is the same at every scale.

    Examples
    --------
    12,000 GPUs in nodes of eight; a write takes five minutes, as does a restart:

    >>> plan = plan_checkpoints(assumed_rate(0.0065), 1500, restart_minutes=5, write_minutes=5)
    >>> print(f"{plan.young:.1f} min: {plan.ettr_young:.3f}; {plan.optimal:.1f} min: {plan.ettr_optimal:.3f}")
    38.4 min: 0.740; 35.2 min: 0.736
    """
    nodes = np.asarray(node_count, dtype=float)
    costs = {"restart_minutes": restart_minutes, "write_minutes": write_minutes, "queue_minutes": queue_minutes}
    value, low, high = (np.where(r > 0, r, np.nan) * nodes for r in (rate.value, rate.low, rate.high))
    young, daly, optimal = (form(value, write_minutes) for form in (young_minutes, daly_minutes, optimal_minutes))
    # A rate that may be 0 asks for no checkpoint at all, and such a run loses nothing.
    may_be_zero = (rate.low == 0) & np.isfinite(nodes)
    return CheckpointPlan(
        *np.broadcast_arrays(
            young,
            daly,
            optimal,
            optimal_minutes(high, write_minutes),
            np.where(may_be_zero, np.inf, optimal_minutes(low, write_minutes)),
            expected_ettr(value, _usable(young), **costs),
            expected_ettr_exact(value, _usable(young), **costs),
            expected_ettr_exact(value, _usable(optimal), **costs),
            expected_ettr_exact(high, _usable(optimal_minutes(high, write_minutes)), **costs),
            np.where(may_be_zero, 1.0, expected_ettr_exact(low, _usable(optimal_minutes(low, write_minutes)), **costs)),
        )
    )


def run_outlook(
    rate: RateInterval,
    node_count: float,
    checkpoint_minutes: float,
    *,
    restart_minutes: float,
    write_minutes: float,
    queue_minutes: float = 0.0,
    scheduled_days: float,
    target: float,
    run_count: int,
    generator: np.random.Generator,
    relative_variance: float = 0.0,
) -> RunOutlook:
    """Simulate a planned run at the rates that the count leaves possible, to see whether its ETTR reaches a target.

    Parameters
    ----------
    rate
        Per node-day, of one element: counted, so that its rates are drawn from `rates_to_come`, or assumed.
    node_count, checkpoint_minutes, restart_minutes, write_minutes, queue_minutes
        As in `expected_ettr`; a checkpoint interval of 0, write all the time, is taken as a 1,000th of a minute.
    scheduled_days
        Days for which the run holds its nodes.
    target
        ETTR to reach, 0 to 1.
    run_count
        Number of runs to simulate; the standard error of the probability is at most 1 / (2 sqrt(run_count)).
    generator
        Source of randomness.
    relative_variance
        As in `predict_interruptions`.

    Returns
    -------
    RunOutlook

    Notes
    -----
    If a run would fail more than 1,000 times, only the part up to the first 1,000 failures is simulated. The ETTR then
    has a standard deviation below 0.02 (measured), so the result is only slightly wider than the truth.

    Assumptions: those of `simulate_runs`; and the checkpoint interval is fixed beforehand. Adapting it to the failures
    gives a better ETTR.

    Examples
    --------
    65 failures in 10,000 node-days; 4,096 GPUs for 30 days with a checkpoint each hour:

    >>> from assets.model.failure_rate import garwood_interval
    >>> outlook = run_outlook(
    ...     garwood_interval(65, 10_000.0), 512, 60, restart_minutes=5, write_minutes=0, scheduled_days=30,
    ...     target=0.9, run_count=4000, generator=np.random.default_rng(7),
    ... )
    >>> print(f"{outlook.probability:.2f}, between {outlook.ettr_low:.2f} and {outlook.ettr_high:.2f}")
    0.94, between 0.90 and 0.94
    """
    if not rate.value > 0 or not np.isfinite(node_count) or not np.isfinite(checkpoint_minutes):
        return RunOutlook(np.nan, np.nan, np.nan, rate.confidence_level)
    if rate.method == ASSUMED:
        per_node_day = np.full(run_count, float(rate.value))
    else:
        shape, mean = (float(x) for x in rates_to_come(rate, relative_variance))
        per_node_day = generator.gamma(shape, size=run_count) * mean / shape
    runs = simulate_runs(
        per_node_day * node_count,
        float(_usable(np.asarray(checkpoint_minutes, dtype=float))),
        restart_minutes=restart_minutes,
        write_minutes=write_minutes,
        queue_minutes=queue_minutes,
        scheduled_days=np.minimum(scheduled_days, MAX_SIMULATED_FAILURES / (per_node_day * node_count)),
        run_count=run_count,
        generator=generator,
        confidence_level=rate.confidence_level,
    )
    return RunOutlook(runs.probability_at_least(target), runs.low, runs.high, runs.confidence_level)


def _usable(minutes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give "all the time" a length, which the forms divide by."""
    return np.maximum(minutes, MIN_MINUTES)
