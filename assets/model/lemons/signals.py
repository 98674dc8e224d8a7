"""The paper's seven signs of a lemon, each compared with the fleet: which stand out, and where two kinds agree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

KINDS = {
    "excl_jobid_count": "users",
    "xid_cnt": "kernel",
    "tickets": "operations",
    "out_count": "operations",
    "multi_node_node_fails": "failures",
    "single_node_node_fails": "failures",
    "single_node_node_failure_rate": "failures",
}
"""The signals by the paper's names, and the source of each; two of one kind count as one."""
SIGNALS = tuple(KINDS)
FLEET_QUANTILE = 0.99
"""Quantile of the fleet above which a signal stands out."""
MIN_COUNT = 2.0
"""A single event can happen to any node, and may be above the 99th percentile of a good fleet."""


@dataclass(frozen=True)
class StandingOut:
    """The nodes that stand out, by signal.

    Attributes
    ----------
    limit
        Value to exceed (or to reach, if it was configured), per signal; `nan` if no node's value is known.
    is_above
        Nodes by signals.
    is_candidate
        Nodes that stand out in signals of two kinds or more.
    """

    limit: NDArray[np.float64]
    is_above: NDArray[np.bool_]
    is_candidate: NDArray[np.bool_]


def stand_out(values: ArrayLike, configured: Mapping[str, float] | None = None) -> StandingOut:
    """Find the nodes with signals that stand out of the fleet's.

    Parameters
    ----------
    values
        Nodes by signals in the order of `SIGNALS`; `nan` is unknown and never stands out.
    configured
        Limits by signal name, to be reached; the others are the fleet's 99th percentile, to be exceeded by a value of
        2 or more. A failure rate counts only with 2 failures or more, as 1 failure of 1 job is a rate of 1.

    Returns
    -------
    StandingOut

    Raises
    ------
    ValueError
        Values of another width, an unknown signal.

    Notes
    -----
    A signal stands out above the fleet's percentile `FLEET_QUANTILE` with at least `MIN_COUNT`, or from its configured
    limit on. A node is a candidate if signals of two kinds agree.

    Assumption: most nodes of the fleet are good.

    References
    ----------
    Kokolis et al., HPCA 2025, section IV: the signals, with thresholds from their distribution over 28 days.

    Examples
    --------
    A node with 3 tickets and 4 failed large jobs, among 100 without any:

    >>> values = np.zeros((101, 7))
    >>> values[0, [2, 4]] = 3, 4
    >>> stand_out(values).is_candidate.nonzero()[0].tolist()
    [0]
    """
    table = np.asarray(values, dtype=float)
    given = dict(configured or {})
    if table.ndim != 2 or table.shape[1] != len(SIGNALS):
        raise ValueError(f"values have one column for each of {', '.join(SIGNALS)}, not the shape {table.shape}")
    if unknown := sorted(set(given) - set(SIGNALS)):
        raise ValueError(f"no such signal: {', '.join(unknown)}; there are {', '.join(SIGNALS)}")
    limit = np.full(len(SIGNALS), np.nan)
    is_above = np.zeros(table.shape, dtype=bool)
    fails = table[:, SIGNALS.index("single_node_node_fails")]
    for number, signal in enumerate(SIGNALS):
        column = table[:, number]
        if np.isnan(column).all():
            continue
        if signal in given:
            limit[number] = given[signal]
            is_above[:, number] = column >= given[signal]
            continue
        limit[number] = np.nanquantile(column, FLEET_QUANTILE)
        count = fails if signal == "single_node_node_failure_rate" else column
        is_above[:, number] = (column > limit[number]) & (count >= MIN_COUNT)
    kinds = sorted(set(KINDS.values()))
    by_kind = [is_above[:, [KINDS[signal] == kind for signal in SIGNALS]].any(axis=1) for kind in kinds]
    return StandingOut(limit, is_above, np.sum(by_kind, axis=0) >= 2)
