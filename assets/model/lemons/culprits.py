"""Infer which node caused a failure: a failure of a job on many nodes is divided among these nodes.

A failure with a known culprit counts for that node. Every other failure is divided among its nodes in proportion to
their failure rates. The rates are estimated from the same failures, and both steps are repeated until nothing changes
(EM). An uncertain failure counts by its probability.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assets.model.gamma_poisson import Floats, Group
from assets.model.lemons.node_rates import Draw, NodeRates, judge_nodes, posterior_rates
from assets.model.lemons.two_groups import SPREADS, TwoGroups, fit_two_groups, p_value_of, weigh_spreads

MAX_ROUNDS = 60
DRAWS = 50
FITS = 8
"""Number of draws to which groups are fitted. The other draws use these fits, because fits differ little."""
SETTLED = 1e-3
"""Rounds end when no node's count changes by more than this."""


@dataclass(frozen=True)
class Blame:
    """Failures attributed to nodes.

    Attributes
    ----------
    share
        Probability, per suspect, that this node caused this failure; a failure's shares sum to 1.
    known_count
        Failures per node with this node as the only suspect, by their probability.
    event_count
        Failures per node, known ones and shares of others, by their probability.
    fleet, nodes
        The two groups that the shares agree with, and the rates of each node; None if nothing can be fitted, in which
        case the shares are equal.
    p_value
        Upper bound of the probability of counts as uneven in a fleet of one group; `nan` if nothing can be fitted.
    """

    share: Floats
    known_count: Floats
    event_count: Floats
    fleet: TwoGroups | None
    nodes: NodeRates | None
    p_value: float


def infer_culprits(
    failure: ArrayLike,
    node: ArrayLike,
    exposure: ArrayLike,
    generator: np.random.Generator,
    probability: ArrayLike = 1.0,
) -> Blame:
    """Share failures among their suspects, and fit the fleet to the result.

    Parameters
    ----------
    failure, node
        One entry per suspect of a failure: the failure's index from 0, without gaps, and the node's index. A failure
        with a known culprit has one entry.
    exposure
        Node-days in use of each node; its length is the number of nodes.
    generator
        Source of randomness for the draws.
    probability
        That it is a failure and no coincidence, shape (failures,) or one for all.

    Returns
    -------
    Blame

    Raises
    ------
    ValueError
        Indices out of range, arrays of different length, a failure without a suspect, probabilities outside [0, 1].

    Notes
    -----
    E-step: ``p(n | failure) = r_n / sum of r over its suspects``, ``r_n`` being the node's posterior mean rate. M-step:
    `assets.model.lemons.two_groups` fitted to ``k_n = sum of p(n | .) P(failure)``. The first shares are equal.
    Entries are kept as a list of pairs: a failure of 500 nodes costs 500 numbers, not a row of the fleet.

    Shares are means, and means differ less between nodes than the true values. The rates of the nodes are therefore
    the mean over 50 draws. Each draw decides by their probability which failures are real, and draws one culprit for
    each of them by the shares. It uses one of 8 fits, each with one spread of the normal nodes' rates by
    `weigh_spreads`. The p-value is that of the mean gain of the draws. The limits of rates assume the widest spread of
    the normal nodes, half their mean; if the spread is smaller, they cover more often than nominal. Limits of a lemon
    follow from its own count, see `judge_nodes`: for nodes with a probability above 0.7, 90% limits hold 90 to 97% of
    the rates in the fleets of `tests/model/test_lemons_two_groups.py`.

    Limitations: a node that is always in the same large jobs as a lemon gets its share of the blame.

    Examples
    --------
    Two failures of node 0 alone, one of nodes 0, 1 and 2 together:

    >>> rng = np.random.default_rng(1)
    >>> blame = infer_culprits([0, 1, 2, 2, 2], [0, 0, 0, 1, 2], [30.0] * 20, rng)
    >>> blame.known_count[:3].tolist(), blame.share[2:].round(2).tolist()
    ([2.0, 0.0, 0.0], [0.99, 0.0, 0.0])
    """
    which, who = np.asarray(failure, dtype=np.int64), np.asarray(node, dtype=np.int64)
    time = np.asarray(exposure, dtype=float)
    suspects = _checked(which, who, len(time))
    real = np.broadcast_to(np.asarray(probability, dtype=float), suspects.shape)
    if not np.all((real >= 0) & (real <= 1)):
        raise ValueError(f"a probability lies between 0 and 1, not {probability!r}")
    is_known = suspects[which] == 1
    known = _summed(who[is_known], real[which[is_known]], len(time))
    share: Floats = 1.0 / suspects[which]
    count = _summed(who, share * real[which], len(time))
    fleet = fit_two_groups(count, time)
    for _ in range(MAX_ROUNDS):
        if fleet is None or is_known.all():
            break
        weight = posterior_rates(fleet, count, time)[who]
        share = weight / np.bincount(which, weight)[which]
        previous, count = count, _summed(who, share * real[which], len(time))
        fleet = fit_two_groups(count, time, start=fleet)
        if np.abs(count - previous).max() < SETTLED:
            break
    if fleet is None:
        return Blame(share, known, count, None, None, np.nan)
    drawn = draw_culprits(which, who, share, len(time), generator, probability=real)
    draws, widest, gain = draw_fleets(drawn, time, fleet)
    return Blame(share, known, count, fleet, judge_nodes(draws, time, widest), p_value_of(gain))


