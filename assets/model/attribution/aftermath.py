"""Find events on a node after a failure that the same fault may explain, so that they need not be separate faults."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assets.model.attribution.evidence import Episodes, Suspects

_AFTERMATH_SECONDS = 900.0
"""Time after a failure in which its fault may still show, in seconds."""
_TOGETHER_SECONDS = 60.0
"""Longest time in seconds between the ends of attempts on a node that one fault ends."""


def _pairs(episodes: Episodes, other: Episodes) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of episodes on one node that are at most the aftermath of a fault apart."""
    order = np.lexsort((other.observed_at, other.node))
    span = max(np.ptp(np.concatenate([episodes.observed_at, other.observed_at, [0.0]])), 1.0) + 10 * _AFTERMATH_SECONDS
    start = min(episodes.observed_at.min(initial=np.inf), other.observed_at.min(initial=np.inf), 1e300)
    keys = other.node[order] * span + (other.observed_at[order] - start)
    wanted = episodes.node * span + (episodes.observed_at - start)
    first = np.searchsorted(keys, wanted - _AFTERMATH_SECONDS, side="left")
    last = np.searchsorted(keys, wanted + _AFTERMATH_SECONDS, side="right")
    counts = last - first
    rows = np.repeat(np.arange(len(wanted)), counts)
    places = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
    return rows, order[places]


def near(episodes: Episodes, control_episodes: Episodes) -> sparse.csr_matrix:
    """Return a matrix (episodes, controls) with a one where both may show the same fault."""
    rows, places = _pairs(episodes, control_episodes)
    shape = (len(episodes.node), len(control_episodes.node))
    return sparse.csr_matrix((np.ones(len(rows)), (rows, places)), shape=shape)


def after_failure(suspects: Suspects, episodes: Episodes) -> sparse.csr_matrix:
    """Return a matrix (episodes, episodes) with a one where the failure of the first's attempt explains the second.

    Examples
    --------
    The second job starts on the node when the first ends. Only the first job's failure may explain the other's event.

    >>> node, at = np.zeros(2, int), np.array([0.0, 120.0])
    >>> jobs = Suspects(node, node + 1.0, node + 120.0, started_at=at - 120, ended_at=at)
    >>> seen = Episodes(np.arange(2), node, node, node, np.array([30.0, -20.0]), node > 0, node > 0, node, at, node > 0)
    >>> after_failure(jobs, seen).toarray().tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    rows, places = _pairs(episodes, episodes)
    attempt, other = episodes.attempt[rows], episodes.attempt[places]
    # Without this, a job of at most a second would be later than itself, and two such jobs later than each other.
    is_later = (suspects.ended_at[attempt] <= suspects.started_at[other] + 1.0) & (
        suspects.ended_at[attempt] < suspects.ended_at[other]
    )
    # A fault ends all jobs that share a node at once. Jobs that ended a minute apart did not fail together.
    is_beside = (
        (suspects.started_at[attempt] < suspects.ended_at[other])
        & (suspects.started_at[other] < suspects.ended_at[attempt])
        & (np.abs(suspects.ended_at[attempt] - suspects.ended_at[other]) > _TOGETHER_SECONDS)
        & (np.abs(episodes.lag_seconds[rows]) < np.abs(episodes.lag_seconds[places]))
    )
    rows, places = rows[is_later | is_beside], places[is_later | is_beside]
    return sparse.csr_matrix((np.ones(len(rows)), (rows, places)), shape=(len(episodes.node), len(episodes.node)))
