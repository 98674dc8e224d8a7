"""A prior for the failure rate of a cluster with few failures, from rates that other fleets have published.

The prior is always labelled. It stands beside the estimate from the cluster's own data and never replaces it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.failure_rate import NO_EXPOSURE, RateInterval
from assets.model.prediction import NEGATIVE_BINOMIAL, PredictionInterval, count_limits, gamma_shape

PUBLISHED_FLEETS = {
    "RSC-1 (Kokolis et al., HPCA 2025)": 6.50,
    "RSC-2 (Kokolis et al., HPCA 2025)": 2.34,
    "Llama 3, 16,384 GPUs (419 interruptions in 54 days)": 3.79,
    "InfiniteHBD fault trace (584 faults of 400 servers in 348 days)": 4.195,
    "Meta, FT-HSDP (arXiv 2602.00277)": 2.3,
}
"""Failures per 1,000 node-days; their mean is 3.8 and their coefficient of variation 0.45."""
PRIOR_SHAPE, PRIOR_NODE_DAYS = 2.0, 520.0
"""Two failures in 520 node-days: the mean of the published fleets. The spread, 1 / sqrt(2) = 0.71, is wider than the
0.45 among them on purpose: fleets that publish are not those that fail most."""
FEW_FAILURES = 10.0
"""Below so many failures, taken one by one, the prior says something that the data do not."""
GAMMA_PRIOR = "gamma_prior"


@dataclass(frozen=True)
class PriorRate:
    """A failure rate by prior and data together; all arrays have one shape.

    Attributes
    ----------
    shape, node_days
        Of the Gamma distribution that prior and data leave for the rate: its mean is shape / node_days.
    value, low, high
        Mean and limits, failures per **node-day**; `nan` where nothing of the cluster is known.
    confidence_level
        Probability that the rate lies in [low, high], if the cluster is a fleet like those published.
    """

    shape: NDArray[np.float64]
    node_days: NDArray[np.float64]
    value: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence_level: float

    def as_rate(self) -> RateInterval:
        """Give it to the functions that take a rate with limits; it rests on no whole count."""
        unknown = np.full(self.value.shape, np.nan)
        method = np.where(np.isfinite(self.value), GAMMA_PRIOR, NO_EXPOSURE)
        return RateInterval(unknown, unknown, self.value, self.low, self.high, self.confidence_level, method)

    def predict(self, node_days: ArrayLike, relative_variance: ArrayLike = 0.0) -> PredictionInterval:
        """Predict the failures of node-days to come, as `prediction_interval` does from a count alone.

        Parameters
        ----------
        node_days
            Exposure to come, 0 or more, broadcast against the rate.
        relative_variance
            How far the rate of the days to come may lie from the mean rate, as variance over squared mean.
        """
        mean = np.asarray(self.value * np.asarray(node_days, dtype=float))
        known = np.isfinite(mean)
        low, high = count_limits(
            np.where(known, mean, 0.0), gamma_shape(self.shape, relative_variance), self.confidence_level
        )
        return PredictionInterval(
            mean,
            np.where(known, np.minimum(low, np.floor(mean)), np.nan),
            np.where(known, np.maximum(high, np.ceil(mean)), np.nan),
            self.confidence_level,
            np.where(known, NEGATIVE_BINOMIAL, NO_EXPOSURE),
        )


def has_few_failures(rate: RateInterval) -> NDArray[np.bool_]:
    """Tell whether a rate rests on so few failures, taken one by one, that the prior should stand beside it.

    Examples
    --------
    >>> from assets.model.failure_rate import dispersed_interval
    >>> has_few_failures(dispersed_interval([3, 12, 12], 1000.0, [1, 1, 3])).tolist()
    [True, False, True]
    """
    return np.asarray(rate.event_count / rate.dispersion < FEW_FAILURES)


def with_prior(rate: RateInterval) -> PriorRate:
    """Add what other fleets have published to a cluster's own count.

    Parameters
    ----------
    rate
        Failures per node-day from a count, with its dispersion (`garwood_interval`, `weighted_interval`).

    Returns
    -------
    PriorRate

    Notes
    -----
    Gamma(2, 520 node-days) before, Gamma(2 + k / phi, 520 + T / phi) after k failures of dispersion phi in T node-days;
    the limits are its a/2 and 1 - a/2 quantiles.

    Assumptions: the cluster is like those whose operators publish. After 520 node-days data and prior weigh the same;
    after ten times that the prior has little influence.

    References
    ----------
    The five fleets of `PUBLISHED_FLEETS`. J. O. Berger, "Statistical Decision Theory and Bayesian Analysis", on Gamma
    priors of a Poisson rate.

    Examples
    --------
    No failure in 300 node-days, where the data alone leave anything up to 10 per 1,000 possible:

    >>> from assets.model.failure_rate import garwood_interval
    >>> found = with_prior(garwood_interval(0, 300.0))
    >>> print(f"{1000 * found.value:.2f} [{1000 * found.low:.2f}, {1000 * found.high:.2f}]")
    2.44 [0.43, 5.79]
    """
    shape = PRIOR_SHAPE + rate.event_count / rate.dispersion
    node_days = PRIOR_NODE_DAYS + rate.exposure / rate.dispersion
    known = rate.method != NO_EXPOSURE
    tail = (1.0 - rate.confidence_level) / 2.0
    value, low, high = (
        np.where(known, x / node_days, np.nan)
        for x in (shape, special.gammaincinv(shape, tail), special.gammaincinv(shape, 1.0 - tail))
    )
    return PriorRate(np.asarray(shape), np.asarray(node_days), value, low, high, rate.confidence_level)
