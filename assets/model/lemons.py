"""Which nodes fail too often: a fleet of normal nodes with a few lemons among them, as two groups of Poisson rates.

It takes counts, also fractional ones, and node-days, and gives each node's probability of being a lemon, its rate
with limits, and the longest list whose share of wrong names stays below what is allowed. Who caused a failure is
settled before, in `culprits`; whether a list may be made at all, afterwards, in `lemon_verdicts`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special, stats

from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.gamma_poisson import Floats, Group, checked, log_density, mixture_quantile, posterior, slopes

LEAST_SHAPE = 4.0
"""Least Gamma shape of normal nodes: their rates differ by at most half their mean (one standard deviation)."""
LEAST_FACTOR = 3.0
"""A group that fails less than three times as often as the others is not a group of lemons."""
MOST_LEMONS = 0.1
"""Largest share of lemons: what a quarter of the nodes have in common is the fleet, not a lemon."""
DEGREES = 1
"""Of the chi-square that the gain of a second group is held against. The bounds keep the gain small: of simulated
fleets without lemons 0 to 3% passed at 0.05, and 8% where the rates of normal nodes spread as far as they may."""

_LEMON_BOUNDS = [(np.log(1e-4), np.log(MOST_LEMONS)), (np.log(LEAST_FACTOR), np.log(1000.0)), (0.0, np.log(20.0))]
_STARTS = ((0.005, 30.0), (0.01, 10.0), (0.03, 5.0))


@dataclass(frozen=True)
class TwoGroups:
    """A fleet: its normal nodes, its lemons, and how much better two groups explain the counts than one.

    Attributes
    ----------
    normal, lemon
        The groups.
    lemon_ratio
        Share of lemons among the nodes, 0 to 1.
    single
        The best single group.
    log_likelihood_gain
        Log-likelihood of two groups minus that of one; 0 or more.
    p_value
        Probability of a gain as large if there were one group only: at most this, see `fit_two_groups`.
    """

    normal: Group
    lemon: Group
    lemon_ratio: float
    single: Group
    log_likelihood_gain: float
    p_value: float


@dataclass(frozen=True)
class NodeRates:
    """What the fleet's two groups say of each node; all arrays have one shape.

    Attributes
    ----------
    posterior_probability, local_fdr
        Probability that the node is a lemon, and that it is not: they sum to 1.
    false_discovery_ratio
        Expected share of wrong names in the list of this node and all before it.
    value, low, high
        Failures per node-day, drawn towards the group's mean by as much as the exposure is short.
    confidence_level
        Probability, given the two groups, that [low, high] holds the node's rate.
    """

    posterior_probability: Floats
    local_fdr: Floats
    false_discovery_ratio: Floats
    value: Floats
    low: Floats
    high: Floats
    confidence_level: float


def fit_two_groups(event_count: ArrayLike, exposure: ArrayLike, start: TwoGroups | None = None) -> TwoGroups | None:
    """Fit a normal fleet and a small group of lemons to the failures of the nodes by maximum likelihood.

    Parameters
    ----------
    event_count
        Failures of each node, 0 or more; fractions are shares of failures whose culprit is inferred.
    exposure
        Node-days in use of each node; nodes without any are left out.
    start
        A fit to nearly the same counts, to begin at instead of at several guesses.

    Returns
    -------
    TwoGroups or None
        None where nothing can be fitted: fewer than 2 nodes in use, or no failure.

    Raises
    ------
    ValueError
        Negative or infinite counts or exposures, shapes that differ.

    Notes
    -----
    Given its rate a node's count is Poisson, and rates are Gamma with shape ``a`` and mean ``m``, so counts are
    negative binomial: ``log p(k | T) = lgamma(k + a) - lgamma(a) - lgamma(k + 1) + a log(b / (b + T))
    + k log(T / (b + T))``, ``b = a / m``. The fleet is ``(1 - w) p(normal) + w p(lemon)`` with ``w <= 0.1``, lemons
    at least 3 times the normal rate, and normal rates that spread by at most half their mean; without these bounds the
    groups can trade places. They spread by at least ``1 / sqrt(all failures)``, which is how well the mean is known.
    The p-value compares twice the gain with chi-square of 1 degree.

    When it lies: it takes failures of a node to be independent. Count incidents, and leave out what strikes many nodes
    at once. A fleet of two kinds of hardware that differ threefold looks like a fleet with lemons.

    References
    ----------
    B. Efron, "Large-Scale Inference", Cambridge 2010, chapters 2 and 5, on two groups and local false discovery.

    Examples
    --------
    >>> fleet = fit_two_groups([0] * 60 + [1] * 30 + [2] * 8 + [12, 15], [70.0] * 100)
    >>> print(f"{fleet.normal.rate:.4f} {fleet.lemon.rate:.2f} {fleet.p_value:.0e}")
    0.0067 0.19 2e-14
    """
    count, time = checked(event_count, exposure)
    used = time > 0
    count, time = count[used], time[used]
    if len(count) < 2 or count.sum() <= 0:
        return None
    mean = float(count.sum() / time.sum())
    shapes = (np.log(LEAST_SHAPE), np.log(max(2 * LEAST_SHAPE, float(count.sum()))))
    single = _minimise(lambda x: _single_loss(count, time, x), [[np.log(mean), shapes[1]]], [_around(mean), shapes])
    starts = [[np.log(0.8 * mean), float(single.x[1]), np.log(w), np.log(f), np.log(3.0)] for w, f in _STARTS]
    if start is not None:
        starts = [_packed(start)]
    both = _minimise(lambda x: _two_group_loss(count, time, x), starts, [_around(mean), shapes, *_LEMON_BOUNDS])
    normal, lemon, ratio = _unpacked(both.x)
    gain = max(0.0, float(single.fun - both.fun))
    p_value = float(stats.chi2.sf(2 * gain, DEGREES))
    return TwoGroups(normal, lemon, ratio, Group(*map(float, np.exp(single.x))), gain, p_value)


def judge_nodes(
    fleet: TwoGroups, event_count: ArrayLike, exposure: ArrayLike, confidence_level: float = CONFIDENCE_LEVEL
) -> NodeRates:
    """Give each node its probability of being a lemon and its rate, and the list its share of wrong names.

    Parameters
    ----------
    fleet
        The two groups.
    event_count, exposure
        As in `fit_two_groups`. A node without exposure keeps what the fleet says of any node.
    confidence_level
        1 - a, between 0 and 1.

    Returns
    -------
    NodeRates
        Rates per node-day.

    Raises
    ------
    ValueError
        Negative or infinite counts or exposures, a level outside (0, 1).

    Notes
    -----
    ``P(lemon | k, T) = w p(k | lemon) / (w p(k | lemon) + (1 - w) p(k | normal))``; the local false discovery rate is
    the rest. A node's rate is, within each group, Gamma with shape ``a + k`` and rate ``b + T``: value and limits are
    mean and quantiles of the mixture of both. The list is in the order of the probability, and its expected share of
    wrong names is the mean of the local false discovery rates down to the node: never sorted apart, so nodes with the
    same probability stand or fall together.

    When it lies: the groups are taken as known. With few lemons their own spread is hardly known, and a probability
    near one half may as well be 0.3 or 0.7; the list, which averages, suffers less.

    Examples
    --------
    >>> fleet = fit_two_groups([0] * 60 + [1] * 30 + [2] * 8 + [12, 15], [70.0] * 100)
    >>> nodes = judge_nodes(fleet, [0, 3, 12], [70.0, 70.0, 70.0])
    >>> nodes.posterior_probability.round(3).tolist()
    [0.0, 0.006, 1.0]
    """
    count, time = checked(event_count, exposure)
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not {confidence_level!r}")
    probability, fdr = _membership(fleet, count, time)
    value = _mean_rates(fleet, probability, count, time)
    groups = ((fleet.normal, fdr), (fleet.lemon, probability))
    tail = (1.0 - confidence_level) / 2.0
    low, high = (mixture_quantile(p, groups, count, time) for p in (tail, 1.0 - tail))
    return NodeRates(probability, fdr, false_discovery_ratio(fdr), value, low, high, confidence_level)


def posterior_rates(fleet: TwoGroups, event_count: ArrayLike, exposure: ArrayLike) -> Floats:
    """Give each node's expected rate per node-day, as in `judge_nodes`, without its limits."""
    count, time = checked(event_count, exposure)
    return _mean_rates(fleet, _membership(fleet, count, time)[0], count, time)


