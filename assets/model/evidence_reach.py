"""Estimate the share of infrastructure failures that the evidence could show: late evidence, two sources, other ends.

Nothing here corrects a rate. All counts are of attempts that ended FAILED or REQUEUED: failures that Slurm itself
attributes to a node are never missed. The limits are for what happened, not for another period.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.prediction import prediction_interval

MIN_COMMON = 7.0
"""Fewer failures that both sources saw are too few to estimate what neither saw."""
MAX_UNCOMPARED = 0.5
"""If more than this share of the failures could not be compared, the others do not represent them."""
MAX_UNEXPLAINED = 3 / 7
"""If the bound on unexplained ends is more than this share of the failures, the reach may be below 0.7. If nearly all
is seen, it is at most 0.36 for 30 failures and more."""
FEW = 30.0
"""With fewer failures the bound may be a larger share by chance alone."""
MIN_USERS = 5
"""Users with jobs of two sizes below which habits also explain ends that grow with nodes."""
_TAIL = (1 - CONFIDENCE_LEVEL) / 2
_Z = float(special.ndtri(1 - _TAIL))

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Count:
    """An estimated number of ends with its limits; none is negative."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Sources:
    """Failures of one category by the sources that saw them, as sums of their probabilities.

    Attributes
    ----------
    common, kernel_only, checks_only
        Seen by kernel messages and by health checks, or by one of them.
    uncompared
        Failures with one of the two logs missing, or with evidence of another kind.
    is_shown_by_both
        Whether each of the two can show the category, by the rules.
    """

    category: str
    common: float
    kernel_only: float
    checks_only: float
    uncompared: float = 0.0
    is_shown_by_both: bool = True

    @property
    def has_enough(self) -> bool:
        """Whether both saw enough to be compared."""
        return _is_enough(self.common)

    @property
    def compared(self) -> float:
        """Failures that the two sources saw together."""
        return self.common + self.kernel_only + self.checks_only

    def __add__(self, other: Sources) -> Sources:
        """Add the failures of another period, or of another category that is pooled with this one."""
        names = ("common", "kernel_only", "checks_only", "uncompared")
        return replace(self, **{name: getattr(self, name) + getattr(other, name) for name in names})


@dataclass(frozen=True)
class TwoSources:
    """Failures that neither source saw, estimated from what each saw of the other's.

    Attributes
    ----------
    unseen
        None if it is unknown.
    compared
        Failures behind the estimate.
    common
        Failures that both saw, of all categories that each of the two can show.
    one_sided
        Categories that only one source can show, most failures first.
    """

    unseen: Count | None
    compared: float
    common: float
    one_sided: tuple[str, ...]

    @property
    def has_enough(self) -> bool:
        """Whether both saw enough to be compared."""
        return _is_enough(self.common)


def _is_enough(common: float) -> bool:
    # The probabilities of seven nearly certain failures add up to a little less than seven.
    return round(common, 1) >= MIN_COMMON


@dataclass(frozen=True)
class Reach:
    """The share of infrastructure failures that was counted; `nan` if it is unknown.

    `is_at_most`: the share may be lower, since one source alone cannot show what it misses.
    """

    value: float
    low: float
    high: float
    is_at_most: bool


