"""Fit a model of normal nodes and a few lemons, as two groups of Poisson rates, to find nodes that fail too often.

This module fits the groups to counts and node-days.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from assets.model.gamma_poisson import Floats, Group, Units, checked

MIN_SHAPE = 4.0
"""Least Gamma shape of normal nodes: their rates differ by at most half their mean (one standard deviation)."""
MIN_FACTOR = 3.0
"""A group that fails less than three times as often as the others is not a group of lemons."""
MAX_LEMON_SHARE = 0.1
"""Largest share of lemons: a rate that a quarter of the nodes have is the fleet's, not a lemon's."""
SPREADS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
"""Spreads of the normal nodes' rates to weigh: standard deviation over mean."""
DEGREES = 1
"""Degrees of the chi-square for the gain of a second group. The bounds keep the gain small: of simulated fleets
without lemons 0 to 3% passed at 0.05, and 8% if the rates of normal nodes spread as far as they may."""

_LEMON_BOUNDS = [(np.log(1e-4), np.log(MAX_LEMON_SHARE)), (np.log(MIN_FACTOR), np.log(1000.0)), (0.0, np.log(20.0))]
_STARTS = ((0.005, 30.0), (0.01, 10.0), (0.03, 5.0))


@dataclass(frozen=True)
class TwoGroups:
    """A fleet: its normal nodes, its lemons, and the gain of two groups over one.

    Attributes
    ----------
    normal, lemon
        The groups.
    lemon_ratio
        Share of lemons among the nodes, 0 to 1.
    single
        The best single group.
    log_likelihood, log_likelihood_gain
        Of the two groups, and its gain over that of one group, 0 or more.
    """

    normal: Group
    lemon: Group
    lemon_ratio: float
    single: Group
    log_likelihood: float
    log_likelihood_gain: float


def fit_two_groups(
    event_count: ArrayLike, exposure: ArrayLike, start: TwoGroups | None = None, spread: float | None = None
) -> TwoGroups | None:
    """Fit a normal fleet and a small group of lemons to the failures of the nodes by maximum likelihood.

    Parameters
    ----------
    event_count
        Failures of each node, 0 or more; fractions are shares of failures with an inferred culprit.
    exposure
        Node-days in use of each node; nodes without any are left out.
    start
        A fit to nearly the same counts, to start from instead of several guesses.
    spread
        Standard deviation of the rates of normal nodes over their mean, if it is not to be fitted.

    Returns
    -------
    TwoGroups or None
        None if nothing can be fitted: fewer than 2 nodes in use, or no failure.

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
    groups can change places. They spread by at least ``1 / sqrt(all failures)``, the precision of the mean.

    Assumptions: the failures of a node are independent. Count incidents, and leave out those that hit many nodes at
    once. A fleet of two kinds of hardware with rates that differ threefold looks like a fleet with lemons.

    References
    ----------
    B. Efron, "Large-Scale Inference", Cambridge 2010, chapters 2 and 5, on two groups and local false discovery.

    Examples
    --------
    >>> fleet = fit_two_groups([0] * 60 + [1] * 30 + [2] * 8 + [12, 15], [70.0] * 100)
    >>> print(f"{fleet.normal.rate:.4f} {fleet.lemon.rate:.2f} {p_value_of(fleet.log_likelihood_gain):.0e}")
    0.0067 0.19 2e-14
    """
    count, time = checked(event_count, exposure)
    used = time > 0
    count, time = count[used], time[used]
    if len(count) < 2 or count.sum() <= 0:
        return None
    mean = float(count.sum() / time.sum())
    widest = max(2 * MIN_SHAPE, float(count.sum()))
    shapes = (MIN_SHAPE, widest) if spread is None else (min(1 / spread**2 if spread else np.inf, widest),) * 2
    ends = (float(np.log(shapes[0])), float(np.log(shapes[1])))
    units = Units(count, time)
    single = _minimise(lambda x: _single_loss(units, x), [[np.log(mean), ends[1]]], [_around(mean), ends])
    starts = [[np.log(0.8 * mean), float(single.x[1]), np.log(w), np.log(f), np.log(3.0)] for w, f in _STARTS]
    if start is not None:
        starts = [_packed(start)]
    starts = [[point[0], min(max(point[1], ends[0]), ends[1]), *point[2:]] for point in starts]
    both = _minimise(lambda x: _two_group_loss(units, x), starts, [_around(mean), ends, *_LEMON_BOUNDS])
    normal, lemon, ratio = _unpacked(both.x)
    gain = max(0.0, float(single.fun - both.fun))
    return TwoGroups(normal, lemon, ratio, Group(*map(float, np.exp(single.x))), -float(both.fun), gain)


