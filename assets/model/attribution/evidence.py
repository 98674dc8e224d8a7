"""The input of attribution: failed attempts with the events near their ends, and the control of completed attempts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LAG_EDGES = (-300.0, -120.0, -30.0, 0.0, 30.0, 120.0)
"""Borders of the classes of lag: seconds from the end of the attempt to the event. A lag of 0 is before the end."""
LAG_CLASSES = len(LAG_EDGES) + 1

FAMILIES = ("check", "failures_only", "point_check", "kernel", "reason")
"""Source of an event: a check that also logs good results, a check that logs only failures, a check that runs with the
job, the kernel's log, a reason given for a node."""
PERSISTENCE = ("cleared", "missing", "lasting")
"""Later state of a symptom: good again within 20 minutes; unknown; still failing 2.5 to 17 minutes later."""


@dataclass(frozen=True)
class Episodes:
    """Episodes: events on one node within minutes of each other, near the end of one attempt. A value per episode.

    Attributes
    ----------
    attempt
        Number of the attempt, from 0; an attempt may have several episodes.
    check
        Number of the check, or kind of message, of that event, from 0.
    family, persistence
        Places in `FAMILIES` and `PERSISTENCE`.
    lag_seconds
        From the end of the attempt to the event.
    has_companion, is_drained
        Whether another check or message named the node within 5 minutes; whether the node was taken out of service
        within 15 minutes.
    node
        Number of the node.
    observed_at
        When the episode was first seen; seconds since any moment.
    is_explained
        Whether an earlier failure that Slurm itself attributes to the node explains the episode.
    """

    attempt: NDArray[np.int64]
    check: NDArray[np.int64]
    family: NDArray[np.int64]
    persistence: NDArray[np.int64]
    lag_seconds: NDArray[np.float64]
    has_companion: NDArray[np.bool_]
    is_drained: NDArray[np.bool_]
    node: NDArray[np.int64]
    observed_at: NDArray[np.float64]
    is_explained: NDArray[np.bool_]


@dataclass(frozen=True)
class Suspects:
    """Suspects: attempts with episodes that infrastructure may have failed. A value per attempt.

    Attributes
    ----------
    stratum
        Number of the stratum of state, size and runtime, from 0.
    node_count
        Allocated nodes.
    runtime_seconds
        Runtime, which cuts the window before the end.
    started_at, ended_at
        Seconds since the same moment as `Episodes.observed_at`.
    """

    stratum: NDArray[np.int64]
    node_count: NDArray[np.float64]
    runtime_seconds: NDArray[np.float64]
    started_at: NDArray[np.float64]
    ended_at: NDArray[np.float64]


@dataclass(frozen=True)
class Strata:
    """Classes of failed attempts that infrastructure failed about equally often, with one value per stratum.

    Attributes
    ----------
    attempt_count
        Failed attempts, with events or without.
    node_seconds
        Node-seconds that all attempts of this size ran at this age: the exposure to failures.
    state
        Number of the state, from 0. Strata of one state share their information.
    """

    attempt_count: NDArray[np.float64]
    node_seconds: NDArray[np.float64]
    state: NDArray[np.int64]


@dataclass(frozen=True)
class Controls:
    """The control: windows of attempts that COMPLETED, and the events outside of failed attempts.

    Attributes
    ----------
    node_seconds
        Shape (nodes,): seconds that a node spent in windows of completed attempts.
    node_class
        Shape (nodes,): number of the node's class, from 0.
    lag_seconds
        Shape (LAG_CLASSES,): node-seconds of all these windows by class of lag.
    rest_node, rest_check, rest_count
        Arrays of one length, a value per node and check: events of the check on the node, away from failed attempts.
    """

    node_seconds: NDArray[np.float64]
    node_class: NDArray[np.int64]
    lag_seconds: NDArray[np.float64]
    rest_node: NDArray[np.int64]
    rest_check: NDArray[np.int64]
    rest_count: NDArray[np.float64]


def lag_class(lag_seconds: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the class of each lag in seconds, by `LAG_EDGES`. A border belongs to the class before it."""
    return np.searchsorted(LAG_EDGES, lag_seconds, side="left")


def seconds_by_lag_class(
    runtime_seconds: NDArray[np.float64], before_seconds: float, after_seconds: float
) -> NDArray[np.float64]:
    """Divide windows into the classes of lag.

    Parameters
    ----------
    runtime_seconds
        Shape (n,): the window does not reach back before the start of the attempt.
    before_seconds, after_seconds
        The window around the end.

    Returns
    -------
    ndarray
        Shape (n, LAG_CLASSES), seconds.

    Examples
    --------
    >>> seconds_by_lag_class(np.array([60.0]), 600, 300).tolist()
    [[0.0, 0.0, 30.0, 30.0, 30.0, 90.0, 180.0]]
    """
    low = -np.minimum(np.asarray(runtime_seconds, dtype=float), before_seconds)[:, None]
    edges = np.array([-np.inf, *LAG_EDGES, np.inf])
    return np.clip(np.minimum(edges[1:], after_seconds) - np.maximum(edges[:-1], low), 0.0, None)