def late_excess(
    node_counts: ArrayLike,
    end_counts: ArrayLike,
    seen_count: float,
    *,
    control_hits: float,
    control_onsets: float,
    control_windows: float,
) -> Count:
    """Count the ends with evidence soon after the window of attribution, beyond those expected by chance.

    Parameters
    ----------
    node_counts, end_counts
        Ends without evidence in the window: their number, by the number of their nodes; shape (n,).
    seen_count
        Ends with an onset of evidence on one of their nodes in the late window.
    control_hits, control_windows
        The late windows of the nodes of completed attempts: those with an onset, and all of them.
    control_onsets
        Onsets in these windows: attempts that share a node, or end one after the other, see the same one.

    Returns
    -------
    Count
        Limits by chance, a negative binomial count, given its number for completed attempts. Without completed
        attempts every end that saw an onset may be chance.

    Notes
    -----
    The ends seen minus those expected by chance, at least 0. Chance shows an onset in a node's window with the
    probability ``q = control_hits / control_windows``, so that an end on n nodes has ``(1 - (1 - q)^n) / q`` windows.
    `prediction_interval` predicts the hits in these from the control's onsets, times its hits per onset.

    Assumption: ends without evidence meet coincidences as often, per node and window, as completed attempts do.

    Examples
    --------
    Of 100 ends on one node 12 saw an onset, and of 10,000 windows of completed attempts 100, so that 1 is chance:

    >>> late_excess([1], [100], 12, control_hits=100, control_onsets=100, control_windows=10_000)
    Count(value=11.0, low=9.0, high=12.0)
    """
    nodes, ends = np.asarray(node_counts, dtype=float), np.asarray(end_counts, dtype=float)
    if control_windows <= 0:
        return Count(0.0, 0.0, seen_count)
    # An end sees an onset on any of its nodes, so ends on many nodes have somewhat fewer windows than nodes.
    chance = min(control_hits / control_windows, 0.5)
    windows = ends @ nodes if chance == 0 else ends @ -np.expm1(nodes * math.log1p(-chance)) / chance
    onsets = prediction_interval(control_onsets, control_windows, windows)
    per_onset = max(1.0, control_hits / control_onsets) if control_onsets else 1.0
    expected, few, many = (per_onset * float(value) for value in (onsets.value, onsets.low, onsets.high))
    value, low, high = (max(0.0, seen_count - count) for count in (np.nan_to_num(expected), many, few))
    return Count(float(value), low, high)


def two_sources(categories: Sequence[Sources]) -> TwoSources:
    """Estimate how many failures neither kernel messages nor health checks saw.

    Notes
    -----
    Chapman's estimate, ``m10 m01 / (m11 + 1)``, for each category with `MIN_COMMON` failures that both saw. The others
    are pooled, and a pool with fewer is not compared. Limits are log-normal; if one source saw all that the other did,
    the upper one assumes that it may miss as many as that count allows. Assumption: given a failure, the sources see
    it independently. If they see the same failures more often than that, more was missed than estimated here.

    References
    ----------
    D. G. Chapman, "Some properties of the hypergeometric distribution with applications to zoological sample
    censuses", 1951; G. A. F. Seber, "The Estimation of Animal Abundance", on the variance; G. Y. Zou and A. Donner,
    "Construction of confidence limits about effect measures", 2008, on limits of sums.

    Examples
    --------
    >>> found = two_sources([Sources("ib_link", 36, 24, 24), Sources("gpu_memory", 0, 9, 0, is_shown_by_both=False)])
    >>> print(f"{found.unseen.value:.1f} [{found.unseen.low:.1f}, {found.unseen.high:.1f}]", found.one_sided)
    15.6 [8.1, 29.9] ('gpu_memory',)
    """
    comparable = [category for category in categories if category.is_shown_by_both]
    own = [category for category in comparable if category.has_enough]
    rest = [category for category in comparable if not category.has_enough]
    pool = sum(rest, Sources("", 0.0, 0.0, 0.0))
    own += [pool] if pool.has_enough else []
    total = sum(category.compared + category.uncompared for category in categories)
    compared = sum(category.compared for category in own)
    sided = [category for category in categories if not category.is_shown_by_both and category.compared]
    names = tuple(category.category for category in sorted(sided, key=lambda category: -category.compared))
    common = sum(category.common for category in comparable)
    if not own or compared < (1 - MAX_UNCOMPARED) * total:
        return TwoSources(None, compared, common, names)
    return TwoSources(_sum_of([_chapman(category) for category in own]), compared, common, names)


