"""Estimate how much the failure rate of a cluster differs from month to month, beyond chance.

If a prediction assumes a constant rate, its limits are too narrow: new drivers, new checks and worn parts change the
rate. The variation is the coefficient of variation (CV) of the months' true rates: 0.3 means that they differ by
30%.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.gamma_poisson import Floats, mixture_quantile

DAYS_PER_MONTH = 30.0
USUAL_CV = 0.3
"""Mean of the exponential prior of the CV, before a cluster's own months are counted. Published rates of whole
fleets differ by a CV of 0.45 (Kokolis et al. 6.50 and 2.34, Llama 3 3.79, InfiniteHBD 4.195 and others, per 1,000
node-days); the months of one fleet are more alike than fleets are. No fleet has published its months with their
exposure."""
CVS = np.linspace(0.0, 1.0, 51)
"""Variations to weigh."""
_RATES = np.linspace(-6.0, 6.0, 49)
"""Long-run rates to weigh, in standard deviations of the mean rate seen."""


@dataclass(frozen=True)
class MonthVariation:
    """The variation between months.

    Attributes
    ----------
    relative_variance
        CV^2 of the months' rates, no unit: the single value with limits as wide as those of all possible values.
    cv_low, cv_high
        Limits of the CV.
    concentration
        Sum of the squared shares of the exposure in each month: 1 / months if all are alike.
    weights
        Posterior probability of each of `CVS`.
    """

    relative_variance: float
    cv_low: float
    cv_high: float
    concentration: float
    weights: NDArray[np.float64]

    @property
    def cv(self) -> float:
        """Coefficient of variation, no unit."""
        return float(np.sqrt(self.relative_variance))

    def of_future(self, future_days: ArrayLike) -> np.ndarray:
        """Return the relative variance of the rate of days to come around the mean rate of the months seen.

        Parameters
        ----------
        future_days
            Days to come, any shape, 0 or more. Months of 30 days draw their rates independently, so that a long future
            averages over them.

        Notes
        -----
        ``CV^2 (S + 1 / max(1, days / 30))`` with S the `concentration`: the mean over the months seen also differs from
        the long-run rate.
        """
        months = np.maximum(np.asarray(future_days, dtype=float) / DAYS_PER_MONTH, 1.0)
        return np.asarray(self.relative_variance * (self.concentration + 1.0 / months))


def month_variation(
    event_count: ArrayLike, exposure: ArrayLike, dispersion: float = 1.0, side: ArrayLike = 0
) -> MonthVariation:
    """Estimate the variation of the rate between months: the posterior of the CV on a grid from 0 to 1.

    Parameters
    ----------
    event_count
        Events k_j of each month, shape (n,), 0 or more; sums of probabilities are fine.
    exposure
        Exposure T_j of each month, shape (n,), 0 or more, such as node-days. Months without exposure do not count.
    dispersion
        Variance over mean of a count within a month, 1 or more, as from `weighted_interval`.
    side
        The months with one long-run rate in common, as a number for each month, or one for all.

    Returns
    -------
    MonthVariation
        With fewer than two months of a side, or without events, that of the prior.

    Raises
    ------
    ValueError
        Arrays of different shape, negative or unknown values.

    Notes
    -----
    The rate of a month is Gamma distributed around the long-run rate r with shape ``1 / CV^2``, so its count is
    negative binomial. If incidents fail several attempts, ``k / phi`` incidents in ``T / phi`` are counted. The
    prior of the CV is exponential with mean `USUAL_CV`, that of log r is flat; r is summed over a grid.

    A prediction averages over the posterior. That is done once: ``relative_variance`` is that of the single Gamma
    distribution with 90% limits as far apart, as a ratio, as those of the mixture. So every use of the variation needs
    one number.

    Assumptions: months differ independently of each other. If the rate climbs, the next month is unlike the past ones.
    A partly seen calendar month differs from others as much as a whole one.

    References
    ----------
    J. F. Lawless, "Negative binomial and mixed Poisson regression", Canadian Journal of Statistics 15 (1987) 209-225.

    Examples
    --------
    Six months of 1,000 node-days:

    >>> found = month_variation([38, 61, 20, 44, 55, 27], [1000] * 6)
    >>> print(f"{found.cv:.2f} [{found.cv_low:.2f}, {found.cv_high:.2f}]")
    0.41 [0.19, 0.64]

    Hardly an event says as little as none:

    >>> print(f"{month_variation([1e-5, 0], [1000] * 2).cv:.2f} {month_variation([0, 0], [1000] * 2).cv:.2f}")
    0.34 0.34
    """
    count, time = np.asarray(event_count, dtype=float), np.asarray(exposure, dtype=float)
    if count.shape != time.shape or count.ndim != 1:
        raise ValueError(f"counts of shape {count.shape} and exposures of shape {time.shape}")
    if not (np.all(np.isfinite(count) & (count >= 0)) and np.all(np.isfinite(time) & (time >= 0))):
        raise ValueError("counts and exposures of months are finite and 0 or more")
    of_side = np.broadcast_to(np.asarray(side), time.shape)[time > 0]
    count, time = count[time > 0], time[time > 0]
    months = [(count[of_side == one] / dispersion, time[of_side == one] / dispersion) for one in np.unique(of_side)]
    weight = _posterior(_log_likelihood(k, t) for k, t in months if k.size > 1 and k.sum() > 0)
    return _variation(weight, float(np.sum((time / time.sum()) ** 2)) if time.size else 1.0)


def _variation(weight: Floats, concentration: float) -> MonthVariation:
    low, high = np.interp([(1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2], np.cumsum(weight), CVS)
    return MonthVariation(_as_one_gamma(weight), float(low), float(high), concentration, weight)


def variation_of_ratio(sides: Iterable[NDArray[np.float64]], dispersion: float = 1.0) -> MonthVariation:
    """Estimate the variation between months of the ratio of two groups' rates.

    Parameters
    ----------
    sides
        Events and exposures of both groups in the months of each side, shape (2, 2, months), 0 or more. Months in which
        a group has no exposure do not count.
    dispersion
        Variance over mean of a count within a month, 1 or more.

    Returns
    -------
    MonthVariation
        Of the ratio. Its concentration is that of equal months.

    Notes
    -----
    Given the events of both groups in a month, those of the first are binomial with the odds ``rho_j T_1 / T_2``. The
    ratios ``rho_j`` are log-normal with the CV around one ratio for each side, which is summed over a grid. A change
    of both groups alike does not affect them.

    Examples
    --------
    Both groups double in the third month, and their ratio stays the same:

    >>> counts = np.array([[30, 32, 61, 29, 33, 30], [60, 59, 122, 61, 62, 63]])
    >>> bool(variation_of_ratio([np.stack([counts, np.full((2, 6), 1000)])]).relative_variance < 0.02)
    True
    """
    likelihoods, months = [], 0
    for k, t in sides:
        months += t.shape[1]
        is_seen = (t > 0).all(axis=0) & (k.sum(axis=0) > 0)
        own, other = k[:, is_seen] / dispersion
        if is_seen.sum() > 1 and own.sum() > 0 and other.sum() > 0:
            likelihoods.append(_log_likelihood_of_ratio(own, other, np.log(t[0, is_seen] / t[1, is_seen])))
    return _variation(_posterior(likelihoods), 1.0 / max(months, 1))


def _log_likelihood_of_ratio(own: Floats, other: Floats, log_odds: Floats) -> Floats:
    """Return the log-likelihood of each of `CVS`, summed over the ratio of a side."""
    ratio = np.log(own.sum() / other.sum()) - np.log(np.average(np.exp(log_odds), weights=own + other))
    spread = np.sqrt(1.0 / own.sum() + 1.0 / other.sum() + CVS**2 / own.size)[:, np.newaxis, np.newaxis, np.newaxis]
    nodes, weights = np.polynomial.hermite_e.hermegauss(15)
    # axes: variation, ratio, month, deviation of the month
    deviation = np.sqrt(np.log1p(CVS**2))[:, np.newaxis, np.newaxis, np.newaxis] * nodes
    logit = ratio + _RATES[:, np.newaxis, np.newaxis] * spread + log_odds[:, np.newaxis] + deviation
    density = own[:, np.newaxis] * special.log_expit(logit) + other[:, np.newaxis] * special.log_expit(-logit)
    months = special.logsumexp(density, axis=3, b=weights)
    likelihood: Floats = special.logsumexp(months.sum(axis=2), axis=1) + np.log(spread[:, 0, 0, 0])
    return likelihood


def _posterior(log_likelihoods: Iterable[Floats]) -> Floats:
    """Weigh `CVS` by their prior and by the likelihood of each series of months."""
    found = sum(log_likelihoods, -CVS / USUAL_CV)
    weight: Floats = np.exp(found - found.max())
    return weight / weight.sum()


def _log_likelihood(count: Floats, time: Floats) -> Floats:
    """Return the log-likelihood of each of `CVS`, summed over the long-run rate."""
    total = count.sum()
    # The precision of the mean depends on the CV: the grid of rates is wide enough for the widest.
    spread = np.sqrt(1.0 / total + CVS**2 * np.sum((time / time.sum()) ** 2))[:, np.newaxis, np.newaxis]
    shape = (1.0 / np.maximum(CVS, 1e-3) ** 2)[:, np.newaxis, np.newaxis]
    # Mean over shape, as a logarithm: for a sum of tiny probabilities the grid of rates spans hundreds of decades.
    odds = np.log(total / time.sum() * time) + _RATES[:, np.newaxis] * spread - np.log(shape)
    density = (
        special.gammaln(count + shape)
        - special.gammaln(shape)
        + count * special.log_expit(odds)
        + shape * special.log_expit(-odds)
    ).sum(axis=2)
    likelihood: Floats = special.logsumexp(density, axis=1) + np.log(spread[:, 0, 0])
    return likelihood


def _as_one_gamma(weight: NDArray[np.float64]) -> float:
    """Return the relative variance of the Gamma distribution with limits as far apart as those of the mixture."""
    shapes = 1.0 / np.maximum(CVS, 1e-3) ** 2
    parts = [(np.array([w]), np.array([a]), np.array([a])) for w, a in zip(weight, shapes, strict=True) if w > 1e-6]
    low, high = (float(mixture_quantile(tail, parts)[0]) for tail in _TAILS)
    widths, variances = _widths()
    return float(np.interp(np.log(high / low), widths, variances))


_TAILS = ((1 - CONFIDENCE_LEVEL) / 2, (1 + CONFIDENCE_LEVEL) / 2)


@cache
def _widths() -> tuple[Floats, Floats]:
    """Return the distance, in the logarithm, of the limits of Gamma distributions of mean 1, by their variance."""
    variances = np.linspace(1e-3, 1.0, 400) ** 2
    low, high = (special.gammaincinv(1.0 / variances, tail) for tail in _TAILS)
    return np.append(0.0, np.log(high / low)), np.append(0.0, variances)