def p_value_of(log_likelihood_gain: float) -> float:
    """Return the highest probability of the gain in a fleet of one group, by chi-square of twice the gain."""
    return float(stats.chi2.sf(2 * log_likelihood_gain, DEGREES))


def weigh_spreads(event_count: ArrayLike, exposure: ArrayLike, start: TwoGroups) -> Floats:
    """Return the weights of spreads of normal nodes' rates, by how well each spread explains the counts.

    Parameters
    ----------
    event_count, exposure
        As in `fit_two_groups`.
    start
        A fit to these counts.

    Returns
    -------
    numpy.ndarray
        A probability for each of `SPREADS`; a priori, small spreads are likelier.

    Notes
    -----
    The best single spread is nearly always 0: a thousand failures cannot tell 0 from 0.3. To assume that it is known
    would make normal nodes look more alike than they are, so that lists and limits would be too confident.
    """
    fits = [fit_two_groups(event_count, exposure, start, spread) for spread in SPREADS]
    # Without an event there is no fit, and all spreads are equally likely.
    likelihood = np.array([0.0 if fit is None else fit.log_likelihood for fit in fits])
    weight = np.exp(likelihood - likelihood.max()) * (SPREADS[-1] + SPREADS[1] - np.array(SPREADS))
    probability: Floats = weight / weight.sum()
    return probability


def _single_loss(units: Units, x: Floats) -> tuple[float, Floats]:
    group = Group(*map(float, np.exp(x)))
    slope = np.array([derivative.sum() for derivative in units.slopes(group)])
    return -float(units.log_density(group).sum()), -slope


def _two_group_loss(units: Units, x: Floats) -> tuple[float, Floats]:
    normal, lemon, ratio = _unpacked(x)
    joint = log_joint(units, normal, lemon, ratio)
    total = np.logaddexp(*joint)
    share = np.exp(joint[1] - total)
    (normal_rate, normal_shape), (lemon_rate, lemon_shape) = map(units.slopes, (normal, lemon))
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
    """Return the best of several starts, by truncated Newton.

    L-BFGS-B finds the same, but takes ten times as long, waiting for the threads of its 5 x 5 algebra.
    """
    found = (
        optimize.minimize(loss, start, jac=True, bounds=bounds, method="TNC", options={"maxfun": 2000})
        for start in starts
    )
    return min(found, key=lambda result: result.fun)


def log_joint(units: Units, normal: Group, lemon: Group, ratio: float) -> tuple[Floats, Floats]:
    """Return the log-probability of being normal with this count, and of being a lemon with it."""
    return np.log1p(-ratio) + units.log_density(normal), np.log(ratio) + units.log_density(lemon)


def _around(mean: float) -> tuple[float, float]:
    return float(np.log(mean / 1000.0)), float(np.log(mean * 10.0))


def _packed(fleet: TwoGroups) -> list[float]:
    factor = fleet.lemon.rate / fleet.normal.rate
    numbers = (fleet.normal.rate, fleet.normal.shape, fleet.lemon_ratio, factor, fleet.lemon.shape)
    return [float(np.log(number)) for number in numbers]


def _unpacked(x: Floats) -> tuple[Group, Group, float]:
    rate, shape, ratio, factor, lemon_shape = map(float, np.exp(x))
    return Group(rate, shape), Group(rate * factor, lemon_shape), ratio
