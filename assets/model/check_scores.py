"""Whether to trust a health check: the share of its onsets that were true, how early it is, what dropping it loses.

An onset that nothing proves and nothing refutes is neither true nor false: the limits allow for either.
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
"""A check is kept when surely more than half of its onsets are true, and dropped when surely fewer than a fifth are."""
MIN_FAILURES = 0.5
"""A lead rests on half a failure at least: a few chance coincidences have none."""
MAX_LOST, MAX_LOST_RATIO = 1.0, 0.02
"""Failures for which a dropped check may have been of use: one, or one in fifty of the cluster's."""
EARLY_SECONDS = 60.0
"""An onset so long before the end of a job leaves time to act on it."""


@dataclass(frozen=True)
class Onsets:
    """The onsets of a check: all, those judged, the sum of their probabilities, and the variance that these leave.

    `squared_count` is the sum over hours of the squared number of onsets in the hour, `hours` those in which it ran.
    """

    count: float
    judged_count: float
    true_count: float
    doubt_variance: float
    squared_count: float
    hours: float

    @property
    def unknown_count(self) -> float:
        """Onsets that nothing proves or refutes."""
        return self.count - self.judged_count

    @property
    def dispersion(self) -> float:
        """Variance over mean of the onsets in an hour, at least 1: those of one storm are no independent evidence."""
        return max(1.0, self.squared_count / self.count - self.count / self.hours) if self.count else 1.0


def true_share(onsets: Onsets) -> Share:
    """Estimate the share of a check's onsets that are true.

    Returns
    -------
    Share
        ``true / judged``; all `nan` where no onset could be judged. The lower limit is that with every unknown onset
        false, the upper one that with every unknown onset true.

    Notes
    -----
    Limits of Clopper and Pearson (`binomial_share`) with the counts over their dispersion, as if storms were single
    onsets. Doubtful onsets move the counts by normal limits of their sum, whose variance is ``sum p (1 - p)``.
    Assumption: the probabilities are right on average.

    References
    ----------
    C. F. Manski, *Partial Identification of Probability Distributions* (2003), ch. 1, on limits with unknown outcomes;
    J. N. K. Rao and A. J. Scott, "A simple method for the analysis of clustered binary data", Biometrics 48 (1992).

    Examples
    --------
    >>> share = true_share(Onsets(30, 20, 4.0, 0.0, 30, 2000))
    >>> print(f"{share.value:.1f} [{share.low:.2f}, {share.high:.2f}]")
    0.2 [0.05, 0.63]
    """
    if not onsets.judged_count:
        return UNKNOWN
    true = min(onsets.true_count, onsets.judged_count)
    doubt = float(special.ndtri((1 + CONFIDENCE_LEVEL) / 2)) * math.sqrt(onsets.doubt_variance)
    counts = max(true - doubt, 0.0), min(true + doubt, onsets.judged_count) + onsets.unknown_count
    phi = onsets.dispersion
    low, high = (binomial_share(count / phi, onsets.count / phi) for count in counts)
    return Share(true / onsets.judged_count, low.low, high.high)


def verdict(share: Share, useful_count: float, failure_count: float) -> str:
    """Say what to do with a check: keep, tune (mostly false, but needed or not surely useless), drop, or cannot tell.

    `useful_count` are the failures that it alone showed or that it showed early, `failure_count` all of the cluster:
    sums of probabilities.

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
    """Give quantiles of the time from onset to the end of the job, each failure by its probability; `nan` of too few.

    >>> lead_quantiles([-1.0, 240.0, 250.0], [0.1, 1.0, 1.0])
    [240.0, 240.0, 250.0]
    """
    leads, weights = np.asarray(lead_seconds, dtype=float), np.asarray(weight, dtype=float)
    if weights.sum() < MIN_FAILURES:
        return [math.nan] * len(quantiles)
    return [float(found) for found in np.quantile(leads, quantiles, weights=weights, method="inverted_cdf")]
