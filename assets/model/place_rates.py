"""Which places of a machine fail more often than the rest: rates by place, their ratios, and false discoveries.

A place is a rack, a switch, a position: nodes that have something in common. One node that keeps failing does not make
its place bad, and neither does one event that takes several of its nodes at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assets.model.failure_rate import CONFIDENCE_LEVEL, RateInterval
from assets.model.false_discovery import false_discovery
from assets.model.incident_counts import weighted_interval
from assets.model.rate_ratio import RatioInterval, common_dispersion, rate_ratio

Floats = NDArray[np.float64]
Indices = NDArray[np.intp]
MIN_NODES = 3
"""With fewer nodes a place cannot be separated from one of its nodes."""


@dataclass(frozen=True)
class PlaceRates:
    """Rates of the places of one kind; all arrays have shape (places,).

    Attributes
    ----------
    node_count
        Nodes of the place that were in use.
    rate
        Failures of nodes per node-day.
    ratio
        The rate over that of the rest: all other places together, without odd nodes; `nan` if it cannot be compared.
    information
        Variance of the failures if the place fails as the rest does, over the dispersion; 0 if nothing is compared.
    q_value
        Smallest share of wrong names in a list, with this place, of places that fail more often than the rest.
    """

    node_count: NDArray[np.int64]
    rate: RateInterval
    ratio: RatioInterval
    information: Floats
    q_value: Floats


@dataclass(frozen=True)
class _Counts:
    """Failures of places: count, variance, node-days and nodes; all of shape (places,)."""

    count: Floats
    variance: Floats
    node_days: Floats
    nodes: Floats


def place_rates(  # noqa: PLR0917
    place: ArrayLike,
    exposure: ArrayLike,
    node: ArrayLike,
    burst: ArrayLike,
    probability: ArrayLike,
    is_odd: ArrayLike = False,
) -> PlaceRates:
    """Estimate the rate of each place, and compare it with the rest.

    Parameters
    ----------
    place
        Place of each node, shape (nodes,), from 0 without gaps.
    exposure
        Node-days of each node, 0 or more.
    node, burst, probability
        One entry per node that failed in a burst, shape (failures,): its index, a number of the burst, and the
        probability that it is a failure, above 0 and at most 1.
    is_odd
        Nodes left out of every rest, because they are known to fail much more often than others: for each node or for
        all.

    Returns
    -------
    PlaceRates
        A place of fewer than three nodes in use has no ratio.

    Notes
    -----
    With ``k`` the sum of the probabilities p of a place, ``V = max(V_burst, V_burst + V_node - V_one)``. Failures of
    one burst come together: ``V_burst = sum w m^2 (2 - w)`` over bursts, w the greatest p and ``m = sum p / w``. Nodes
    differ: ``V_node = n / (n - 1) sum (k_j - r T_j)^2`` over its n nodes, r the rate of the place. The part in both is
    subtracted once: ``V_one = sum p (2 - p)``. The limits are those of `weighted_interval`. The ratio is that of
    `rate_ratio` with the common dispersion of both sides.

    The p-value is one-sided, for the place without its node with most failures: a place is bad if its other nodes are.
    q-values are those of `false_discovery`.

    Assumptions: each failure is attributed to the right node. No common cause hits several places, such as a file
    system; it would make the places more alike than their limits say.

    References
    ----------
    A. C. Cameron, J. B. Gelbach and D. L. Miller, "Robust inference with multiway clustering", J. Business and Economic
    Statistics 29 (2011) 238-249.

    Examples
    --------
    Racks of four nodes. In the first each node failed three times; in the second one node, which is known to be odd,
    failed twelve times.

    >>> nodes = np.repeat([0, 1, 2, 3, 4], [3, 3, 3, 3, 12])
    >>> racks, days = [0] * 4 + [1] * 4 + [2] * 8, np.full(16, 100.0)
    >>> rates = place_rates(racks, days, nodes, np.arange(24), np.ones(24), np.arange(16) == 4)
    >>> rates.rate.low.round(3).tolist(), rates.rate.high.round(3).tolist()
    ([0.017, 0.002, 0.0], [0.049, 0.142, 0.004])
    >>> bool(rates.q_value[0] < 0.05 < rates.q_value[1])
    True
    """
    of_node, time = np.asarray(place, dtype=np.intp), np.asarray(exposure, dtype=float)
    number, p = np.asarray(node, dtype=np.intp), np.asarray(probability, dtype=float)
    in_use = time[number] > 0
    failures = (number[in_use], np.unique(np.asarray(burst)[in_use], return_inverse=True)[1], p[in_use])
    is_usual = ~np.broadcast_to(np.asarray(is_odd, dtype=bool), time.shape)
    whole, usual = (_count(of_node, np.where(kept, time, 0.0), *failures) for kept in (True, is_usual))
    without_worst = np.where(_is_worst(of_node, time, failures[0], failures[2]), 0.0, time)
    is_compared = whole.nodes >= MIN_NODES
    ratio = _compared(whole, usual, is_compared)
    tested = _count(of_node, without_worst, *failures)
    others = _compared(tested, usual, is_compared)
    p_value = np.where(np.nan_to_num(others.value, nan=np.inf) > 1, others.p_value / 2, 1 - others.p_value / 2)
    rate = weighted_interval(whole.count, whole.variance, whole.node_days)
    information = np.where(is_compared, _information(tested, usual), 0.0)
    return PlaceRates(whole.nodes.astype(np.int64), rate, ratio, information, false_discovery(p_value))


def _is_worst(place: Indices, time: Floats, node: Indices, probability: Floats) -> NDArray[np.bool_]:
    """Mark the node of each place with most failures."""
    failures = np.where(time > 0, np.bincount(node, probability, minlength=len(time)), -1.0)
    order = np.lexsort((failures, place))
    is_last = np.append(np.diff(place[order]) > 0, True)
    is_worst = np.zeros(len(time), dtype=bool)
    is_worst[order[is_last]] = True
    return is_worst


def _count(place: Indices, time: Floats, node: Indices, burst: Indices, probability: Floats) -> _Counts:
    """Sum the failures of nodes with exposure by place."""
    width = int(place.max(initial=-1)) + 1
    is_counted = time[node] > 0
    node, burst, p = node[is_counted], burst[is_counted], probability[is_counted]

    def by_place(values: NDArray[Any], of: Indices = place) -> Floats:
        return np.bincount(of, values, minlength=width).astype(np.float64)

    in_use, failures = time > 0, np.bincount(node, p, minlength=len(time))
    nodes, node_days, count = by_place(in_use.astype(float)), by_place(time), by_place(failures)
    with np.errstate(divide="ignore", invalid="ignore"):
        uneven = np.where(in_use, failures - (count / node_days)[place] * time, 0.0)
        of_nodes = np.where(nodes > 1, nodes / (nodes - 1), 0.0) * by_place(uneven**2)
    pairs, member = np.unique(np.stack([place[node], burst]), axis=1, return_inverse=True)
    total, largest = np.bincount(member, p, minlength=pairs.shape[1]), np.zeros(pairs.shape[1])
    np.maximum.at(largest, member, p)
    of_bursts = by_place(total**2 / largest * (2 - largest), pairs[0])
    one_by_one = by_place(p * (2 - p), place[node])
    return _Counts(count, np.maximum(of_bursts, of_bursts + of_nodes - one_by_one), node_days, nodes)


def _rest(usual: _Counts) -> tuple[Floats, Floats, Floats]:
    """Sum the usual nodes of all other places: count, variance and node-days."""
    count, variance, node_days = (
        np.maximum(values.sum() - values, 0.0) for values in (usual.count, usual.variance, usual.node_days)
    )
    return count, variance, node_days


def _information(own: _Counts, usual: _Counts) -> Floats:
    """Return ``n s (1 - s) / phi``: n failures of a place and the rest, with an expected share s in the place."""
    count, variance, node_days = _rest(usual)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = own.node_days / (own.node_days + node_days)
    phi = common_dispersion(own.count, own.variance, count, variance)
    return np.nan_to_num((own.count + count) * share * (1.0 - share) / phi)


def _compared(own: _Counts, usual: _Counts, is_compared: NDArray[np.bool_]) -> RatioInterval:
    """Divide the rate of each place by that of the usual nodes of all others."""
    count, variance, node_days = _rest(usual)
    return rate_ratio(
        np.where(is_compared, own.count, np.nan),
        own.node_days,
        count,
        node_days,
        CONFIDENCE_LEVEL,
        dispersion=common_dispersion(own.count, own.variance, count, variance),
    )