def _chapman(category: Sources) -> Count:
    both, first, second = category.common, category.kernel_only, category.checks_only
    unseen = first * second / (both + 1)
    if unseen > 0:
        variance = (both + first + 1) * (both + second + 1) * first * second / ((both + 1) ** 2 * (both + 2))
        factor = math.exp(_Z * math.sqrt(math.log1p(variance / unseen**2)))
        return Count(unseen, unseen / factor, unseen * factor)
    # The one source missed none of `both` failures: with this chance for each, that happens once in twenty times.
    missed = 1 - _TAIL ** (1 / both)
    return Count(0.0, 0.0, max(first, second) * missed / (1 - missed))


def _sum_of(counts: Sequence[Count]) -> Count:
    """Add independent counts; the distances of their limits add as squares. A limit below 0 becomes 0."""
    value = sum(count.value for count in counts)
    low = value - math.hypot(*(count.value - count.low for count in counts))
    return Count(value, low if low >= 1 else 0.0, value + math.hypot(*(count.high - count.value for count in counts)))


def unexplained_bound(
    *, users: ArrayLike, runtime_classes: ArrayLike, node_counts: ArrayLike, failed: ArrayLike, days: ArrayLike
) -> float:
    """Bound the number of ends without evidence that grow with the nodes of an attempt, as faults of machines do.

    Parameters
    ----------
    users, runtime_classes, node_counts
        What the attempts of a cell have in common, shape (n,). The limits of a class differ by up to a factor of two.
    failed
        Attempts that ended FAILED or REQUEUED without evidence while their runtime was of the class.
    days
        Time that the attempts of the user and size ran while their runtime was of the class, whether they ended or not.

    Returns
    -------
    float
        Upper limit; `nan` if fewer than `MIN_USERS` users ran jobs of two sizes. It is a bound and no estimate: the
        errors of users grow with nodes, too.

    Notes
    -----
    Poisson counts with ``E(failed) = (a + b node_count) days``, one `a` per user and runtime class and a common `b`,
    none negative. The limit is that of the profile likelihood of `b`, one-sided at 95%.

    Assumption: faults of machines grow in proportion to nodes, and a user's errors do not decrease. Errors that grow
    with nodes make the bound too high.
    """
    user, runtime_class, size = (np.asarray(values, dtype=float) for values in (users, runtime_classes, node_counts))
    user_of_size = np.unique(np.stack([user, size]), axis=1)[0]
    if np.count_nonzero(np.unique(user_of_size, return_counts=True)[1] > 1) < MIN_USERS:
        return math.nan
    stratum = np.unique(np.stack([user, runtime_class]), axis=1, return_inverse=True)[1].ravel()
    time = np.asarray(days, dtype=float)
    return _Profile(stratum, np.asarray(failed, dtype=float), time, size * time).upper_limit() * float(size @ time)


class _Profile:
    """The likelihood of the share of failures that grows with node-days, maximised over all else."""

    def __init__(self, stratum: NDArray[np.intp], failed: Floats, days: Floats, node_days: Floats) -> None:
        kept = (np.bincount(stratum, weights=failed) > 0)[stratum] & (days > 0)
        self._lost_days = float(node_days[~kept].sum())
        self._stratum = np.unique(stratum[kept], return_inverse=True)[1]
        self._failed, self._days, self._node_days = failed[kept], days[kept], node_days[kept]
        self._all = self._by_stratum(self._days)

    def upper_limit(self) -> float:
        """Return the largest rate per node-day that the counts allow."""
        top = (float(self._failed.sum()) + 3.0) / (self._lost_days + float(self._node_days.sum()))
        best = _root(lambda rate: self._at(rate)[1], 0.0, top) if self._at(0.0)[1] > 0 else 0.0
        least = self._at(best)[0] - _Z**2 / 2
        while self._at(top)[0] > least:
            top *= 2
        return _root(lambda rate: self._at(rate)[0] - least, best, top)

    def _at(self, rate: float) -> tuple[float, float]:
        """Return the profile's log-likelihood at a rate and its slope there."""
        grown = rate * self._node_days
        # Newton's steps climb to the share of each stratum that does not grow from below, because the slope is convex.
        # A step below 0 ends at 0.
        share = np.maximum(0.0, self._by_stratum(self._failed - grown)) / self._all
        for _ in range(50):
            mean = np.maximum(share[self._stratum] * self._days + grown, 1e-300)
            slope = self._by_stratum(self._failed * self._days / mean) - self._all
            bend = self._by_stratum(self._failed * (self._days / mean) ** 2)
            step = np.maximum(slope / bend, -share)
            share = share + step
            if np.all(np.abs(step) <= 1e-9 * (share + 1e-12)):
                break
        mean = np.maximum(share[self._stratum] * self._days + grown, 1e-300)
        value = np.sum(special.xlogy(self._failed, mean) - mean) - rate * self._lost_days
        slope_of_rate = np.sum(self._node_days * (self._failed / mean - 1)) - self._lost_days
        return float(value), float(slope_of_rate)

    def _by_stratum(self, values: Floats) -> Floats:
        return np.bincount(self._stratum, weights=values).astype(np.float64)


