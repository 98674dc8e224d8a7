"""What a node costs and what taking it out saves, in GPU-hours a month of 30 days."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from assets.model.gamma_poisson import Floats

DAYS_PER_MONTH = 30.0


@dataclass(frozen=True)
class Use:
    """The use of the nodes of a cluster over some days.

    Attributes
    ----------
    days
        Number of days, above 0.
    node_days
        Node-days in use of each node.
    incident_loss
        GPU-hours that one incident on the node costs on average.
    attempts_gpu_hours
        GPU-hours of all attempts that ran on the node, on their other nodes as well: an upper bound of the loss.
    used_gpu_hours
        GPU-hours of the node's own GPUs.
    lost_gpu_hours
        GPU-hours that the whole cluster lost: all nodes together save no more. `nan`: unknown.
    """

    days: float
    node_days: Floats
    incident_loss: Floats
    attempts_gpu_hours: Floats
    used_gpu_hours: Floats
    lost_gpu_hours: float = np.nan


@dataclass(frozen=True)
class NodeSavings:
    """GPU-hours a month for each node; `nan` where unknown.

    Attributes
    ----------
    value, low, high
        Loss that a normal node in its place would avoid, with the limits of the node's rate.
    given_up
        GPU-hours for which the node's own GPUs are used.
    """

    value: Floats
    low: Floats
    high: Floats
    given_up: Floats

    def break_even_days(self, saved: Floats) -> Floats:
        """Return the longest repair that pays: days of the node's use that equal the savings of a month."""
        used = np.where(self.given_up > 0, self.given_up, np.nan)
        days: Floats = saved / used * DAYS_PER_MONTH
        return days


def node_savings(rates: tuple[Floats, Floats, Floats], normal_rate: float, use: Use) -> NodeSavings:
    """Return for each node the loss that a normal node with the same use would avoid.

    Parameters
    ----------
    rates
        Failures per node-day of each node: value, lower and upper limit.
    normal_rate
        Failures per node-day of the fleet's normal nodes.
    use
        Of the nodes, over some days.

    Returns
    -------
    NodeSavings

    Raises
    ------
    ValueError
        Days of 0 or less.

    Notes
    -----
    ``saved = max(0, rate - normal rate) x node-days in use of 30 days x loss of one incident``, at most the GPU-hours
    of the attempts. If values sum to more than the cluster lost, all are reduced alike, and lower limits with them.

    Limitations: the limits include the uncertainty of the node's rate, not that of the loss or the normal rate. The
    month to come is assumed to use the node as these days did.

    Examples
    --------
    A node that fails ten times as often, used for 60 of 90 days by jobs that lose 4 GPU-hours in an incident:

    >>> one = lambda value: np.array([value])
    >>> use = Use(90.0, one(60.0), one(4.0), one(90_000.0), one(9_000.0))
    >>> saved = node_savings((one(0.1), one(0.05), one(0.2)), 0.01, use)
    >>> saved.value.round(2).tolist(), saved.low.round(2).tolist(), saved.high.round(2).tolist()
    ([7.2], [3.2], [15.2])
    >>> saved.break_even_days(saved.value).round(3).tolist()
    [0.072]
    """
    if use.days <= 0:
        raise ValueError(f"use is counted over more than 0 days, not {use.days!r}")
    months = use.days / DAYS_PER_MONTH
    lost_per_rate = use.node_days * use.incident_loss
    value, low, high = (
        np.minimum(np.maximum(rate - normal_rate, 0.0) * lost_per_rate, use.attempts_gpu_hours) / months
        for rate in rates
    )
    together, lost = np.nansum(value), use.lost_gpu_hours / months
    reduced = lost / together if together > lost else 1.0
    return NodeSavings(value * reduced, low * reduced, high, use.used_gpu_hours / months)
