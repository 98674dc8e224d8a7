"""How often to write a checkpoint: Young's and Daly's intervals, the exact optimum, and the longest sufficient one.

Intervals are minutes of work between two checkpoints, without the time of the write. They minimise the time lost; the
bandwidth that frequent writes take from others is not considered.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.ettr import MINUTES_PER_DAY, expected_ettr, expected_ettr_exact

HALVINGS = 60
V2_MINUTES = 5.0
"""Write and restart time of the paper's second version."""


def young_minutes(failures_per_day: ArrayLike, write_minutes: ArrayLike) -> NDArray[np.float64]:
    """Choose the interval by Young's first-order rule.

    Parameters
    ----------
    failures_per_day
        Interruptions per day of the whole job, lambda = N x r_f, above 0.
    write_minutes
        Minutes w that one checkpoint stops the work; 0 gives 0: write all the time.

    Returns
    -------
    ndarray
        Minutes.

    Raises
    ------
    ValueError
        A rate of 0 or less, a write time below 0.

    Notes
    -----
    ``sqrt(2 w / lambda)``. Assumptions: w is small against the time between failures. Otherwise the interval is too
    long.

    References
    ----------
    J. W. Young, "A first order approximation to the optimum checkpoint interval", CACM 17 (1974) 530-531.

    Examples
    --------
    12,000 GPUs in nodes of eight at 6.5 failures per 1,000 node-days; a write takes 5 minutes, or 10 seconds:

    >>> young_minutes(1500 * 0.0065, [5, 10 / 60]).round(2).tolist()
    [38.43, 7.02]
    """
    mean_minutes, write = _checked(failures_per_day, write_minutes)
    return np.sqrt(2.0 * write * mean_minutes)


def daly_minutes(failures_per_day: ArrayLike, write_minutes: ArrayLike) -> NDArray[np.float64]:
    """Choose the interval by Daly's higher-order series.

    Parameters, returns and errors are those of `young_minutes`.

    Notes
    -----
    With M = 1 / lambda: ``sqrt(2 w M) (1 + sqrt(w / 2M) / 3 + (w / 2M) / 9) - w`` while w < 2M, and M beyond.

    Accuracy: within 0.2% of `optimal_minutes` while a write takes less than a quarter of M, and within 2% at M.

    References
    ----------
    J. T. Daly, Future Generation Computer Systems 22 (2006) 303-312.

    Examples
    --------
    >>> daly_minutes(1500 * 0.0065, 5).round(2).item()
    35.17
    """
    mean_minutes, write = _checked(failures_per_day, write_minutes)
    part = write / (2.0 * mean_minutes)
    series = np.sqrt(2.0 * write * mean_minutes) * (1.0 + np.sqrt(part) / 3.0 + part / 9.0) - write
    return np.where(part < 1.0, series, mean_minutes)


def optimal_minutes(failures_per_day: ArrayLike, write_minutes: ArrayLike) -> NDArray[np.float64]:
    """Return the interval with the greatest `expected_ettr_exact`; restart and queue do not change it.

    Parameters, returns and errors are those of `young_minutes`.

    Notes
    -----
    The derivative of the renewal form vanishes at ``lambda dt = 1 - exp(-lambda (dt + w))``, whose solution is
    ``dt = (1 + W0(-exp(-1 - lambda w))) / lambda`` with Lambert's W.

    Assumptions: failures are memoryless, and the time of a restart does not depend on dt.

    References
    ----------
    Derived from the total time in Daly (2006); Lambert's W in Corless et al., Advances in Computational Mathematics
    5 (1996) 329-359.

    Examples
    --------
    >>> optimal_minutes(1500 * 0.0065, 5).round(2).item()
    35.17
    """
    mean_minutes, write = _checked(failures_per_day, write_minutes)
    argument = np.asarray(-np.exp(-1.0 - write / mean_minutes), dtype=np.float64)
    return np.where(write > 0, mean_minutes * (1.0 + special.lambertw(argument, 0).real), 0.0)