def false_discovery_ratio(local_fdr: ArrayLike) -> Floats:
    """Average the local false discovery rates of the list that ends with each node, ties included.

    Parameters
    ----------
    local_fdr
        Probability that the node is no lemon, any order.

    Returns
    -------
    numpy.ndarray
        Expected share of wrong names in the shortest list that has the node.

    Examples
    --------
    >>> false_discovery_ratio([0.3, 0.0, 0.9, 0.3]).round(2).tolist()
    [0.2, 0.0, 0.38, 0.2]
    """
    fdr = np.asarray(local_fdr, dtype=float)
    if fdr.size == 0:
        return fdr.copy()
    values, place, members = np.unique(fdr, return_inverse=True, return_counts=True)
    mean: Floats = (np.cumsum(values * members) / np.cumsum(members))[place]
    return mean


def _single_loss(count: Floats, time: Floats, x: Floats) -> tuple[float, Floats]:
    group = Group(*map(float, np.exp(x)))
    slope = np.array([one.sum() for one in slopes(count, time, group)])
    return -float(log_density(count, time, group).sum()), -slope


def _two_group_loss(count: Floats, time: Floats, x: Floats) -> tuple[float, Floats]:
    normal, lemon, ratio = _unpacked(x)
    joint = _log_joint(count, time, normal, lemon, ratio)
    total = np.logaddexp(*joint)
    share = np.exp(joint[1] - total)
    (normal_rate, normal_shape), (lemon_rate, lemon_shape) = (slopes(count, time, g) for g in (normal, lemon))
    by_factor = float((share * lemon_rate).sum())
    slope = np.array(
        [
            float(((1.0 - share) * normal_rate).sum()) + by_factor,
            float(((1.0 - share) * normal_shape).sum()),
            float(share.sum() - (1.0 - share).sum() * ratio / (1.0 - ratio)),
            by_factor,
            float((share * lemon_shape).sum()),
        ]
    )
    return -float(total.sum()), -slope


