"""The odds of an event on one node against the odds elsewhere, within strata, with a test for scattered counts.

Counts in, odds ratios with limits and p-values out, for many nodes at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

from assets.model.failure_rate import CONFIDENCE_LEVEL

Floats = NDArray[np.float64]
MANTEL_HAENSZEL = "mantel_haenszel"
ONE_SIDED = "one_sided_limit"
NOT_COMPARED = "not_compared"
FEWEST_GROUPS = 10
"""With fewer groups, the scatter of good ones is unknown."""
LARGEST_SQUARE = 9.0
"""Limit of a group's squared deviation, so that a few bad groups do not hide themselves."""
MAX_DISPERSION = 100.0
_FARTHEST, _HALVINGS = 30.0, 50
"""Largest absolute log ratio of the search."""
_FAR = 0.15
"""Above this p-value the normal distribution is accurate enough."""
_NEARLY_0, _ROUNDED = 1e-9, 1e-6


@dataclass(frozen=True)
class StratifiedOdds:
    """Odds ratios of groups; all arrays have shape (groups,).

    Attributes
    ----------
    event_count, expected_count
        Events of the strata that can be compared, and their expected number at the odds elsewhere.
    value
        Odds ratio; `nan` if nothing can be compared, or there is no upper limit.
    low, high
        Limits; 0 and `inf` if there is none, `nan` if nothing can be compared.
    p_value
        One-sided: of this many events or more at the odds elsewhere; 1 if nothing can be compared.
    information
        Variance of the count at the odds elsewhere, over the dispersion; 0 if nothing can be compared.
    dispersion
        Variance of the counts over that of independent ends, 1 or more; one for all groups.
    confidence_level
        Nominal probability that [low, high] covers the true ratio.
    method
        `mantel_haenszel`, `one_sided_limit` or `not_compared`, element by element.
    """

    event_count: Floats
    expected_count: Floats
    value: Floats
    low: Floats
    high: Floats
    p_value: Floats
    information: Floats
    dispersion: float
    confidence_level: float
    method: NDArray[np.str_]


