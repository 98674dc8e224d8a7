"""The effect of a known change on the failure rate: the ratio, the smallest detectable ratio, and the verdict.

Verdicts are for all rows of a cluster together, so that many changes and causes do not produce findings by their
number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats
from scipy.stats.contingency import odds_ratio

from assets.model.failure_rate import CONFIDENCE_LEVEL, NO_EXPOSURE
from assets.model.false_discovery import FALSE_DISCOVERIES, false_discovery
from assets.model.month_variation import CVS, DAYS_PER_MONTH, MonthVariation
from assets.model.power import POWER
from assets.model.rate_ratio import NO_EVENTS, RatioInterval, rate_ratio

Floats = NDArray[np.float64]

WORTH_SEEING = 0.5
"""No change is shown if a change to this ratio would have been shown and was not."""
CHANGE_DAYS = 90
"""Longest time in days to compare before and after a change. Over longer times other things change, too."""
VERDICT_DAYS = 75
"""Fewest days of each side for a verdict without unchanged nodes to show how months differ."""
CONDITIONAL_HYPERGEOMETRIC = "conditional_hypergeometric"
HELPED, HURT, NO_CHANGE, CANNOT_TELL = "helped", "hurt", "no change shown", "cannot tell"


@dataclass(frozen=True)
class Verdicts:
    """The verdict on each row of a cluster; all of shape (n,).

    Attributes
    ----------
    q_value
        Share of wrong verdicts among this and all rows with a smaller p-value; `nan` without a test.
    smallest_ratio
        Largest ratio below 1 that `POWER` of such changes would show; `nan` if none would.
    verdict
        One of the four.
    """

    q_value: Floats
    smallest_ratio: Floats
    verdict: NDArray[np.str_]


def months_of(series: Sequence[tuple[Floats, Floats]]) -> Floats:
    """Sum days by month, the same days for all series.

    Parameters
    ----------
    series
        Events and exposures of consecutive days.

    Returns
    -------
    ndarray
        Events and exposures, shape (2, series, months): months of about 30 of the days on which a series has exposure,
        at least one.

    Examples
    --------
    >>> months_of([(np.ones(70), np.full(70, 2.0))]).tolist()
    [[[35.0, 35.0]], [[70.0, 70.0]]]
    """
    seen = np.flatnonzero(sum(exposure for _, exposure in series))
    months = np.array_split(seen, max(1, round(seen.size / DAYS_PER_MONTH)))
    return np.array(
        [[[values[month].sum() for month in months] for values in kind] for kind in zip(*series, strict=True)]
    )


def with_months(
    dispersion: float, event_count: ArrayLike, relative_variance: ArrayLike, seen_days: ArrayLike
) -> Floats:
    """Add the variation between months to the dispersion of the counts of a ratio.

    Parameters
    ----------
    dispersion
        Variance over mean of the counts, phi, 1 or more.
    event_count
        Counts k of the ratio, shape (n,).
    relative_variance
        CV^2 of the rates of months, or of their ratios; any shape.
    seen_days
        Days of each side of the change, shape (2,).

    Returns
    -------
    ndarray
        The dispersion, for each CV^2, that gives ``phi sum 1 / k + CV^2 (1 / m_1 + 1 / m_0)``, the variance of the
        ratio's logarithm; m are the months of each side, at least 1. A count of 0 enters as half an event.

    Examples
    --------
    Three months on each side, a hundred events each, and months that differ by 30%:

    >>> with_months(1.0, [100, 100], 0.09, [90, 90]).round(6).item()
    4.0
    """
    months = np.maximum(np.asarray(seen_days, dtype=float) / DAYS_PER_MONTH, 1.0)
    inverse = np.sum(1.0 / np.maximum(np.asarray(event_count, dtype=float), 0.5))
    return dispersion + np.asarray(relative_variance, dtype=float) * np.sum(1.0 / months) / inverse


def ratio_of_ratios(
    event_count: ArrayLike, exposure: ArrayLike, confidence_level: float = CONFIDENCE_LEVEL, *, dispersion: float = 1.0
) -> RatioInterval:
    """Divide the ratio after to before of changed nodes by that of unchanged ones.

    Parameters
    ----------
    event_count, exposure
        Of changed nodes after and before, and of unchanged nodes after and before, shape (4,).
    confidence_level
        Of the limits.
    dispersion
        Variance over mean of the counts, 1 or more.

    Returns
    -------
    RatioInterval
        Of one ratio. Without any event of either group the limits are 0 and `inf`.

    Notes
    -----
    Given the sums of rows and columns of the four counts, the first is of Fisher's noncentral hypergeometric
    distribution with odds ``r (T1 / T2) / (T3 / T4)`` for the ratio of ratios r. Its limits are exact. Counts of
    dispersion phi are divided by it and rounded to whole events.

    Assumption: without the change the rates of both groups would have changed alike.

    References
    ----------
    J. Cornfield, "A statistical problem arising from retrospective studies", Proc. Third Berkeley Symposium 4 (1956)
    135-148, as in R's `fisher.test` with an odds ratio other than 1.

    Examples
    --------
    >>> found = ratio_of_ratios([20, 40, 50, 50], [100.0, 100.0, 100.0, 100.0])
    >>> f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}] p = {found.p_value:.3f}"
    '0.50 [0.27, 0.92] p = 0.057'
    """
    count, time = np.asarray(event_count, dtype=float), np.asarray(exposure, dtype=float)
    if count.shape != (4,) or time.shape != (4,):
        raise ValueError(f"four counts and four exposures, not {count.shape} and {time.shape}")
    cells = np.rint(count / dispersion).astype(int)
    row, total = cells[:2].sum(), cells.sum()
    value, low, high, p_value, method = np.nan, 0.0, np.inf, 1.0, NO_EVENTS
    if not np.all(time > 0):
        low, high, p_value, method = np.nan, np.nan, np.nan, NO_EXPOSURE
    elif 0 < row < total:
        offset = time[0] * time[3] / (time[1] * time[2])
        p_value = _p_of_no_effect(cells, offset)
        limits = odds_ratio(cells.reshape(2, 2)).confidence_interval(confidence_level)
        below = count[1] * count[2]
        value = count[0] * count[3] / below / offset if below > 0 else np.nan
        # rounding may put the ratio outside its limits
        low = np.fmin(np.nan_to_num(limits.low) / offset, value)
        high = np.fmax(np.nan_to_num(limits.high, nan=np.inf, posinf=np.inf) / offset, value)
        method = CONDITIONAL_HYPERGEOMETRIC
    return RatioInterval(
        value=np.asarray(value, dtype=float),
        low=np.asarray(low, dtype=float),
        high=np.asarray(high, dtype=float),
        p_value=np.asarray(p_value, dtype=float),
        confidence_level=confidence_level,
        method=np.asarray(method),
    )


def _p_of_no_effect(cells: NDArray[np.int_], offset: float) -> float:
    null = stats.nchypergeom_fisher(cells.sum(), cells[:2].sum(), cells[[0, 2]].sum(), offset)
    tails = np.array([null.cdf(cells[0]), null.sf(cells[0] - 1)], dtype=float)
    return min(1.0, 2.0 * float(tails.min()))


def p_over_months(
    event_count: ArrayLike, exposure: ArrayLike, dispersion: float, variation: MonthVariation, seen_days: ArrayLike
) -> float:
    """Return the p-value of no effect, averaged over the possible variation between months.

    Parameters
    ----------
    event_count, exposure
        As for `ratio_of_ratios`, shape (4,), or without unchanged nodes, shape (2,).
    dispersion
        Variance over mean of the counts within a month, 1 or more.
    variation
        Posterior of the CV of months.
    seen_days
        Days of each side of the change, shape (2,).

    Returns
    -------
    float
        `nan` if a side has no exposure.

    Notes
    -----
    The sum over `CVS` of the posterior probability times the p-value with the dispersion of `with_months`. Few months
    leave large variations possible, and their p-values enter the mean (X.-L. Meng, "Posterior predictive p-values",
    Annals of Statistics 22 (1994) 1142-1160).

    Examples
    --------
    A rate that falls to half, over 90 days on each side, without any known months:

    >>> from assets.model.month_variation import month_variation
    >>> round(p_over_months([100, 200], [1.0, 1.0], 1.0, month_variation([], []), [90, 90]), 2)
    0.06
    """
    count, time = np.asarray(event_count, dtype=float), np.asarray(exposure, dtype=float)
    phis = with_months(dispersion, count, CVS**2, seen_days)
    if not np.all(time > 0):
        return np.nan
    if count.size == 2:
        p_values = rate_ratio(count[0], time[0], count[1], time[1], dispersion=phis).p_value
    else:
        offset = time[0] * time[3] / (time[1] * time[2])
        p_values = np.array([_p_of_no_effect(np.rint(count / phi).astype(int), offset) for phi in phis])
    return min(float(np.dot(variation.weights, p_values)), 1.0)


def smallest_shown(event_count: float, share: float, level: float, control_count: float = np.inf) -> float:
    """Return the largest ratio below 1 that a test would show in `POWER` of such changes.

    Parameters
    ----------
    event_count
        Events before and after together, n, if nothing changes; over their dispersion.
    share
        Expected share p of them after the change.
    level
        Two-sided level of the test.
    control_count
        Events of unchanged nodes; infinite if the ratio is compared with 1.

    Returns
    -------
    float
        `nan` if not even the end of all failures would be shown.

    Notes
    -----
    A ratio r leaves ``m = n (1 - p + r p)`` events, a share ``q = r p / (1 - p + r p)`` of them after. It is shown if
    ``2 (asin sqrt p - asin sqrt q) sqrt(1 / (1 / m + 1 / c)) >= z(1 - level / 2) + z(POWER)``, c the control count.

    References
    ----------
    J. Cohen, *Statistical Power Analysis for the Behavioral Sciences*, 2nd ed. (1988), section 6.2.

    Examples
    --------
    >>> round(smallest_shown(100, 0.5, 0.05), 2), smallest_shown(4, 0.5, 0.05)
    (0.52, nan)
    """

    def lacks(ratio: float) -> float:
        left = 1.0 - share + ratio * share
        effect = 2.0 * (np.arcsin(np.sqrt(share)) - np.arcsin(np.sqrt(ratio * share / left)))
        return float(needed - effect / np.sqrt(1.0 / (event_count * left) + 1.0 / control_count))

    needed = special.ndtri(1.0 - level / 2.0) + special.ndtri(POWER)
    if not (event_count > 0 and 0.0 < share < 1.0 and control_count > 0) or lacks(0.0) > 0:
        return np.nan
    return float(optimize.brentq(lacks, 0.0, 1.0))


def judge(
    p_value: ArrayLike, ratio: ArrayLike, event_count: ArrayLike, share: ArrayLike, control_count: ArrayLike
) -> Verdicts:
    """Judge all rows of a cluster together.

    Parameters
    ----------
    p_value
        Of the ratio 1, shape (n,); `nan` for unknown.
    ratio
        Whether it is above or below 1; `nan` counts as above: events came, and none were before.
    event_count, share, control_count
        As in `smallest_shown`.

    Notes
    -----
    Rows with too few events for any outcome to be below `FALSE_DISCOVERIES` are no part of the family (Tarone):
    ``2 min(p, 1 - p)^n`` is the smallest p-value of n events. The others have the q-value of `false_discovery`. The
    level of `smallest_shown` is that of a single true change among them, ``FALSE_DISCOVERIES / rows``.

    References
    ----------
    R. E. Tarone, "A modified Bonferroni method for discrete data", Biometrics 46 (1990) 515-522.

    Examples
    --------
    >>> judge([0.001, 0.6, 0.4], [0.4, 1.1, 0.0], [80, 400, 3], [0.5, 0.5, 0.5], [np.inf] * 3).verdict.tolist()
    ['helped', 'no change shown', 'cannot tell']
    """
    p, r, n, s, c = (np.asarray(x, dtype=float) for x in (p_value, ratio, event_count, share, control_count))
    extreme = 2.0 * np.minimum(s, 1.0 - s) ** np.minimum(n, c)
    is_told = np.isfinite(p) & (extreme <= FALSE_DISCOVERIES)
    q, smallest = false_discovery(np.where(is_told, p, np.nan)), np.full(p.shape, np.nan)
    if is_told.any():
        level = FALSE_DISCOVERIES / is_told.sum()
        rows = zip(n[is_told], s[is_told], c[is_told], strict=True)
        smallest[is_told] = [smallest_shown(events, part, level, control) for events, part, control in rows]
    is_shown = q <= FALSE_DISCOVERIES
    verdict = np.select(
        [is_shown & (r < 1.0), is_shown, smallest >= WORTH_SEEING], [HELPED, HURT, NO_CHANGE], default=CANNOT_TELL
    )
    return Verdicts(q, smallest, verdict)