def _root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Find where a falling function is 0, to a thousandth of the upper end."""
    for _ in range(60):
        if high - low <= 1e-3 * high:
            break
        middle = (low + high) / 2
        low, high = (middle, high) if falling(middle) > 0 else (low, middle)
    return high


def leaves_room(counted: float, unexplained_high: float) -> bool:
    """Return whether the bound on unexplained ends is more than habits of users and chance explain.

    >>> leaves_room(44.0, 59.0), leaves_room(44.0, 15.0), leaves_room(7.0, 4.0), leaves_room(44.0, math.nan)
    (True, False, False, False)
    """
    return unexplained_high > MAX_UNEXPLAINED * max(counted, FEW)


def evidence_reach(counted: float, late: Count, sources: TwoSources, unexplained_high: float = math.nan) -> Reach:
    """Compute the counted share of the failures: by late evidence or by two sources, whichever is smaller.

    Parameters
    ----------
    counted
        Failures that were counted, a sum of probabilities.
    late, sources, unexplained_high
        What `late_excess`, `two_sources` and `unexplained_bound` found.

    Returns
    -------
    Reach
        The bound on unexplained ends lowers `low` if it leaves room. If the sources cannot be compared, the value is
        the upper bound from late evidence, with the bound on unexplained ends as lower limit; `nan` if chance alone
        explains the late evidence.

    Notes
    -----
    ``counted / (counted + missed)``, where missed is the late excess, or the failures that two sources did not see.

    Assumptions: those of the three functions. Faults that leave no trace in any source are in the bound alone.

    Examples
    --------
    60 failures counted and some 40 late; then one source alone:

    >>> late = Count(40.0, 30.0, 48.0)
    >>> reach = evidence_reach(60.0, late, TwoSources(Count(10.0, 5.0, 20.0), 60.0, 30.0, ()))
    >>> print(f"{reach.value:.2f} [{reach.low:.2f}, {reach.high:.2f}]")
    0.60 [0.56, 0.67]
    >>> evidence_reach(60.0, Count(1.0, 0.0, 3.0), TwoSources(None, 0.0, 0.0, ())).value
    nan
    """
    by_late = _share(counted, late)
    if sources.unseen is not None:
        by_sources = _share(sources.compared, sources.unseen)
        value, low, high = (min(pair) for pair in zip(by_late, by_sources, strict=True))
        if leaves_room(counted, unexplained_high):
            low = min(low, counted / (counted + unexplained_high))
        return Reach(value, low, high, is_at_most=False)
    if late.low <= 0:
        return Reach(math.nan, math.nan, math.nan, is_at_most=False)
    low = counted / (counted + max(unexplained_high, late.high))
    return Reach(by_late[0], low, by_late[2], is_at_most=True)


def _share(counted: float, missed: Count) -> tuple[float, float, float]:
    """Return the counted share, its lower and its upper limit."""
    if counted <= 0:
        return (1.0, 1.0, 1.0) if missed.value <= 0 else (0.0, 0.0, 0.0 if missed.low > 0 else 1.0)
    value, low, high = (counted / (counted + count) for count in (missed.value, missed.high, missed.low))
    return value, low, high
