"""Plan a run at a failure rate: MTTF, interruptions, checkpoint interval and ETTR, with limits.

It composes the other modules, so that a table over all sizes and the answer for one run have the same numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assets.model.checkpoint import daly_minutes, optimal_minutes, young_minutes
from assets.model.ettr import expected_ettr, expected_ettr_exact
from assets.model.failure_rate import CONFIDENCE_LEVEL, RateInterval
from assets.model.prediction import (
    PRIOR_EVENTS,
    PredictionInterval,
    gamma_shape,
    prediction_at_known_rate,
    prediction_interval,
)
from assets.model.spares import probability_without_spare

ASSUMED = "assumed"
MIN_MINUTES = 1e-3


@dataclass(frozen=True)
class CheckpointPlan:
    """Checkpoint intervals in minutes and the ETTR at each; all arrays have one shape, `nan` is unknown.

    Attributes
    ----------
    young, daly, optimal
        Intervals at the rate's value; 0, write all the time, if a write costs nothing.
    optimal_low, optimal_high
        The optimum at the upper and at the lower limit of the rate; `inf` if the rate may be 0.
    ettr_young
        Expected ETTR with Young's interval, by the published form.
    ettr_optimal, ettr_optimal_low, ettr_optimal_high
        The greatest ETTR, by the renewal form, at the rate's value, upper and lower limit.
    """

    young: NDArray[np.float64]
    daly: NDArray[np.float64]
    optimal: NDArray[np.float64]
    optimal_low: NDArray[np.float64]
    optimal_high: NDArray[np.float64]
    ettr_young: NDArray[np.float64]
    ettr_optimal: NDArray[np.float64]
    ettr_optimal_low: NDArray[np.float64]
    ettr_optimal_high: NDArray[np.float64]


def assumed_rate(failures_per_node_day: ArrayLike) -> RateInterval:
    """Return a rate that is assumed to be known: its limits are the rate itself, and it has no count.

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
    """Predict the number of interruptions of runs with these node-days.

    Parameters
    ----------
    rate
        Per node-day, counted (`garwood_interval`, `weighted_interval`) or assumed (`assumed_rate`).
    node_days
        Nodes x days of scheduled time of each run, broadcast against the rate.
    relative_variance
        Possible difference of the rate in the run's days from the counted rate (`MonthVariation.of_future`); an assumed
        rate is used as it is.

    Returns
    -------
    PredictionInterval
        Negative binomial for a counted rate, Poisson for an assumed one.

    Notes
    -----
    `prediction_interval` or `prediction_at_known_rate`, with their assumptions.

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
    """Return the probability that a run with these node-days has no failure.

    Parameters
    ----------
    rate, node_days, relative_variance
        As in `predict_interruptions`.

    Returns
    -------
    ndarray
        Ratio 0 to 1; `nan` if the rate has no value.

    Notes
    -----
    ``exp(-r t)`` at an assumed rate r; at a counted one its mean over the Gamma distribution of the rate, with shape s
    and mean m: ``(s / (s + m t))^s``. For a plain count that is Gamma(k + 1/2, T).

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
    """Return shape and mean of the Gamma distribution of the rate in the days to come, given a count.

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
    spare_count: ArrayLike = 0,
    repair_days: ArrayLike = 0.0,
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
    spare_count, repair_days
        As in `probability_without_spare`: a run waits in the queue only if a failure finds no spare node.

    Returns
    -------
    CheckpointPlan
        If no failure was counted, only `optimal_low` and `ettr_optimal_low` are informative.

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
    value, low, high = (np.where(r > 0, r, np.nan) * nodes for r in (rate.value, rate.low, rate.high))

    def costs(per_day: NDArray[np.float64]) -> dict[str, ArrayLike]:
        wait = np.asarray(queue_minutes) * probability_without_spare(per_day, repair_days, spare_count)
        return {"restart_minutes": restart_minutes, "write_minutes": write_minutes, "queue_minutes": wait}

    young, daly, optimal = (form(value, write_minutes) for form in (young_minutes, daly_minutes, optimal_minutes))
    # A rate that may be 0 needs no checkpoint at all, and such a run loses nothing.
    may_be_zero = (rate.low == 0) & np.isfinite(nodes)
    return CheckpointPlan(
        *np.broadcast_arrays(
            young,
            daly,
            optimal,
            optimal_minutes(high, write_minutes),
            np.where(may_be_zero, np.inf, optimal_minutes(low, write_minutes)),
            expected_ettr(value, _usable(young), **costs(value)),
            expected_ettr_exact(value, _usable(optimal), **costs(value)),
            expected_ettr_exact(high, _usable(optimal_minutes(high, write_minutes)), **costs(high)),
            np.where(
                may_be_zero,
                1.0,
                expected_ettr_exact(low, _usable(optimal_minutes(low, write_minutes)), **costs(low)),
            ),
        )
    )


def _usable(minutes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace an interval of 0, all the time, by one that the forms can divide by."""
    return np.maximum(minutes, MIN_MINUTES)
