"""How often to write a checkpoint: Young's and Daly's intervals and the exact optimum of the renewal form.

Intervals are minutes of work between two checkpoints, the write itself not included. They answer for the time lost,
not for the bandwidth that writing so often takes from others.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.ettr import MINUTES_PER_DAY


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
    ``sqrt(2 w / lambda)``. When it lies: once w is no longer small against the time between failures it asks
    for too long an interval.

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

    When it lies: hardly. It follows `optimal_minutes` to 0.2% while a write takes less than a quarter of M, and to 2%
    at M.

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
    """Find the interval that gives the greatest `expected_ettr_exact`; restart and queue do not move it.

    Parameters, returns and errors are those of `young_minutes`.

    Notes
    -----
    The derivative of the renewal form vanishes at ``lambda dt = 1 - exp(-lambda (dt + w))``, whose solution is
    ``dt = (1 + W0(-exp(-1 - lambda w))) / lambda`` with Lambert's W.

    When it lies: where failures have a memory, or a restart has to read a checkpoint in a time that depends on dt.

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


def _checked(failures_per_day: ArrayLike, write_minutes: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    rate, write = np.asarray(failures_per_day, dtype=float), np.asarray(write_minutes, dtype=float)
    if np.any(rate <= 0):
        raise ValueError(f"without failures there is no best interval: failures_per_day is {failures_per_day!r}")
    if np.any(write < 0):
        raise ValueError(f"write_minutes must not be below 0: {write_minutes!r}")
    return MINUTES_PER_DAY / rate, write
