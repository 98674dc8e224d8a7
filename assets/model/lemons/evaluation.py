"""How good a list of lemons was: the nodes named from one window, judged by their failures in the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from assets.model.coincidence import Share, binomial_share
from assets.model.failure_rate import dispersed_interval

BAD_LUCK = 0.01
"""A node proves bad if its failures have at most this probability at the rate of normal nodes."""


@dataclass(frozen=True)
class Evaluation:
    """The result of a list in the window after it.

    Attributes
    ----------
    precision
        Share of the named nodes in use that proved bad.
    recall
        Share of the nodes that proved bad that had been named.
    lift, lift_low, lift_high
        Precision over the share of bad nodes among all, with the limits of the precision; `nan` without bad nodes.
    lost_gpu_hours_avoidable, lost_gpu_hours_avoidable_low, lost_gpu_hours_avoidable_high
        Loss of the named nodes beyond the loss of others in their place; 0 or more. The limits follow from those of
        the number of their failures; `nan` if they had none.
    named_count, bad_count, judged_count
        Nodes: named and in use, proved bad, in use.
    named_failure_count, named_node_days
        Failures and node-days in use of the named nodes.
    """

    precision: Share
    recall: Share
    lift: float
    lift_low: float
    lift_high: float
    lost_gpu_hours_avoidable: float
    lost_gpu_hours_avoidable_low: float
    lost_gpu_hours_avoidable_high: float
    named_count: int
    bad_count: int
    judged_count: int
    named_failure_count: float
    named_node_days: float


def evaluate_forward(
    is_named: ArrayLike, event_count: ArrayLike, exposure: ArrayLike, lost_gpu_hours: ArrayLike, *, normal_rate: float
) -> Evaluation:
    """Judge a list by the window after the one it was made on.

    Parameters
    ----------
    is_named
        Whether each node was on the list.
    event_count, exposure
        Failures with a known culprit, by their probability, and node-days in use of each node in the next window; a
        node that was not in use is not judged.
    lost_gpu_hours
        Work lost to these failures, in GPU-hours.
    normal_rate
        Failures per node-day of normal nodes, from the list's own window.

    Returns
    -------
    Evaluation

    Raises
    ------
    ValueError
        A rate that is not above 0.

    Notes
    -----
    A node proves bad when ``P(X >= k | normal rate x exposure) <= 0.01``. Avoidable is the sum over named nodes of
    ``lost - exposure x loss per node-day of the other nodes``, at least 0; its limits are Garwood's for the number of
    their failures, each with their mean loss.

    Limitations: a window of weeks is short. A lemon may have no failure in it, or may have been repaired; precision is
    then too low. One normal node in a hundred proves bad by chance; recall is then too low.

    Examples
    --------
    >>> named, lost = [True, True, False, False], [40, 0, 8, 0]
    >>> found = evaluate_forward(named, [4, 0, 3, 0], [25.0] * 4, lost, normal_rate=0.0065)
    >>> found.precision.value, found.recall.value, found.lift, found.lost_gpu_hours_avoidable
    (0.5, 0.5, 1.0, 32.0)
    """
    if not normal_rate > 0:
        raise ValueError(f"the rate of normal nodes is above 0, not {normal_rate!r}")
    named = np.asarray(is_named, dtype=bool)
    count, time, lost = (np.asarray(x, dtype=float) for x in (event_count, exposure, lost_gpu_hours))
    judged = time > 0
    # P(X >= k) of a Poisson count is the regularised incomplete gamma function.
    tail = np.where(count > 0, special.gammainc(np.where(count > 0, count, 1.0), normal_rate * time), 1.0)
    bad, named = judged & (tail <= BAD_LUCK), named & judged
    hits = int((bad & named).sum())
    precision = binomial_share(hits, int(named.sum()))
    recall = binomial_share(hits, int(bad.sum()))
    base = bad.sum() / judged.sum() if bad.any() else np.nan
    others = judged & ~named
    usual = lost[others].sum() / time[others].sum() if others.any() else 0.0
    failures, days = float(count[named].sum()), float(time[named].sum())
    limits = dispersed_interval(failures, 1.0, 1.0)
    factors = (
        np.array([1.0, limits.low / failures, limits.high / failures]) if failures else np.array([1.0, np.nan, np.nan])
    )
    avoidable, low, high = np.maximum(0.0, factors * lost[named].sum() - usual * days).tolist()
    return Evaluation(
        precision=precision,
        recall=recall,
        lift=float(precision.value / base),
        lift_low=float(precision.low / base),
        lift_high=float(precision.high / base),
        lost_gpu_hours_avoidable=avoidable,
        lost_gpu_hours_avoidable_low=low,
        lost_gpu_hours_avoidable_high=high,
        named_count=int(named.sum()),
        bad_count=int(bad.sum()),
        judged_count=int(judged.sum()),
        named_failure_count=failures,
        named_node_days=days,
    )