def draw_culprits(
    which: NDArray[np.int64],
    who: NDArray[np.int64],
    share: Floats,
    node_count: int,
    generator: np.random.Generator,
    *,
    probability: Floats,
) -> list[Floats]:
    """Draw the real failures and one culprit for each of them, several times, and count by node."""
    order = np.argsort(which, kind="stable")
    until = np.cumsum(share[order])
    last = np.searchsorted(which[order], np.arange(which.max() + 1), side="right") - 1
    before = np.append(0.0, until[last[:-1]])
    is_doubtful, counts = bool(np.any(probability < 1)), []
    for _ in range(DRAWS):
        is_real = generator.random(len(last)) < probability if is_doubtful else np.ones(len(last), dtype=bool)
        picked = np.searchsorted(until, before + generator.random(len(last)) * (until[last] - before), side="right")
        culprits = who[order[np.minimum(picked, last)]]
        counts.append(np.bincount(culprits[is_real], minlength=node_count).astype(float))
    return counts


def draw_fleets(counts: list[Floats], time: Floats, fleet: TwoGroups) -> tuple[list[Draw], Group, float]:
    """Fit the fleet to the first draws, and use their groups for the others.

    Returns
    -------
    All draws, the normal nodes at the widest spread, and the mean gain of a second group.
    """
    weights = weigh_spreads(counts[0], time, fleet)
    spreads = np.searchsorted(np.cumsum(weights), (np.arange(FITS) + 0.5) / FITS)
    widest = fit_two_groups(counts[0], time, start=fleet, spread=SPREADS[-1]) or fleet
    fleets, gains = [], []
    for count, number in zip(counts[:FITS], np.minimum(spreads, len(SPREADS) - 1), strict=True):
        best = fit_two_groups(count, time, start=fleet) or fleet
        fleets.append(fit_two_groups(count, time, start=fleet, spread=SPREADS[number]) or fleet)
        gains.append(best.log_likelihood_gain)
    draws = [Draw(fleets[number % FITS], count) for number, count in enumerate(counts)]
    return draws, widest.normal, float(np.mean(gains))


def _summed(who: NDArray[np.int64], share: Floats, node_count: int) -> Floats:
    return np.bincount(who, share, minlength=node_count).astype(float)


def _checked(which: NDArray[np.int64], who: NDArray[np.int64], node_count: int) -> NDArray[np.int64]:
    if which.shape != who.shape:
        raise ValueError(f"suspects name a failure and a node each, not {len(which)} failures and {len(who)} nodes")
    if len(who) and (who.min() < 0 or who.max() >= node_count or which.min() < 0):
        raise ValueError(f"suspects are nodes 0 to {node_count - 1} of failures from 0")
    suspects = np.bincount(which)
    if np.any(suspects == 0):
        raise ValueError("every failure has at least one suspect")
    return suspects.astype(np.int64)
