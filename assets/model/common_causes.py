"""Failures of several nodes of one place at once: how many, how many by chance, and their effect on large jobs.

Failures within minutes of each other are a burst. A burst that takes several nodes of one rack or one switch may have
one cause there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.false_discovery import false_discovery
from assets.model.incident_counts import weighted_interval
from assets.model.mttf import HOURS_PER_DAY, MttfInterval
from assets.model.place_rates import Floats
from assets.model.rate_ratio import common_dispersion, rate_ratio

BURST_SECONDS = 600.0
"""Failures with no longer time between them are one burst."""


@dataclass(frozen=True)
class CommonCauses:
    """Bursts in places; arrays have one element per place, and a last one for all places together.

    Attributes
    ----------
    burst_count
        Bursts that took several nodes of one place.
    expected_count
        The same by chance.
    p_value
        Probability of as many nodes in such bursts by chance.
    q_value
        Benjamini and Hochberg's, among the places; for all together it is the p-value.
    share, low, high
        Share of the failures of nodes that come with others of their place, beyond chance; `nan` without a failure.
    """

    burst_count: NDArray[np.int64]
    expected_count: Floats
    p_value: Floats
    q_value: Floats
    share: Floats
    low: Floats
    high: Floats
    confidence_level: float


def bursts_of(seconds: ArrayLike, is_likely: ArrayLike = True) -> NDArray[np.int64]:
    """Assign a burst number to each of a series of failures in order of time.

    Likely failures make a burst. An unlikely one belongs to the burst of the nearest likely one, if near enough;
    otherwise it is a burst of its own, so that unlikely ones join nothing.

    >>> bursts_of([0, 500, 1000, 1700]).tolist()
    [0, 0, 0, 1]
    >>> bursts_of([0, 500, 1000, 1500], [True, False, False, True]).tolist()
    [0, 0, 1, 1]
    >>> bursts_of([0, 700, 1300], [True, False, False]).tolist()
    [0, 1, 2]
    """
    times = np.asarray(seconds, dtype=float)
    likely = np.broadcast_to(np.asarray(is_likely, dtype=bool), times.shape)
    makers = times[likely]
    number = np.cumsum(np.diff(makers, prepend=-np.inf) > BURST_SECONDS) - 1
    ends = np.concatenate([[-np.inf], makers, [np.inf]])
    after = np.searchsorted(makers, times) + 1
    nearest = np.where(times - ends[after - 1] <= ends[after] - times, after - 1, after)
    is_alone = ~(np.abs(times - ends[nearest]) <= BURST_SECONDS)
    bursts = np.concatenate([[-1], number, [-1]])[nearest]
    bursts[is_alone] = number.max(initial=-1) + 1 + np.arange(is_alone.sum())
    return bursts.astype(np.int64)


def common_causes(burst: ArrayLike, place: ArrayLike, draw: ArrayLike, chances: ArrayLike) -> CommonCauses:
    """Count the bursts that take several nodes of one place, and compare the count with chance.

    Parameters
    ----------
    burst, place, draw
        One entry per node that failed in a burst, shape (failures,): the burst from 0 without gaps, the node's place,
        and the row of `chances` that it was drawn with.
    chances
        Probability of each place, shape (draws, places): of a node of the machine by exposure; of several nodes of one
        job the shares of the job's own nodes, because the scheduler and not chance put them together.

    Returns
    -------
    CommonCauses

    Notes
    -----
    For a burst, ``P0 = prod (1 - c)`` is the chance that a place has none of its nodes, and ``P1 = P0 sum c / (1 - c)``
    that it has one, c being the chances of the nodes drawn. Expected are ``sum 1 - P0 - P1`` bursts, and
    ``E = sum (sum c - P1)`` nodes that come with others of their place. With A such nodes seen, the p-value is the tail
    of a Poisson count with mean ``E / phi`` from ``A / phi`` on; phi is their variance by chance over E, at least 1.

    By chance the share ``e = E / sum sum c`` of the nodes of bursts comes with others of its place. Of N nodes seen in
    bursts, ``(A - e N) / (1 - e)`` therefore have a cause in common (Abbott's correction); the share is that number
    over K, all failures. Its limits are those of A against ``K - A`` by `rate_ratio`; the variance of A is
    ``sum n^2`` over its bursts.

    Assumptions: nodes are drawn with replacement, which makes chance a little larger than it is.

    References
    ----------
    K. Fleming, "A reliability model for common mode failures in redundant safety systems", General Atomic GA-A13284
    (1974): the share is the beta factor, of places.

    Examples
    --------
    Ten switches. Three bursts took four nodes of the first switch, and one took a node of each of two others.

    >>> burst = np.repeat([0, 1, 2, 3], [4, 4, 4, 2])
    >>> found = common_causes(burst, [0] * 12 + [5, 6], np.zeros(14, int), np.full((1, 10), 0.1))
    >>> found.burst_count[[0, -1]].tolist(), found.expected_count[[0, -1]].round(2).tolist()
    ([3, 3], [0.17, 1.34])
    >>> bool(found.q_value[0] < 0.01), found.share[[0, 5]].round(2).tolist()
    (True, [1.0, 0.0])
    >>> found.low[[0, 5, -1]].round(2).tolist(), found.high[[0, 5, -1]].round(2).tolist()
    ([0.37, 0.0, 0.5], [1.0, 0.62, 0.94])
    """
    of_burst, of_place = np.asarray(burst, dtype=np.intp), np.asarray(place, dtype=np.intp)
    chance = np.minimum(np.asarray(chances, dtype=float), 1 - 1e-12)
    bursts, places = int(of_burst.max(initial=-1)) + 1, chance.shape[1]
    seen = np.bincount(of_burst * places + of_place, minlength=bursts * places).reshape(bursts, places)
    drawn = np.bincount(
        of_burst * len(chance) + np.asarray(draw, dtype=np.intp), minlength=bursts * len(chance)
    ).reshape(bursts, len(chance))
    none = np.exp(drawn @ np.log1p(-chance))
    one = none * (drawn @ (chance / (1 - chance)))
    several = np.where(seen > 1, seen, 0)
    mean = drawn @ chance
    with_others = np.maximum(mean - one, 0.0)
    scatter = drawn @ (chance * (1 - chance)) + mean**2 - one - with_others**2
    expected = np.maximum(1 - none - one, 0.0)
    count = _with_all((seen > 1).sum(axis=0), (seen > 1).any(axis=1).sum())
    expected_count = _with_all(expected.sum(axis=0), (1 - np.prod(1 - expected, axis=1)).sum())
    expected_nodes, chance_variance = _with_all(with_others.sum(axis=0)), _with_all(scatter.sum(axis=0))
    total, taken = _with_all(seen.sum(axis=0)), _with_all(several.sum(axis=0))
    alone, variance = total - taken, _with_all((several.astype(float) ** 2).sum(axis=0))
    odds = rate_ratio(
        taken, 1.0, alone, 1.0, CONFIDENCE_LEVEL, dispersion=common_dispersion(taken, variance, alone, alone)
    )
    is_shared = drawn.sum(axis=1) > 1
    with np.errstate(divide="ignore", invalid="ignore"):
        by_chance = np.nan_to_num(expected_nodes / _with_all(mean[is_shared].sum(axis=0)))
        others = _with_all(seen[is_shared].sum(axis=0))

        def share_of(nodes: Floats) -> Floats:
            caused = (nodes - by_chance * (others - taken + nodes)) / (1 - by_chance)
            return np.asarray(np.clip(caused / total, 0.0, 1.0))

        low, high = total / (1 + 1 / odds.low), total / (1 + 1 / odds.high)
        share, low, high = share_of(taken), share_of(low), share_of(high)
        phi = np.maximum(np.where(expected_nodes > 0, chance_variance / expected_nodes, 1.0), 1.0)
    shape = np.maximum(taken, 1.0) / phi
    p_value = np.where(taken > 0, special.gammainc(shape, expected_nodes / phi), 1.0)
    q_value = np.append(false_discovery(p_value[:-1]), p_value[-1])
    return CommonCauses(count.astype(np.int64), expected_count, p_value, q_value, share, low, high, CONFIDENCE_LEVEL)


def mttf_of_job(
    nodes_taken: ArrayLike, probability: ArrayLike, job_nodes: float, machine_nodes: float, node_days: float
) -> MttfInterval:
    """Return the mean time to failure of a job that a burst ends once, whatever the number of its nodes it takes.

    Parameters
    ----------
    nodes_taken, probability
        Nodes of one place that each burst took, 1 or more, and the probability that it is one, shape (bursts,).
    job_nodes, machine_nodes
        Nodes of the job, n, and of the machine, N; n <= N.
    node_days
        Days that nodes of the machine were in use.

    Notes
    -----
    A job on n of N nodes, chosen at random, is hit by a burst of m nodes with ``c = 1 - (1 - n/N)^m``. It is ended
    ``K = sum w c`` times in ``T = node_days / N`` days, with the variance ``V = sum w (2 - w) c^2``: the limits are
    Garwood's at shape ``K^2 / V``. With each node a burst of its own, which is independence, the same gives
    1 / (n x rate of nodes).

    Examples
    --------
    Sixteen nodes failed in 1,000 node-days; a job on half of 100 nodes. They failed one by one, or by fours.

    >>> for taken in (np.ones(16), np.full(4, 4)):
    ...     found = mttf_of_job(taken, np.ones(len(taken)), 50, 100, 1000.0)
    ...     print(f"{found.hours:.1f} [{found.low:.1f}, {found.high:.1f}]")
    30.0 [19.8, 47.8]
    64.0 [28.0, 187.4]
    """
    taken, w = np.asarray(nodes_taken, dtype=float), np.asarray(probability, dtype=float)
    hit = 1.0 - (1.0 - job_nodes / machine_nodes) ** taken
    count, variance = float((w * hit).sum()), float((w * (2 - w) * hit**2).sum())
    unit = variance / count if count else 1.0
    rate = weighted_interval(count / unit, count / unit, node_days / machine_nodes / unit)
    with np.errstate(divide="ignore"):
        hours, low, high = (HOURS_PER_DAY / bound for bound in (rate.value, rate.high, rate.low))
    return MttfInterval(hours, low, high, rate.confidence_level, rate.method)


def _with_all(values: ArrayLike, all_together: ArrayLike | None = None) -> Floats:
    """Append the value of all places together to those of the places, by default their sum."""
    array = np.asarray(values, dtype=float)
    return np.append(array, array.sum() if all_together is None else all_together)