def stratified_odds(  # noqa: PLR0917
    group: ArrayLike,
    event_count: ArrayLike,
    count: ArrayLike,
    other_event_count: ArrayLike,
    other_count: ArrayLike,
    group_count: int,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> StratifiedOdds:
    """Compare each group with the rest of the same strata.

    Parameters
    ----------
    group
        Number of the group of each row, shape (rows,), from 0. A row is a group within a stratum.
    event_count, count
        Of the group within the stratum: a with the event, of n1; shape (rows,). They need not be whole.
    other_event_count, other_count
        Of the same stratum elsewhere: c with the event, of n2.
    group_count
        Number of groups.
    confidence_level
        1 - alpha, between 0 and 1.

    Raises
    ------
    ValueError
        Events beyond their counts, or below 0.

    Notes
    -----
    With ``n = n1 + n2``, ``R = a (n2 - c) / n``, ``S = (n1 - a) c / n``, ``P = (a + n2 - c) / n`` and ``Q = 1 - P`` the
    ratio is ``sum(R) / sum(S)``, and the variance of its logarithm ``sum(PR) / (2 sum(R)^2) + sum(PS + QR) / (2 sum(R)
    sum(S)) + sum(QS) / (2 sum(S)^2)``. A stratum counts if it has both kinds of ends, and ends elsewhere.

    Given its margins, a is hypergeometric: with ``m = a + c`` events, it is close to the hits of ``k = min(n1, m)``
    draws with probability ``s = max(n1, m) / n``, at a ratio r with odds ``r s / (1 - s)``. The p-value is the upper
    tail of the sum of all draws at r = 1, by its saddlepoint. If ``sum(S)`` is 0, the lower limit is the ratio at which
    all draws of the strata with ``a = k`` hit with probability alpha; if ``sum(R)`` is 0, the upper limit is the ratio
    at which none of the strata with ``a = 0`` does.

    Ends of one user or one day come together, so that counts of good groups scatter more than draws do. The
    dispersion makes the mean of a chi-squared variable times it equal to that of the groups' squared deviations over
    their variances, both limited to 9. All counts are divided by it, which widens limits and raises p-values.

    Assumptions: most groups are good; within a stratum, work is not sent to a group because it will fail. A group that
    holds most of a stratum is compared with little.

    References
    ----------
    N. Mantel and W. Haenszel, J. National Cancer Institute 22 (1959) 719-748. J. Robins, N. Breslow and S. Greenland,
    "Estimators of the Mantel-Haenszel variance consistent in both sparse data and large-strata limiting models",
    Biometrics 42 (1986) 311-323. H. Daniels, "Tail probability approximations", International Statistical Review 55
    (1987) 37-48. B. Devlin and K. Roeder, "Genomic control for association studies", Biometrics 55 (1999) 997-1004.

    Examples
    --------
    >>> odds = stratified_odds([0, 0], [4, 3], [10, 8], [10, 5], [60, 40], 1, confidence_level=0.95)
    >>> print(f"{odds.value[0]:.3f} [{odds.low[0]:.3f}, {odds.high[0]:.3f}], p = {odds.p_value[0]:.4f}")
    3.661 [1.220, 10.988], p = 0.0352
    """
    of = np.asarray(group, dtype=np.int64)
    a, n1, c, n2 = (np.asarray(x, dtype=float) for x in (event_count, count, other_event_count, other_count))
    if np.any(a < 0) or np.any(c < 0) or np.any(a > n1 + _ROUNDED) or np.any(c > n2 + _ROUNDED):
        raise ValueError("event counts lie between 0 and their counts")
    n, m = n1 + n2, a + c
    is_compared = (n1 > 0) & (n2 > _NEARLY_0) & (m > _NEARLY_0) & (m < n - _NEARLY_0)
    a, n1, c, n2, n = (x[is_compared] for x in (a, n1, c, n2, n))
    strata = _Strata(of[is_compared], a, n1, c, n2, group_count)
    events, expected = strata.total(a), strata.total(n1 * (a + c) / n)
    variance = strata.total(n1 * (a + c) * (n2 + n1 - a - c) / n**2 * np.minimum(1.0, n2 / np.maximum(n - 1, n2)))
    is_known = variance > 0
    phi = _dispersion((events - expected)[is_known], variance[is_known])
    value, low, high = (np.where(is_known, x, np.nan) for x in strata.mantel_haenszel(phi, confidence_level))
    log_alpha = phi * np.log(1 - confidence_level)
    is_open, is_empty = is_known & np.isnan(value), is_known & (value == 0)
    low[is_open] = np.exp(strata.of(is_open).least_log_ratio(log_alpha))
    found = strata.of(is_empty).largest_log_ratio(log_alpha)
    high[is_empty] = np.where(found < _FARTHEST - 1, np.exp(found), np.inf)
    with np.errstate(divide="ignore", invalid="ignore"):
        p_value = np.where(is_known, stats.norm.sf((events - expected) / np.sqrt(phi * variance)), 1.0)
    is_far = p_value < _FAR
    p_value[is_far] = strata.of(is_far).upper_tail(events[is_far], phi)
    method = np.select([~is_known, is_open | is_empty], [NOT_COMPARED, ONE_SIDED], default=MANTEL_HAENSZEL)
    return StratifiedOdds(events, expected, value, low, high, p_value, variance / phi, phi, confidence_level, method)


@dataclass(frozen=True)
class _Strata:
    """Rows of groups within strata."""

    group: NDArray[np.int64]
    a: Floats
    n1: Floats
    c: Floats
    n2: Floats
    group_count: int

    @property
    def draws(self) -> Floats:
        """How many draws come near the count."""
        return np.minimum(self.n1, self.a + self.c)

    @property
    def log_odds(self) -> Floats:
        """Log odds of each draw."""
        return special.logit(np.maximum(self.n1, self.a + self.c) / (self.n1 + self.n2))

    def total(self, values: Floats) -> Floats:
        """Sum values of rows by group."""
        return np.bincount(self.group, values, self.group_count).astype(float)

    def of(self, groups: NDArray[np.bool_]) -> _Strata:
        """Keep some groups, and number them again."""
        rows, number = groups[self.group], np.cumsum(groups) - 1
        a, n1, c, n2 = (x[rows] for x in (self.a, self.n1, self.c, self.n2))
        return _Strata(number[self.group[rows]], a, n1, c, n2, int(groups.sum()))

    def mantel_haenszel(self, phi: float, confidence_level: float) -> tuple[Floats, Floats, Floats]:
        """Return the ratio with its limits."""
        b, d, n = self.n1 - self.a, self.n2 - self.c, self.n1 + self.n2
        r, s, p = self.a * d / n, b * self.c / n, (self.a + d) / n
        sum_r, sum_s = self.total(r), self.total(s)
        has_r, has_s = sum_r > _NEARLY_0, sum_s > _NEARLY_0
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(has_s, sum_r / sum_s, np.nan)
            variance = self.total(p * r) / sum_r**2 + self.total((1 - p) * s) / sum_s**2
            variance += self.total(p * s + (1 - p) * r) / (sum_r * sum_s)
            factor = np.exp(stats.norm.isf((1 - confidence_level) / 2) * np.sqrt(phi * variance / 2))
            return value, np.where(has_r & has_s, value / factor, 0.0), np.where(has_r & has_s, value * factor, np.inf)

    def least_log_ratio(self, log_probability: float) -> Floats:
        """Return the log ratio at which all draws hit if all did."""
        weight, log_odds = self.draws * (self.draws - self.a < _NEARLY_0), self.log_odds
        return self._solve(lambda t: weight * special.log_expit(log_odds + t), log_probability)

    def largest_log_ratio(self, log_probability: float) -> Floats:
        """Return the log ratio at which no draw hits if none did."""
        weight, log_odds = self.draws * (self.a < _NEARLY_0), self.log_odds
        return -self._solve(lambda t: weight * special.log_expit(t - log_odds), log_probability)

    def upper_tail(self, event_count: Floats, phi: float) -> Floats:
        """Return the probability of as many events or more at ratio 1, each count above its mean."""
        draws, log_odds = self.draws, self.log_odds
        t = self._solve(lambda t: draws * special.expit(log_odds + t), event_count)
        tilted = log_odds + t[self.group]
        q = special.expit(tilted)
        grown = self.total(draws * (special.log_expit(-log_odds) - special.log_expit(-tilted))) / phi
        w = np.sqrt(2 * np.maximum(t * event_count / phi - grown, _NEARLY_0))
        u = -np.expm1(-t) * np.sqrt(self.total(draws * q * (1 - q)) / phi)
        tail = stats.norm.sf(w) + stats.norm.pdf(w) * (1 / np.maximum(u, _NEARLY_0) - 1 / w)
        all_hit = np.exp(self.total(draws * special.log_expit(log_odds)) / phi)
        return np.clip(np.where(event_count > self.total(draws) - _NEARLY_0, all_hit, tail), 0.0, 1.0)

    def _solve(self, value: Callable[[Floats], Floats], target: Floats | float) -> Floats:
        """Find where a value that rises with the log ratio sums to a target, by group."""
        low, high = np.full(self.group_count, -_FARTHEST), np.full(self.group_count, _FARTHEST)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_below = self.total(value(middle[self.group])) < target
            low, high = np.where(is_below, middle, low), np.where(is_below, high, middle)
        return (low + high) / 2


def _dispersion(deviation: Floats, variance: Floats) -> float:
    """Return the factor, 1 or more, on chi-squared at which its mean, cut alike, is that of the squared deviations."""
    if variance.size < FEWEST_GROUPS:
        return 1.0
    seen = float(np.minimum(deviation**2 / variance, LARGEST_SQUARE).mean())

    def excess(phi: float) -> float:
        cut = LARGEST_SQUARE / phi
        return float(phi * stats.chi2.cdf(cut, 3) + LARGEST_SQUARE * stats.chi2.sf(cut, 1)) - seen

    if excess(1.0) >= 0:
        return 1.0
    return MAX_DISPERSION if excess(MAX_DISPERSION) < 0 else float(optimize.brentq(excess, 1.0, MAX_DISPERSION))
