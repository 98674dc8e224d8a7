"""The verdict on each node: lemon, watch, ok, or not enough data; and whether the nodes of a fleet can be ranked.

The verdicts are decisions about the result of `culprits`; nothing is estimated here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from assets.model.lemons.culprits import Blame
    from assets.model.lemons.gate import LemonGate

LEMON, WATCH, OK, NOT_ENOUGH_DATA = "lemon", "watch", "ok", "not enough data"

LIST_LIMIT = 0.1
"""Largest expected share of wrong names in the list; `tests/model` measures it on planted lemons."""
MIN_PROBABILITY = 0.7
"""Smallest probability of a lemon, even if the rest of the list is good. At ten times the fleet's rate, in 90 days, 9%
of the names were wrong with it and 64% of the lemons named, against 11% and 65% at 0.5."""
MIN_EVENTS = 2.0
"""Fewer failures make no lemon."""
MIN_FLEET_EVENTS = 10.0
"""With fewer failures in the whole fleet, a lemon cannot be separated from bad luck."""
MAX_P_VALUE = 0.05
"""A fleet is searched for lemons only if one group of nodes explains its failures badly."""
TELLING_FACTOR, TELLING_EVENTS = 10.0, 3.0
"""A node can be ok if failing 10 times as often as normal nodes would have shown in this many failures by now."""
BURST_DAYS, SILENT_DAYS = 14.0, 30.0
"""Failures within two weeks, with none in the month after, are a burst that is over."""
MAX_OK_PROBABILITY = 0.1
"""A node is not ok if its probability of being a lemon is 0.1 or more."""


@dataclass(frozen=True)
class Verdicts:
    """Verdict and rank of each node.

    Attributes
    ----------
    verdict
        `lemon`, `watch`, `ok` or `not enough data` for each node.
    rank
        1 for the node most likely a lemon; 0 for every node if the data cannot rank them.
    refusal
        Why the nodes are not ranked; None if they are.
    telling_count
        Failures that a node failing 10 times as often would have had, for each node; `nan` if the fleet's rate is
        unknown.
    """

    verdict: NDArray[np.str_]
    rank: NDArray[np.int64]
    refusal: str | None
    telling_count: NDArray[np.float64]


def is_past_burst(days_since_first_failure: ArrayLike, days_since_last_failure: ArrayLike) -> NDArray[np.bool_]:
    """Return whether all failures of each node are of one burst that ended long ago.

    Parameters
    ----------
    days_since_first_failure, days_since_last_failure
        Within the days of the search; `nan` without a failure.

    Examples
    --------
    >>> is_past_burst([45.0, 80.0, 12.0, np.nan], [35.0, 35.0, 2.0, np.nan]).tolist()
    [True, False, False, False]
    """
    first, last = np.asarray(days_since_first_failure, dtype=float), np.asarray(days_since_last_failure, dtype=float)
    found: NDArray[np.bool_] = (last > SILENT_DAYS) & (first - last <= BURST_DAYS)
    return found


def decide(
    blame: Blame,
    exposure: ArrayLike,
    is_candidate: ArrayLike,
    is_over: ArrayLike = False,
    gate: LemonGate | None = None,
) -> Verdicts:
    """Name the lemons, and judge whether each other node is known to be none.

    Parameters
    ----------
    blame
        Failures attributed to the nodes, with the fleet fitted to them.
    exposure
        Node-days in use of each node.
    is_candidate
        Whether signals of different kinds agree on the node; it is then watched at any rate.
    is_over
        Whether all failures of the node are of a burst in the past; it is then watched, and not called a lemon.
    gate
        The comparison with fleets without lemons. Without it the p-value of `blame` decides, which is quicker to
        compute and can be too large.

    Returns
    -------
    Verdicts

    Notes
    -----
    A lemon is in the longest list with an expected share of wrong names of at most 0.1, with a probability of at least
    0.7 and 2 failures or more, not all of them within two weeks that ended a month ago. Watched are candidates by
    their signals, and nodes with a probability of at least 0.1 that are not on the list. Every other node is ok if
    failing 10 times as often as normal nodes would have shown in 3 failures by now; otherwise nothing is known. If the
    fleet is not ranked, nothing is known of a node with a probability of 0.1 either.

    Limitations: "ok" excludes a lemon of ten times the fleet's rate. A lemon of three times that rate may be "ok".

    Examples
    --------
    >>> from assets.model.lemons.culprits import infer_culprits
    >>> quiet = infer_culprits([0, 1, 2], [0, 1, 2], [70.0] * 40, np.random.default_rng(1))
    >>> decide(quiet, [70.0] * 40, [False] * 40).refusal
    'only 3 failures of nodes: fewer than 10 cannot tell a lemon from bad luck'
    """
    time, candidate = np.asarray(exposure, dtype=float), np.asarray(is_candidate, dtype=bool)
    refusal = _refusal(blame, time, gate)
    if blame.fleet is None or blame.nodes is None or blame.event_count.sum() < MIN_FLEET_EVENTS:
        verdict = np.where(candidate, WATCH, NOT_ENOUGH_DATA)
        return Verdicts(verdict, np.zeros(len(time), dtype=np.int64), refusal, np.full(len(time), np.nan))
    nodes, telling = blame.nodes, TELLING_FACTOR * blame.fleet.normal.rate * time
    is_doubtful = nodes.posterior_probability > MAX_OK_PROBABILITY
    verdict = np.where((telling >= TELLING_EVENTS) & ~is_doubtful, OK, NOT_ENOUGH_DATA)
    if refusal is not None:
        verdict = np.where(candidate, WATCH, verdict)
        return Verdicts(verdict, np.zeros(len(time), dtype=np.int64), refusal, telling)
    is_sure = (nodes.posterior_probability >= MIN_PROBABILITY) & (blame.event_count >= MIN_EVENTS)
    verdict = np.where(is_doubtful | candidate, WATCH, verdict)
    is_listed = is_sure & (nodes.false_discovery_ratio <= LIST_LIMIT)
    verdict = np.where(is_listed & ~np.asarray(is_over, dtype=bool), LEMON, verdict)
    order = np.lexsort((-nodes.value, nodes.local_fdr))
    rank = np.empty(len(time), dtype=np.int64)
    rank[order] = np.arange(1, len(time) + 1)
    return Verdicts(verdict, rank, None, telling)


def _refusal(blame: Blame, time: NDArray[np.float64], gate: LemonGate | None) -> str | None:
    total = blame.event_count.sum()
    if not (time > 0).sum() > 1:
        return "fewer than two nodes were in use"
    if total < MIN_FLEET_EVENTS:
        # Rounded down, so that a little less than ten does not read as ten.
        shown = f"{math.floor(100 * total + 1e-6) / 100:.4g}"
        return f"only {shown} failures of nodes: fewer than {MIN_FLEET_EVENTS:.0f} cannot tell a lemon from bad luck"
    if blame.fleet is None:
        return "the failures are of nodes that were not in use"
    p_value = gate.p_value if gate else blame.p_value
    if not p_value > MAX_P_VALUE:
        return None
    refusal = f"cannot tell lemons from bad luck (p = {p_value:.2g})"
    if gate and math.isfinite(gate.smallest_count):
        refusal += (
            f": {gate.smallest_count:.0f} failures of one node would have shown one, the usual number is "
            f"{gate.usual_count:.2g}"
        )
    return refusal