def _minimise(
    loss: Callable[[Floats], tuple[float, Floats]], starts: list[list[float]], bounds: list[tuple[float, float]]
) -> optimize.OptimizeResult:
    """Take the best of several starts, by truncated Newton.

    L-BFGS-B finds the same, and spends ten times as long on waiting for the threads of its 5 x 5 algebra.
    """
    found = (
        optimize.minimize(loss, start, jac=True, bounds=bounds, method="TNC", options={"maxfun": 2000})
        for start in starts
    )
    return min(found, key=lambda one: one.fun)


def _log_joint(count: Floats, time: Floats, normal: Group, lemon: Group, ratio: float) -> tuple[Floats, Floats]:
    return np.log1p(-ratio) + log_density(count, time, normal), np.log(ratio) + log_density(count, time, lemon)


def _membership(fleet: TwoGroups, count: Floats, time: Floats) -> tuple[Floats, Floats]:
    """Give the probabilities of being a lemon and of being none, each to full precision."""
    normal, lemon = _log_joint(count, time, fleet.normal, fleet.lemon, fleet.lemon_ratio)
    return special.expit(lemon - normal), special.expit(normal - lemon)


def _mean_rates(fleet: TwoGroups, probability: Floats, count: Floats, time: Floats) -> Floats:
    (a, b), (c, d) = (posterior(group, count, time) for group in (fleet.normal, fleet.lemon))
    mean: Floats = (1.0 - probability) * a / b + probability * c / d
    return mean


def _around(mean: float) -> tuple[float, float]:
    return float(np.log(mean / 1000.0)), float(np.log(mean * 10.0))


def _packed(fleet: TwoGroups) -> list[float]:
    factor = fleet.lemon.rate / fleet.normal.rate
    numbers = (fleet.normal.rate, fleet.normal.shape, fleet.lemon_ratio, factor, fleet.lemon.shape)
    return [float(np.log(number)) for number in numbers]


def _unpacked(x: Floats) -> tuple[Group, Group, float]:
    rate, shape, ratio, factor, lemon_shape = map(float, np.exp(x))
    return Group(rate, shape), Group(rate * factor, lemon_shape), ratio
