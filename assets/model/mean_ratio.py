"""The mean of ratios between 0 and 1, such as the ETTR of a handful of runs, with limits that stay between 0 and 1.

It takes count, mean and standard deviation, which a database can compute, and draws no random numbers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.failure_rate import CONFIDENCE_LEVEL

LOGIT_T = "logit_t"
NO_SPREAD = "no_spread"
BOUNDS_OF_FEW_RUNS = "bounds_of_few_runs"
MIN_RUNS = 10
"""Smallest number of runs with limits. If one run in ten is bad, fewer runs most likely include no bad one."""


@dataclass(frozen=True)
class MeanInterval:
    """Means with limits; all arrays have one shape.

    Attributes
    ----------
    value, low, high
        Ratios 0 to 1; limits are `nan` if the sample shows no spread.
    confidence_level
        Nominal probability that [low, high] covers the true mean; not of bounds.
    method
        `logit_t`, `no_spread` or `bounds_of_few_runs`, element by element.
    """

    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence_level: float
    method: NDArray[np.str_]


def mean_ratio_interval(
    sample_count: ArrayLike,
    mean: ArrayLike,
    standard_deviation: ArrayLike,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> MeanInterval:
    """Put limits on a mean of ratios by Student's t on the logit scale.

    Parameters
    ----------
    sample_count
        Number n of ratios.
    mean
        Their mean m, 0 to 1.
    standard_deviation
        Their standard deviation s, with n - 1 in the divisor; `nan` when n is 1.
    confidence_level
        1 - a, between 0 and 1.

    Returns
    -------
    MeanInterval
        No limits (`no_spread`) when n < 2, s = 0, or m is exactly 0 or 1.

    Raises
    ------
    ValueError
        Means outside [0, 1], a negative standard deviation, a level outside (0, 1).

    Notes
    -----
    ``logit(m) -/+ t(1 - a/2; n - 1) s / (sqrt(n) m (1 - m))``, transformed back to the ratio: the delta method.

    Chosen by measurement. For samples of 5 ratios from Beta(9, 1), which looks like the ETTR of long runs, 90%
    limits of this kind covered the true mean in 88%, a plain t interval in 86% and a percentile bootstrap in 78%;
    with 30 ratios all three covered it in 87 to 89%.

    Assumptions: the ratios are independent. Runs of one user in the same bad week are not.

    References
    ----------
    A. Agresti, "Categorical Data Analysis", on the delta method and the logit.

    Examples
    --------
    >>> ettr = mean_ratio_interval(10, 0.95, 0.04)
    >>> print(f"{ettr.value:.2f} [{ettr.low:.3f}, {ettr.high:.3f}] {ettr.method}")
    0.95 [0.921, 0.969] logit_t
    """
    n, m, s = np.broadcast_arrays(*(np.asarray(x, dtype=float) for x in (sample_count, mean, standard_deviation)))
    if np.any(m < 0) or np.any(m > 1) or np.any(s < 0):
        raise ValueError("ratios have a mean from 0 to 1 and a standard deviation of 0 or more")
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not {confidence_level!r}")
    usable = (n >= 2) & (s > 0) & (m > 0) & (m < 1)
    n, m_usable, s = (np.where(usable, x, np.nan) for x in (n, m, s))
    quantile = special.stdtrit(n - 1.0, 0.5 + confidence_level / 2.0)
    half = quantile * s / (np.sqrt(n) * m_usable * (1.0 - m_usable))
    centre = special.logit(m_usable)
    method = np.where(usable, LOGIT_T, NO_SPREAD)
    return MeanInterval(m, special.expit(centre - half), special.expit(centre + half), confidence_level, method)


def mean_or_bounds(
    sample_count: ArrayLike,
    mean: ArrayLike,
    standard_deviation: ArrayLike,
    lowest: ArrayLike,
    highest: ArrayLike,
    *,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> MeanInterval:
    """Put limits on a mean of enough ratios. For few ratios, return the lowest and the highest instead.

    Parameters
    ----------
    sample_count, mean, standard_deviation, confidence_level
        As in `mean_ratio_interval`.
    lowest, highest
        The smallest and the largest of the ratios, 0 to 1.

    Returns
    -------
    MeanInterval
        From `mean_ratio_interval` for `MIN_RUNS` ratios or more. For fewer, `low` and `high` are the lowest and the
        highest ratio themselves (`bounds_of_few_runs`), without a coverage; a single ratio has none.

    Raises
    ------
    ValueError
        As in `mean_ratio_interval`; a mean that does not lie between the lowest and the highest ratio.

    Notes
    -----
    If one run in ten goes badly wrong, limits on the logit scale cover the mean in 60% of samples of nine and in 41% of
    samples of five, because such a sample most likely includes no bad run. The bounds describe the sample only.

    Examples
    --------
    >>> ettr = mean_or_bounds([3, 12], 0.95, 0.04, 0.91, 0.98)
    >>> ettr.low.round(3).tolist(), ettr.high.round(3).tolist(), ettr.method.tolist()
    ([0.91, 0.925], [0.98, 0.967], ['bounds_of_few_runs', 'logit_t'])
    """
    limits = mean_ratio_interval(sample_count, mean, standard_deviation, confidence_level)
    count, value, least, most = np.broadcast_arrays(
        *(np.asarray(x, dtype=float) for x in (sample_count, limits.value, lowest, highest))
    )
    if np.any((value < least - 1e-9) | (value > most + 1e-9)):
        raise ValueError("a mean lies between the lowest and the highest ratio")
    is_few = (count >= 2) & (count < MIN_RUNS)
    return MeanInterval(
        value,
        np.where(is_few, np.minimum(least, value), limits.low),
        np.where(is_few, np.maximum(most, value), limits.high),
        confidence_level,
        np.where(is_few, BOUNDS_OF_FEW_RUNS, limits.method),
    )
