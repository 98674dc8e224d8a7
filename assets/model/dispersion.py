"""Dispersion: the variance of counts over that of Poisson counts. 1 is Poisson; 2 means twice the variance.

Failures that come in groups (one switch, many jobs), or at different rates, have a larger dispersion. Limits that
ignore it are too narrow. A dispersion below 1 is never used to narrow an interval.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def pearson_dispersion(event_count: ArrayLike, expected_count: ArrayLike, parameter_count: int) -> float:
    """Compare counts with the means that a fitted model gives them.

    Parameters
    ----------
    event_count
        Events of each cell, shape (n,).
    expected_count
        Fitted means, shape (n,), above 0.
    parameter_count
        Parameters p that were fitted to these cells.

    Returns
    -------
    float
        No unit; `nan` when n is not above p: a model with as many parameters as cells fits anything.

    Raises
    ------
    ValueError
        A mean of 0 or less.

    Notes
    -----
    ``sum((k - mu)^2 / mu) / (n - p)``.

    Limitations: with means well below 1 the result is very noisy. If the fitted means have the wrong shape, the
    difference is counted as dispersion.

    References
    ----------
    P. McCullagh and J. A. Nelder, *Generalized Linear Models*, 2nd ed. (1989), section 6.2.

    Examples
    --------
    >>> round(pearson_dispersion([4, 9, 2, 13], [7.0, 7.0, 7.0, 7.0], parameter_count=1), 3)
    3.524
    """
    count, mean = np.asarray(event_count, dtype=float), np.asarray(expected_count, dtype=float)
    if np.any(mean <= 0):
        raise ValueError(f"fitted means are above 0, not {mean.min()!r}")
    freedom = count.size - parameter_count
    if freedom < 1:
        return float("nan")
    return float(np.sum((count - mean) ** 2 / mean) / freedom)


def neighbour_dispersion(event_count: ArrayLike, exposure: ArrayLike) -> float:
    """Compare each cell of a series with the next, so that a rate that changes at times does not pass for scatter.

    Parameters
    ----------
    event_count
        Events k of consecutive cells, such as days, shape (n,).
    exposure
        Exposure T of each cell, shape (n,), 0 or more.

    Returns
    -------
    float
        No unit; `nan` when no two neighbours have events and exposure.

    Raises
    ------
    ValueError
        Arrays of different shape.

    Notes
    -----
    Of ``m = k1 + k2`` events of two neighbours ``k1`` is binomial with ``p = T1 / (T1 + T2)`` when both have one
    Poisson rate. The dispersion is ``sum((k1 - m p)^2) / sum(m p (1 - p))`` over neighbours, 1 on average.

    Limitations: only the variance between neighbouring cells is measured, not groups that span many cells. A pair with
    a single event always gives about 1, so a sparse series cannot show dispersion.

    Examples
    --------
    >>> neighbour_dispersion([1, 1, 9, 9], [1, 1, 1, 1]), neighbour_dispersion([9, 0, 0, 9], [1, 1, 1, 1])
    (2.1333333333333333, 9.0)
    """
    count, time = np.asarray(event_count, dtype=float), np.asarray(exposure, dtype=float)
    if count.shape != time.shape:
        raise ValueError(f"counts of shape {count.shape} and exposures of shape {time.shape}")
    both: NDArray[np.float64] = count[:-1] + count[1:]
    total = time[:-1] + time[1:]
    usable = (both > 0) & (time[:-1] > 0) & (time[1:] > 0)
    if not usable.any():
        return float("nan")
    both, share = both[usable], time[:-1][usable] / total[usable]
    return float(np.sum((count[:-1][usable] - both * share) ** 2) / np.sum(both * share * (1.0 - share)))
