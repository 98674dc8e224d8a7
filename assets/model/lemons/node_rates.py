"""Judge each node by the fit of two groups: its probability of being a lemon, its rate, and how long a list may be.

The culprits and the spread of the fleet are uncertain. They enter as several draws, and the results are means over
these draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.gamma_poisson import Floats, Group, Units, checked, mixture_probability, mixture_quantile, posterior
from assets.model.lemons.two_groups import TwoGroups, log_joint

LIMIT_DRAWS = 8
"""Number of draws behind the limits, which cost more than all the rest."""

HALF_A_FAILURE = 0.5
"""Events that the group of lemons adds to the limits of a lemon's own count, at the group's mean rate."""

NEARLY_ALL = 1.0 - 1e-12
"""Highest probability of an upper limit, as a probability of 1 has no finite one."""

Parts = Sequence[tuple[Floats, Floats, Floats]]
"""Gamma distributions of each node's rate: share, shape, inverse scale."""


@dataclass(frozen=True)
class Draw:
    """One possible set of culprits: the failures of each node, and the groups fitted to them."""

    fleet: TwoGroups
    event_count: Floats


@dataclass(frozen=True)
class NodeRates:
    """Probabilities and rates of each node from the two groups; all arrays have one shape.

    Attributes
    ----------
    posterior_probability, local_fdr
        Probability that the node is a lemon, and that it is not: they sum to 1.
    false_discovery_ratio
        Expected share of wrong names in the list of this node and all before it.
    value
        Failures per node-day, shrunk towards the group's mean, the more the shorter the exposure.
    confidence_level
        Probability that [low, high] contains the node's rate.
    low_parts, high_parts
        The distributions of the quantiles that are the lower and the upper limits.
    """

    posterior_probability: Floats
    local_fdr: Floats
    false_discovery_ratio: Floats
    value: Floats
    confidence_level: float
    low_parts: Parts
    high_parts: Parts

    @cached_property
    def low(self) -> Floats:
        """Lower limits of the rates; computed on demand, as they cost more than all the rest."""
        limits: Floats = np.minimum(mixture_quantile((1.0 - self.confidence_level) / 2.0, self.low_parts), self.value)
        return limits

    @cached_property
    def high(self) -> Floats:
        """Upper limits of the rates; a small chance of a lemon may raise the value to where few rates lie above it."""
        below_value = mixture_probability(self.value, self.high_parts)
        level = np.maximum((1.0 + self.confidence_level) / 2.0, np.minimum((1.0 + below_value) / 2.0, NEARLY_ALL))
        limits: Floats = np.maximum(mixture_quantile(level, self.high_parts), self.value)
        return limits


def judge_nodes(
    draws: Sequence[Draw],
    exposure: ArrayLike,
    widest: Group | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
) -> NodeRates:
    """Return for each node its probability of being a lemon and its rate, and for the list its share of wrong names.

    Parameters
    ----------
    draws
        At least one.
    exposure
        Node-days in use of each node. A node without any has the rates of any node of the fleet.
    widest
        Normal nodes behind the limits, if these are to be wider than at the likeliest spread.
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
    the rest. A node's rate is, within each group, Gamma with shape ``a + k`` and rate ``b + T``; the value is the mean
    of the mixture of both. The list is in order of the probability, and its expected share of wrong names is the mean
    of the local false discovery rates down to the node. Nodes with the same probability are never separated: they
    enter the list together.

    The limits are quantiles of such a mixture. In it, a lemon has Garwood's limits of its own count: shape ``k`` below,
    at least 1/2, and ``k + 1`` above. The group adds only half a failure at its mean rate ``m``, so that the inverse
    scale is ``T + 1 / (2 m)``. There are few lemons, often one, and the group was fitted to them: as a prior it would
    count a node's failures twice. A small chance of a lemon can raise the value above the quantile; the upper limit is
    then the rate that half of the probability above the value lies below.

    Assumptions: the shares and rates of the groups are known in each draw. With few lemons, a probability near one
    half may as well be 0.3 or 0.7. The list is affected less, because it averages.

    Examples
    --------
    >>> from assets.model.lemons.two_groups import fit_two_groups
    >>> fleet = fit_two_groups([0] * 60 + [1] * 30 + [2] * 8 + [12, 15], [70.0] * 100)
    >>> nodes = judge_nodes([Draw(fleet, np.array([0.0, 3.0, 12.0]))], [70.0, 70.0, 70.0])
    >>> nodes.posterior_probability.round(3).tolist()
    [0.0, 0.006, 1.0]
    """
    time = np.asarray(exposure, dtype=float)
    if not 0.0 < confidence_level < 1.0:
        raise ValueError(f"a confidence level lies between 0 and 1, not {confidence_level!r}")
    counts = [checked(draw.event_count, time)[0] for draw in draws]
    known = [
        (draw.fleet, count, _membership(draw.fleet, count, time)) for draw, count in zip(draws, counts, strict=True)
    ]
    probability, fdr = np.mean([membership for _, _, membership in known], axis=0)
    value = np.mean([_mean_rates(*draw, time) for draw in known], axis=0)
    low, high = _limit_parts(known[:LIMIT_DRAWS], time, widest)
    return NodeRates(probability, fdr, false_discovery_ratio(fdr), value, confidence_level, low, high)


def posterior_rates(fleet: TwoGroups, count: Floats, time: Floats) -> Floats:
    """Return each node's expected rate per node-day by one fit."""
    return _mean_rates(fleet, count, _membership(fleet, count, time), time)


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


def _mean_rates(fleet: TwoGroups, count: Floats, membership: tuple[Floats, Floats], time: Floats) -> Floats:
    probability, fdr = membership
    (a, b), (c, d) = (posterior(group, count, time) for group in (fleet.normal, fleet.lemon))
    mean: Floats = fdr * a / b + probability * c / d
    return mean


def _limit_parts(
    draws: Sequence[tuple[TwoGroups, Floats, tuple[Floats, Floats]]], time: Floats, widest: Group | None
) -> tuple[Parts, Parts]:
    """Return the Gamma distributions behind the lower and the upper limits of each node's rate."""
    low, high = [], []
    for fleet, count, membership in draws:
        probability, fdr = (share / len(draws) for share in membership)
        normal = (fdr, *posterior(widest or fleet.normal, count, time))
        inverse = time + HALF_A_FAILURE / fleet.lemon.rate
        low += [normal, (probability, np.maximum(count, HALF_A_FAILURE), inverse)]
        high += [normal, (probability, count + 1.0, inverse)]
    return low, high


def _membership(fleet: TwoGroups, count: Floats, time: Floats) -> tuple[Floats, Floats]:
    """Return the probabilities of being a lemon and of being none, each to full precision."""
    normal, lemon = log_joint(Units(count, time), fleet.normal, fleet.lemon, fleet.lemon_ratio)
    return special.expit(lemon - normal), special.expit(normal - lemon)
