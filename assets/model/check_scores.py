"""Whether to trust a health check: the share of its onsets that were true, how early it is, what dropping it loses.

An onset is followed to a failure of its component. An onset that could not be followed for long enough is neither true
nor false: the limits allow for both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from assets.model.coincidence import UNKNOWN, Share, binomial_share
from assets.model.failure_rate import CONFIDENCE_LEVEL

KEEP, TUNE, DROP, CANNOT_TELL = "keep", "tune", "drop", "cannot tell"
KEEP_ABOVE, DROP_BELOW = 0.5, 0.2
"""A check is kept if surely more than half of its onsets are true, and dropped if surely fewer than a fifth are."""
MIN_FAILURES = 0.5
"""A lead needs at least half a failure; a few chance coincidences have none."""
MAX_LOST, MAX_LOST_RATIO = 1.0, 0.02
"""Failures for which a dropped check may have been useful: one, or one in fifty of the cluster's."""
EARLY_SECONDS = 60.0
"""An onset this long before the end of a job, in seconds, leaves time to act."""


def beyond_chance(count: float, chance_count: float) -> tuple[float, float]:
    """Return how many of O are beyond mu by chance, each with ``max(0, 1 - mu / O)``, and the variance of that.

    >>> beyond_chance(20.0, 2.0), beyond_chance(3.0, 4.0)
    ((18.0, 1.8), (0.0, 0.0))
    """
    beyond = max(count - chance_count, 0.0)
    return beyond, beyond * chance_count / count if beyond else 0.0


@dataclass(frozen=True)
class Onsets:
    """The onsets of a check, their outcomes, and the number of outcomes expected by chance.

    Attributes
    ----------
    count, judged_count
        All onsets, and those that are proved or refuted.
    true_count, doubt_variance
        Sum of the probabilities p of judged onsets, chance included, and ``sum p (1 - p)``.
    squared_count, hours
        Sum over onsets of the number in their burst, and the hours in which the check ran.
    followed_count, chance_count, rate_variance
        Onsets of true_count followed by a failure or a repair, O; mu; its variance, as the rate is an estimate.
    interrupted_count, interruption_chance_count
        Onsets not judged because the node went out of service or booted, and the number of them expected by chance.
    """

    count: float
    judged_count: float
    true_count: float
    doubt_variance: float
    squared_count: float
    hours: float
    followed_count: float = 0.0
    chance_count: float = 0.0
    rate_variance: float = 0.0
    interrupted_count: float = 0.0
    interruption_chance_count: float = 0.0

    @property
    def unknown_count(self) -> float:
        """Onsets that are neither proved nor refuted."""
        return self.count - self.judged_count

    @property
    def real_count(self) -> float:
        """Judged onsets that were true, without those expected by chance."""
        beyond, _ = beyond_chance(self.followed_count, self.chance_count)
        return min(self.true_count, self.judged_count) - self.followed_count + beyond

    @property
    def variance(self) -> float:
        """Variance of `real_count`."""
        return self.doubt_variance + beyond_chance(self.followed_count, self.chance_count)[1]

    @property
    def dispersion(self) -> float:
        """Variance over mean of the onsets in an hour, at least 1: onsets of one storm are not independent evidence."""
        return max(1.0, self.squared_count / self.count - self.count / self.hours) if self.count else 1.0


