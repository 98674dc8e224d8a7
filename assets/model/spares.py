"""How many spare nodes a run needs, so that a failed node does not keep it waiting."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

USUAL_REPAIR_HOURS = 24.0
"""Assumed days out of service of a failed node without a record."""
HARDLY_EVER = 0.05


def probability_without_spare(
    failures_per_day: ArrayLike, repair_days: ArrayLike, spare_count: ArrayLike
) -> NDArray[np.float64]:
    """Return the probability that a failure finds every spare node in use or in repair.

    Parameters
    ----------
    failures_per_day
        Interruptions per day of the whole job, lambda = N x r_f, 0 or more.
    repair_days
        Mean days R for which a failed node is out of service, 0 or more.
    spare_count
        Spare nodes s, whole numbers, 0 or more; broadcast.

    Returns
    -------
    ndarray
        Ratio 0 to 1; 1 without a spare.

    Raises
    ------
    ValueError
        Anything below 0.

    Notes
    -----
    Nodes fail as a Poisson process and each is out for a time of mean R, of any distribution, so that
    Poisson(lambda R) nodes are out when the next one fails. No spare is left if that number is s or more:
    ``P(s, lambda R)``, the regularised incomplete gamma function.

    Assumptions: every failure takes a node out of service, so the value is too high if many do not; and a job fails
    at the same rate while it waits.

    References
    ----------
    C. Palm's theorem; W. Feller, *An Introduction to Probability Theory and Its Applications* II, on M/G/infinity.

    Examples
    --------
    Two failures a day and nodes out for half a day, so that one is out on average:

    >>> probability_without_spare(2.0, 0.5, [0, 1, 3]).round(3).tolist()
    [1.0, 0.632, 0.08]
    """
    rate, days, spares = (np.asarray(x, dtype=float) for x in (failures_per_day, repair_days, spare_count))
    if np.any(rate < 0) or np.any(days < 0) or np.any(spares < 0):
        raise ValueError("rates, repair times and spares are 0 or more")
    return np.where(spares == 0, 1.0, special.gammainc(np.maximum(spares, 1.0), rate * days))


def enough_spares(failures_per_day: float, repair_days: float) -> float:
    """Return the number of spare nodes with which at most one failure in twenty finds none.

    Parameters
    ----------
    failures_per_day, repair_days
        As in `probability_without_spare`, one number each.

    Returns
    -------
    float
        A whole number; `nan` if a parameter is.

    Examples
    --------
    >>> enough_spares(2.0, 0.5), enough_spares(106.5, 1.0)
    (4.0, 125.0)
    """
    fewer = special.pdtrik(1.0 - HARDLY_EVER, failures_per_day * repair_days)
    return float(np.ceil(np.maximum(fewer, 0.0)) + 1.0)
