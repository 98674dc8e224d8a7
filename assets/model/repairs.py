"""Test whether repairs held: relapses after returns to service, and which action is followed by fewer of them.

Times run from a return to service to the next failure of the same kind on the same node; most are censored.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from assets.model.coincidence import UNKNOWN, Share
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.false_discovery import FALSE_DISCOVERIES, false_discovery

Floats = NDArray[np.float64]

HOLDS_LONGER, RELAPSES_SOONER, CANNOT_TELL = "holds longer", "relapses sooner", "cannot tell"
MINIMUM_REPAIRS, MINIMUM_RELAPSES = 5, 5
"""Fewest repairs of an action for a comparison, and fewest relapses of it and the other actions together."""


@dataclass(frozen=True)
class Spells:
    """Times in service after repairs: the watched time of each, whether it ended in a relapse, and its node."""

    days: Floats
    is_relapse: NDArray[np.bool_]
    node: NDArray[np.int64]

    @classmethod
    def of(cls, days: ArrayLike, is_relapse: ArrayLike, node: ArrayLike) -> Spells:
        """Return spells with the nodes numbered from 0; raise `ValueError` for a negative time."""
        watched = np.asarray(days, dtype=float)
        if np.any(watched < 0):
            raise ValueError("a time in service is 0 or more")
        numbers = np.unique(np.asarray(node), return_inverse=True)[1].astype(np.int64)
        return cls(watched, np.asarray(is_relapse, dtype=bool), numbers)

    def __getitem__(self, chosen: NDArray[np.bool_]) -> Spells:
        return Spells(self.days[chosen], self.is_relapse[chosen], self.node[chosen])

    @property
    def censored(self) -> stats.CensoredData:
        """Return the same for scipy."""
        return stats.CensoredData(uncensored=self.days[self.is_relapse], right=self.days[~self.is_relapse])


def relapse_share(spells: Spells, within_days: float, confidence_level: float = CONFIDENCE_LEVEL) -> Share:
    """Estimate the share of repairs after which the fault is back within some days in service.

    Parameters
    ----------
    spells
        Times in service after repairs.
    within_days
        Days in service.
    confidence_level
        Of the limits, between 0 and 1.

    Returns
    -------
    Share
        `nan` if no repair was watched that long and not all relapsed before.

    Notes
    -----
    ``1 - S(t)`` by Kaplan and Meier: a repair that was watched for a shorter time counts for that time. Limits are
    Wilson's at the number of repairs that has the variance of Greenwood, ``n = S (1 - S) / var`` (Rothman). If nobody
    is censored before t, it is the number of repairs, and the limits are Wilson's own. Without a relapse, or if all
    relapsed, it is the number that relapsed or was watched until t. Spells of one node are dependent: n is divided by
    the factor by which the variance grows when the influences of a node are summed, if it is above 1.

    Assumption: the reason for the end of watching has nothing to do with the fault.

    References
    ----------
    K. J. Rothman, "Estimation of confidence limits for the cumulative probability of survival in life table analysis",
    J. Chronic Dis. 31 (1978) 557-560. E. B. Wilson, JASA 22 (1927) 209-212. M. Greenwood, *The natural duration of
    cancer* (1926).

    Examples
    --------
    >>> share = relapse_share(Spells.of([1, 2, 30, 40], [1, 1, 0, 0], [0, 1, 2, 3]), 7, 0.95)
    >>> print(f"{share.value:.2f} [{share.low:.3f}, {share.high:.3f}]")
    0.50 [0.150, 0.850]
    """
    if not spells.days.size:
        return UNKNOWN
    at, place, at_risk, relapsed = _steps(spells)
    seen = at <= within_days
    kept = float(np.prod(1.0 - relapsed[seen] / at_risk[seen]))
    followed = float(np.sum(spells.days >= within_days))
    if not followed and kept > 0.0:
        return UNKNOWN
    if 0.0 < kept < 1.0:
        greenwood = np.sum(relapsed[seen] / (at_risk[seen] * (at_risk[seen] - relapsed[seen])))
        own = np.where(spells.is_relapse & seen[place], 1.0 / at_risk[place], 0.0)
        influence = own - np.cumsum(np.where(seen, relapsed / at_risk**2, 0.0))[place]
        number = (1.0 - kept) / (kept * greenwood) / _clustering(influence, spells.node)
    else:
        number = followed + np.sum(relapsed[seen])
    return _wilson(1.0 - kept, float(number), confidence_level)


def time_to_relapse(spells: Spells) -> Share:
    """Estimate the days in service after which the fault is back after half of the repairs.

    Parameters
    ----------
    spells
        Times in service after repairs.

    Returns
    -------
    Share
        In days. `nan` if fewer than half are known to relapse; `inf` for an unknown upper limit.

    Notes
    -----
    The median of Kaplan and Meier's survival. Its limits are where those of the survival, Greenwood's on the scale of
    ``log(-log S)``, fall to one half (Brookmeyer and Crowley).

    Assumption: that of `relapse_share`.

    References
    ----------
    R. Brookmeyer and J. Crowley, "A confidence interval for the median survival time", Biometrics 38 (1982) 29-41.

    Examples
    --------
    >>> half = time_to_relapse(Spells.of([1, 2, 3, 4, 5, 6, 7, 8], [1] * 8, range(8)))
    >>> half.value, half.low, half.high
    (4.0, 2.0, 7.0)
    """
    if not spells.is_relapse.any():
        return UNKNOWN
    survival = stats.ecdf(spells.censored).sf
    with warnings.catch_warnings():
        # scipy warns that there are none if all or nobody relapsed.
        warnings.simplefilter("ignore", RuntimeWarning)
        limits: Any = survival.confidence_interval(CONFIDENCE_LEVEL, method="log-log")
    at, kept = survival.quantiles, survival.probabilities
    lowest, highest = (np.asarray(side.probabilities) for side in (limits.low, limits.high))
    value, low, high = (_first(at, side) for side in (kept <= 0.5, (lowest <= 0.5) | (kept == 0.0), highest <= 0.5))
    return Share(value, low, np.inf if np.isnan(high) and not np.isnan(value) else high)


def median_hours(hours: ArrayLike) -> Share:
    """Return the median of times with limits that hold for any distribution.

    Parameters
    ----------
    hours
        Times, shape (n,).

    Returns
    -------
    Share
        In hours; limits are `nan` if so few times have none, such as fewer than 5 at 90%.

    Notes
    -----
    Limits are order statistics of the sample, by the binomial distribution with one half (the sign test).

    References
    ----------
    W. J. Conover, *Practical Nonparametric Statistics* (1999), section 3.2.

    Examples
    --------
    >>> half = median_hours([1, 2, 3, 5, 8, 13, 21])
    >>> half.value, half.low, half.high
    (5.0, 1.0, 21.0)
    """
    given = np.sort(np.asarray(hours, dtype=float))
    if not given.size:
        return UNKNOWN
    # As in scipy.stats.quantile_test, in a tenth of the time.
    cut = int(stats.binom.ppf((1.0 - CONFIDENCE_LEVEL) / 2.0, given.size, 0.5))
    low, high = (given[cut - 1], given[-cut]) if cut else (np.nan, np.nan)
    return Share(float(np.median(given)), float(low), float(high))


@dataclass(frozen=True)
class Comparison:
    """The comparison of one action with the others.

    Attributes
    ----------
    score
        Relapses beyond those expected if the actions did not differ, over their standard error; below 0: it holds
        longer.
    p_value
        Two-sided; `nan` if there is nothing to compare.
    information
        Null variance of the relapses beyond those expected, over its clustering by node; 0 if nothing is compared.
    """

    score: float
    p_value: float
    information: float

    @classmethod
    def agreed(cls, by_history: Comparison, by_node: Comparison) -> Comparison:
        """Combine two comparisons into one that has a result only if both have, on the same side.

        The p-value is the larger one, and 1 if they contradict each other: if sick nodes get one action first, nodes of
        one history differ, and if they get another action after a relapse, the times of one node do.

        >>> Comparison.agreed(Comparison(3.0, 0.01, 9.0), Comparison(2.0, 0.06, 4.0)).p_value
        0.06
        >>> Comparison.agreed(Comparison(3.0, 0.01, 9.0), Comparison(-2.0, 0.06, 4.0)).p_value
        1.0
        """
        p_value = max(by_history.p_value, by_node.p_value) if by_history.score * by_node.score > 0 else 1.0
        if np.isnan(by_history.score * by_node.score):
            return NOTHING_COMPARED
        return cls(by_history.score, p_value, min(by_history.information, by_node.information))


NOTHING_COMPARED = Comparison(np.nan, np.nan, 0.0)


def compare_with_rest(spells: Spells, is_action: ArrayLike, stratum: ArrayLike) -> Comparison:
    """Compare the relapses after one action with those after the others by a log-rank test.

    Parameters
    ----------
    spells
        Times in service after repairs.
    is_action
        Whether the action was this one, shape (n,).
    stratum
        The fault: actions are compared only within it, shape (n,).

    Returns
    -------
    Comparison
        `nan` with fewer than `MINIMUM_REPAIRS` of either side in the strata that have both, or fewer than
        `MINIMUM_RELAPSES` in these.

    Notes
    -----
    ``z = sum(O - E) / sqrt(V)`` with V of the hypergeometric distribution, both summed over strata, which in one
    stratum is `scipy.stats.logrank`. V is multiplied by the factor by which the sum of squares of the influences on
    ``O - E`` grows when those of a node are summed first, if it is above 1 (Lee, Wei and Amato): a bad node relapses
    again and again after any action. The p-value is of Student's t with one degree less than nodes that
    relapsed.

    Assumptions: beyond the stratum, the action does not depend on how bad the fault was. A verdict needs two
    comparisons, by the history of nodes and by node (`Comparison.agreed`).

    References
    ----------
    N. Mantel, Cancer Chemother. Rep. 50 (1966) 163-170. E. W. Lee, L. J. Wei and D. A. Amato, "Cox-type regression
    analysis for large numbers of small groups of correlated failure time observations" (1992).

    Examples
    --------
    >>> spells = Spells.of([1, 2, 3, 4, 5, 6, 20, 20, 20, 20, 20, 20], [1] * 6 + [0] * 6, range(12))
    >>> found = compare_with_rest(spells, [1] * 6 + [0] * 6, [0] * 12)
    >>> print(f"{found.score:.2f}, {found.p_value:.3f}")
    3.48, 0.018
    """
    own, strata = np.asarray(is_action, dtype=bool), np.asarray(stratum)
    both = np.intersect1d(strata[own], strata[~own])
    compared = np.isin(strata, both)
    spells, own, strata = spells[compared], own[compared], strata[compared]
    if min(own.sum(), (~own).sum()) < MINIMUM_REPAIRS or spells.is_relapse.sum() < MINIMUM_RELAPSES:
        return NOTHING_COMPARED
    influence, variance = np.zeros(own.size), 0.0
    for one in both:
        chosen = strata == one
        part, mine = spells[chosen], own[chosen]
        at, place, at_risk, relapsed = _steps(part)
        share = _at_risk(part.days[mine], at) / at_risk
        influence[chosen] = part.is_relapse * (mine - share[place]) - (
            mine * np.cumsum(relapsed / at_risk)[place] - np.cumsum(share * relapsed / at_risk)[place]
        )
        left = (at_risk - relapsed) / np.maximum(at_risk - 1.0, 1.0)
        variance += float(np.sum(relapsed * share * (1.0 - share) * left))
    nodes = np.unique(spells.node[spells.is_relapse]).size
    if not variance > 0.0 or nodes < 2:
        return NOTHING_COMPARED
    clustering = _clustering(influence, spells.node)
    score = float(influence.sum() / np.sqrt(variance * clustering))
    return Comparison(score, float(2.0 * stats.t.sf(abs(score), nodes - 1)), variance / clustering)


def verdicts(comparisons: list[Comparison]) -> list[str]:
    """Judge the actions of all causes of a cluster together, so that few verdicts are wrong.

    Parameters
    ----------
    comparisons
        Of every action and cause, from `compare_with_rest`.

    Returns
    -------
    list of str
        `holds longer`, `relapses sooner` or `cannot tell`, for each.

    Notes
    -----
    A verdict has a q-value, by `false_discovery`, of at most `FALSE_DISCOVERIES`.

    Examples
    --------
    >>> verdicts([Comparison(-3.5, 0.001, 9.0), Comparison(1.0, 0.3, 9.0), NOTHING_COMPARED])
    ['holds longer', 'cannot tell', 'cannot tell']
    """
    q_values = false_discovery([comparison.p_value for comparison in comparisons])
    return [
        (HOLDS_LONGER if comparison.score < 0 else RELAPSES_SOONER) if q <= FALSE_DISCOVERIES else CANNOT_TELL
        for comparison, q in zip(comparisons, q_values, strict=True)
    ]


def _steps(spells: Spells) -> tuple[Floats, NDArray[np.int64], Floats, Floats]:
    """Return the distinct times, the index of each spell's time, and the numbers at risk and relapsed at each."""
    at, place = np.unique(spells.days, return_inverse=True)
    relapsed = np.bincount(place, spells.is_relapse, at.size).astype(float)
    return at, place.astype(np.int64), _at_risk(spells.days, at), relapsed


def _at_risk(days: Floats, at: Floats) -> Floats:
    return (days.size - np.searchsorted(np.sort(days), at)).astype(float)


def _clustering(influence: Floats, node: NDArray[np.int64]) -> float:
    """Return the factor, at least 1, by which the variance of a sum grows when the parts of one node are summed."""
    alone = float(influence @ influence)
    together = float(np.sum(np.bincount(node, influence) ** 2))
    return max(1.0, together / alone) if alone > 0.0 else 1.0


def _wilson(share: float, number: float, confidence_level: float) -> Share:
    """Put Wilson's limits on a share of a number that need not be whole."""
    z2 = float(stats.norm.ppf((1.0 + confidence_level) / 2.0) ** 2)
    middle = (share + z2 / (2.0 * number)) / (1.0 + z2 / number)
    reach = np.sqrt(z2 * (share * (1.0 - share) / number + z2 / (4.0 * number**2))) / (1.0 + z2 / number)
    return Share(share, float(max(0.0, min(middle - reach, share))), float(min(1.0, max(middle + reach, share))))


def _first(at: Floats, is_reached: NDArray[np.bool_]) -> float:
    return float(at[np.argmax(is_reached)]) if is_reached.any() else np.nan