def true_share(onsets: Onsets) -> Share:
    """Estimate the share of a check's onsets that are true.

    Returns
    -------
    Share
        ``true / judged``; all `nan` if no onset could be judged. For the lower limit every unknown onset is false, for
        the upper one every onset that an interruption ended beyond chance is true.

    Notes
    -----
    O onsets are followed by a failure of their component, and mu of these by chance,
    ``mu = sum(1 - exp(-rate * days followed))`` with the fleet's rate, so each of them is true with
    ``max(0, 1 - mu / O)``. Limits of Clopper and Pearson (`binomial_share`) with the counts over their dispersion, as
    if storms were single onsets. Doubtful onsets move the counts by normal limits of their sum, whose variance is
    ``sum p (1 - p)``; the lower one also by the variance of mu.

    Onsets that were not followed long enough are unknown. Some were cut short by an outage or a boot: as many as the
    fleet's rate of interruptions explains are like the onsets that were followed; the rest may have been the fault.
    Those cut short by the end of the data or an idle node are all like the ones followed. Assumptions: the
    probabilities are right on average, and the end of data and idle nodes have nothing to do with faults.

    References
    ----------
    C. F. Manski, *Partial Identification of Probability Distributions* (2003), ch. 1, on limits with unknown outcomes;
    J. N. K. Rao and A. J. Scott, "A simple method for the analysis of clustered binary data", Biometrics 48 (1992).

    Examples
    --------
    Thirty onsets, 20 of them judged and 4 true; those of ten nodes that went out of service may be true:

    >>> share = true_share(Onsets(30, 20, 4.0, 0.0, 30, 2000, interrupted_count=10))
    >>> print(f"{share.value:.1f} [{share.low:.2f}, {share.high:.2f}]")
    0.2 [0.05, 0.63]

    Twenty onsets are followed by a failure, two of them by chance:

    >>> share = true_share(Onsets(20, 20, 20.0, 0.0, 20, 2000, 20.0, 2.0))
    >>> print(f"{share.value:.1f} [{share.low:.2f}, {share.high:.2f}]")
    0.9 [0.59, 1.00]
    """
    if not onsets.judged_count:
        return UNKNOWN
    z, phi = float(special.ndtri((1 + CONFIDENCE_LEVEL) / 2)), onsets.dispersion
    lowest = onsets.real_count - z * math.sqrt(onsets.variance + onsets.rate_variance)
    low = binomial_share(max(lowest, 0.0) / phi, onsets.count / phi)
    cut, cut_variance = beyond_chance(onsets.interrupted_count, onsets.interruption_chance_count)
    compared = onsets.judged_count + cut
    most = onsets.real_count + cut + z * math.sqrt(onsets.variance + cut_variance)
    high = binomial_share(min(most, compared) / phi, compared / phi)
    return Share(onsets.real_count / onsets.judged_count, low.low, high.high)


def verdict(share: Share, useful_count: float, failure_count: float) -> str:
    """Return the verdict on a check: keep, tune (mostly false, but needed or not surely useless), drop, or cannot tell.

    `useful_count` are the failures that it alone showed or showed early, `failure_count` all of the cluster: sums of
    probabilities.

    >>> verdict(Share(0.0, 0.0, 0.1), 0.3, 40.0), verdict(Share(0.0, 0.0, 0.1), 5.0, 40.0)
    ('drop', 'tune')
    >>> verdict(Share(0.9, 0.7, 1.0), 0.0, 40.0), verdict(Share(0.5, 0.1, 0.9), 0.0, 40.0), verdict(UNKNOWN, 0.0, 0.0)
    ('keep', 'cannot tell', 'cannot tell')
    """
    if share.high < DROP_BELOW and useful_count <= max(MAX_LOST, MAX_LOST_RATIO * failure_count):
        return DROP
    if share.high < KEEP_ABOVE:
        return TUNE
    return KEEP if share.low > KEEP_ABOVE else CANNOT_TELL


def early_count(lead_seconds: ArrayLike, weight: ArrayLike) -> float:
    """Count the failures that a check showed early enough to act, each by its probability."""
    return float(np.dot(np.asarray(lead_seconds, dtype=float) >= EARLY_SECONDS, np.asarray(weight, dtype=float)))


def lead_quantiles(
    lead_seconds: ArrayLike, weight: ArrayLike, quantiles: tuple[float, ...] = (0.5, 0.1, 0.9)
) -> list[float]:
    """Return quantiles of the time from onset to the end of the job, weighted by probability; `nan` for too few.

    >>> lead_quantiles([-1.0, 240.0, 250.0], [0.1, 1.0, 1.0])
    [240.0, 240.0, 250.0]
    """
    leads, weights = np.asarray(lead_seconds, dtype=float), np.asarray(weight, dtype=float)
    if weights.sum() < MIN_FAILURES:
        return [math.nan] * len(quantiles)
    return [float(found) for found in np.quantile(leads, quantiles, weights=weights, method="inverted_cdf")]
