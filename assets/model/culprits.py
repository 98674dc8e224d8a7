"""Whose fault a failure was: a failure of many nodes blames the one that did it, not all that were there.

Failures whose culprit is known blame it. The others are shared out among their nodes in proportion to how often each
of these fails anyway, which is estimated from the same failures, until neither changes (EM).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assets.model.lemons import NodeRates, TwoGroups, fit_two_groups, judge_nodes, posterior_rates

MOST_ROUNDS = 60
SETTLED = 1e-3
"""Rounds end when no node's count changes by more than this."""


@dataclass(frozen=True)
class Blame:
    """Failures laid at the door of nodes.

    Attributes
    ----------
    share
        Probability, per suspect, that this node caused this failure; a failure's shares sum to 1.
    known_count
        Failures per node with this node as the only suspect.
    event_count
        Failures per node, known ones and shares of others.
    fleet, nodes
        The two groups that the shares agree with, and what they say of each node; None where nothing can be fitted,
        and the shares are then equal.
    """

    share: NDArray[np.float64]
    known_count: NDArray[np.int64]
    event_count: NDArray[np.float64]
    fleet: TwoGroups | None
    nodes: NodeRates | None


def infer_culprits(failure: ArrayLike, node: ArrayLike, exposure: ArrayLike) -> Blame:
    """Share failures among their suspects, and fit the fleet to the result.

    Parameters
    ----------
    failure, node
        One entry per suspect of a failure: the failure's index from 0, without gaps, and the node's index. A failure
        whose culprit is known has one entry.
    exposure
        Node-days in use of each node; its length is the number of nodes.

    Returns
    -------
    Blame

    Raises
    ------
    ValueError
        Indices out of range, arrays of different length, a failure without a suspect.

    Notes
    -----
    E-step: ``p(n | failure) = r_n / sum of r over its suspects``, ``r_n`` being the node's posterior mean rate. M-step:
    the two groups of `assets.model.lemons` fitted to ``k_n = sum of p(n | .)``. The first shares are equal. Entries are
    kept as a list of pairs: a failure of 500 nodes costs 500 numbers, not a row of the fleet.

    When it lies: a node that is always in the same large jobs as a lemon gets its share of the blame. Shares count as
    if they were whole failures, which makes a node that is mostly suspected look surer than it is.

    Examples
    --------
    Two failures of node 0 alone, one of nodes 0, 1 and 2 together:

    >>> blame = infer_culprits([0, 1, 2, 2, 2], [0, 0, 0, 1, 2], [30.0] * 20)
    >>> blame.known_count[:3].tolist(), blame.share[2:].round(2).tolist()
    ([2, 0, 0], [0.99, 0.0, 0.0])
    """
    which, who = np.asarray(failure, dtype=np.int64), np.asarray(node, dtype=np.int64)
    time = np.asarray(exposure, dtype=float)
    suspects = _checked(which, who, len(time))
    is_known = suspects[which] == 1
    known = np.bincount(who[is_known], minlength=len(time))
    share: NDArray[np.float64] = 1.0 / suspects[which]
    count = _summed(who, share, len(time))
    fleet = fit_two_groups(count, time)
    for _ in range(MOST_ROUNDS):
        if fleet is None or is_known.all():
            break
        weight = posterior_rates(fleet, count, time)[who]
        share = weight / np.bincount(which, weight)[which]
        previous, count = count, _summed(who, share, len(time))
        fleet = fit_two_groups(count, time, start=fleet)
        if np.abs(count - previous).max() < SETTLED:
            break
    nodes = None if fleet is None else judge_nodes(fleet, count, time)
    return Blame(share, known.astype(np.int64), count, fleet, nodes)


def _summed(who: NDArray[np.int64], share: NDArray[np.float64], node_count: int) -> NDArray[np.float64]:
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