def expected_ettr_v2(failures_per_day: ArrayLike) -> NDArray[np.float64]:
    """Return the expected ETTR of a long run by the paper's second version: with Young's interval and its write cost.

    Parameters
    ----------
    failures_per_day
        Interruptions per day of the whole job, lambda = N x r_f, 0 or more; `nan` is unknown.

    Returns
    -------
    ndarray
        Ratio 0 to 1; 1 at a rate of 0, where nothing need be written.

    Notes
    -----
    ``(1 - lambda (u0 + dt/2)) / (1 + w/dt)`` with ``dt = sqrt(2 w / lambda)``, where w and u0 are 5 minutes each.
    Assumptions: those of `expected_ettr`.

    References
    ----------
    Kokolis et al., HPCA 2025 (arXiv 2410.21680 v2): for runs above 1,024 GPUs it comes to about 0.9.

    Examples
    --------
    2,048 and 12,000 GPUs in nodes of eight at 6.5 failures per 1,000 node-days:

    >>> expected_ettr_v2([256 * 0.0065, 1500 * 0.0065]).round(3).tolist()
    [0.893, 0.74]
    """
    rate = np.asarray(failures_per_day, dtype=float)
    some = np.where(rate > 0, rate, np.nan)
    known = np.isfinite(some)
    interval = young_minutes(np.where(known, some, 1.0), V2_MINUTES)
    ettr = expected_ettr(some, interval, restart_minutes=V2_MINUTES, write_minutes=V2_MINUTES)
    return np.where(rate == 0, 1.0, ettr)


def longest_minutes(
    failures_per_day: ArrayLike,
    target: ArrayLike,
    *,
    restart_minutes: ArrayLike,
    write_minutes: ArrayLike = 0.0,
    queue_minutes: ArrayLike = 0.0,
) -> NDArray[np.float64]:
    """Return the longest interval with an `expected_ettr_exact` that still reaches a target.

    Parameters
    ----------
    failures_per_day, write_minutes
        As in `young_minutes`.
    target
        ETTR to reach, between 0 and 1.
    restart_minutes, queue_minutes
        As in `expected_ettr_exact`.

    Returns
    -------
    ndarray
        Minutes; `nan` if no interval reaches the target.

    Raises
    ------
    ValueError
        As in `young_minutes`; a target outside (0, 1); a restart or queue time below 0.

    Notes
    -----
    Beyond `optimal_minutes` the ETTR only falls, so the interval is found by halving.

    Assumptions: those of `expected_ettr_exact`. The mean reaches the target; many single runs do not.

    Examples
    --------
    100,000 GPUs in nodes of eight at 6.5 and at 2.34 failures per 1,000 node-days, half the time productive:

    >>> longest_minutes([12_500 * 0.0065, 12_500 * 0.00234], 0.5, restart_minutes=5).round(1).tolist()
    [13.7, 53.5]
    """
    rate, goal = np.asarray(failures_per_day, dtype=float), np.asarray(target, dtype=float)
    if np.any((goal <= 0) | (goal >= 1)):
        raise ValueError(f"a target lies between 0 and 1, not {target!r}")
    costs = {"restart_minutes": restart_minutes, "write_minutes": write_minutes, "queue_minutes": queue_minutes}
    # With free writes the optimum is 0, and the form would divide by it; a fraction of a second is as good.
    reached = np.maximum(optimal_minutes(rate, write_minutes), 1e-6)
    is_in_reach = expected_ettr_exact(rate, reached, **costs) >= goal
    # Fifty times the time between failures leaves nothing of any run.
    missed = reached + 50 * MINUTES_PER_DAY / rate
    for _ in range(HALVINGS):
        middle = (reached + missed) / 2.0
        will_do = expected_ettr_exact(rate, middle, **costs) >= goal
        reached, missed = np.where(will_do, middle, reached), np.where(will_do, missed, middle)
    return np.where(is_in_reach, reached, np.nan)


def _checked(failures_per_day: ArrayLike, write_minutes: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rate, write = np.asarray(failures_per_day, dtype=float), np.asarray(write_minutes, dtype=float)
    if np.any(rate <= 0):
        raise ValueError(f"without failures there is no best interval: failures_per_day is {failures_per_day!r}")
    if np.any(write < 0):
        raise ValueError(f"write_minutes must not be below 0: {write_minutes!r}")
    return MINUTES_PER_DAY / rate, write
