"""How much the failure rate of a cluster differs from month to month, beyond chance.

If a prediction takes the rate as constant, its limits are too narrow: new drivers, new checks and worn parts change
the rate. The variation is the coefficient of variation (CV) of the months' true rates: 0.3 means that they differ by
30%.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

DAYS_PER_MONTH = 30.0
USUAL_CV = 0.3
"""What is taken for granted before a cluster's own months tell. Published rates of whole fleets differ by a CV of 0.45
(Kokolis et al. 6.50 and 2.34, Llama 3 3.79, InfiniteHBD 4.195 and others, per 1,000 node-days); the months of one fleet
are more alike than fleets are. No fleet has published its months with their exposure."""
USUAL_WEIGHT = 2.0
"""Months of its own that a cluster must have seen, beyond the first, for both to weigh the same, if their counts are so
large that chance hardly scatters them."""


@dataclass(frozen=True)
class MonthVariation:
    """How months differ.

    Attributes
    ----------
    relative_variance
        CV^2 of the months' rates, no unit; 0: they do not differ.
    observed
        The same by the cluster's own months alone, which may come out below 0; `nan` with fewer than two months.
    month_count
        Months with exposure.
    concentration
        Sum of the squared shares of the exposure in each month: 1 / month_count where all are alike.
    """

    relative_variance: float
    observed: float
    month_count: int
    concentration: float

    @property
    def cv(self) -> float:
        """Coefficient of variation, no unit."""
        return float(np.sqrt(self.relative_variance))

    def of_future(self, future_days: ArrayLike) -> np.ndarray:
        """Say how far the rate of days to come may lie from the mean rate of the months seen, as relative variance.

        Parameters
        ----------
        future_days
            Days to come, any shape, 0 or more. Months of 30 days draw their rates independently, so that a long future
            averages over them.

        Notes
        -----
        ``CV^2 (S + 1 / max(1, days / 30))`` with S the `concentration`: the mean over the months seen has itself missed
        the long-run rate.
        """
        months = np.maximum(np.asarray(future_days, dtype=float) / DAYS_PER_MONTH, 1.0)
        return np.asarray(self.relative_variance * (self.concentration + 1.0 / months))


def month_variation(event_count: ArrayLike, exposure: ArrayLike, dispersion: float = 1.0) -> MonthVariation:
    """Estimate how much the rate differs between months, by the method of moments.

    Parameters
    ----------
    event_count
        Events k_j of each month, shape (n,), 0 or more; sums of probabilities are fine.
    exposure
        Exposure T_j of each month, shape (n,), 0 or more, such as node-days. Months without exposure do not count.
    dispersion
        Variance over mean of a count within a month, 1 or more, as `weighted_interval` finds it.

    Returns
    -------
    MonthVariation
        With fewer than two months, or without events, that of `USUAL_CV`.

    Raises
    ------
    ValueError
        Arrays of different shape, negative or unknown values.

    Notes
    -----
    With K and T the totals, ``h_j = T_j / T``, ``S = sum h^2`` and ``S3 = sum h^3``, the sum of squares
    ``sum (k_j - h_j K)^2`` has the expectation ``phi K (1 - S) + CV^2 K^2 (S - 2 S3 + S^2)``. What solves it is
    averaged with `USUAL_CV`^2 at the weight of `USUAL_WEIGHT` months against what the months seen tell, and is 0 at
    least. What they tell is ``2 CV^4`` over the variance that the solution has if the usual CV is the true one: the
    months seen less one where they are alike and have many events, next to nothing where all but one are the few hours
    that a time zone leaves of a month. The variance is that of normal counts, ``2 tr C^2`` with C the covariance of the
    differences.

    Assumptions: months differ independently of each other. If the rate climbs, the next month is unlike the past ones.
    A calendar month that was only partly seen differs from others as much as a whole one.

    References
    ----------
    J. F. Lawless, "Negative binomial and mixed Poisson regression", Canadian Journal of Statistics 15 (1987) 209-225,
    on moment estimates of the dispersion.

    Examples
    --------
    Six months of 1,000 node-days:

    >>> found = month_variation([38, 61, 20, 44, 55, 27], [1000] * 6)
    >>> print(f"own {found.observed**0.5:.2f}, used {found.cv:.2f}")
    own 0.35, used 0.33
    >>> month_variation([12], [1000]).cv
    0.3
    """
    count, time = np.asarray(event_count, dtype=float), np.asarray(exposure, dtype=float)
    if count.shape != time.shape or count.ndim != 1:
        raise ValueError(f"counts of shape {count.shape} and exposures of shape {time.shape}")
    if not (np.all(np.isfinite(count) & (count >= 0)) and np.all(np.isfinite(time) & (time >= 0))):
        raise ValueError("counts and exposures of months are finite and 0 or more")
    count, time = count[time > 0], time[time > 0]
    total, months = count.sum(), count.size
    if months == 0:
        return MonthVariation(USUAL_CV**2, np.nan, 0, 1.0)
    share = time / time.sum()
    squares = float(np.sum(share**2))
    spread = squares - 2.0 * float(np.sum(share**3)) + squares**2
    if months < 2 or total == 0:
        return MonthVariation(USUAL_CV**2, np.nan, months, squares)
    observed = float((np.sum((count - share * total) ** 2) - dispersion * total * (1.0 - squares)) / total**2 / spread)
    weight = USUAL_WEIGHT / (USUAL_WEIGHT + _months_told(share, total, dispersion, spread))
    return MonthVariation(max(0.0, weight * USUAL_CV**2 + (1 - weight) * observed), observed, months, squares)


def _months_told(share: NDArray[np.float64], total: float, dispersion: float, spread: float) -> float:
    """Return the number of equal months, beyond the first, that would tell as much about how months differ.

    Equal months with very many failures give their own number less one.
    """
    variance = dispersion * share * total + USUAL_CV**2 * (share * total) ** 2
    difference = np.eye(share.size) - share[:, np.newaxis]
    covariance = (difference * variance) @ difference.T
    return float((USUAL_CV**2 * total**2 * spread) ** 2 / np.sum(covariance**2))
