"""Mean time to failure: measured from runtime and failures, or computed for any size from a rate per node-day.

A job of N nodes fails at N times the rate of one node, so its MTTF is 24 / (N x failures per node-day) hours. Limits
swap on the way: the upper limit of a rate is the lower limit of an MTTF.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assets.model.failure_rate import RateInterval, garwood_interval
from assets.model.incident_counts import weighted_interval

HOURS_PER_DAY = 24.0


@dataclass(frozen=True)
class MttfInterval:
    """Mean times to failure in hours, with limits; all arrays have one shape.

    Attributes
    ----------
    hours
        The estimate; `nan` if no failure was seen, or nothing was exposed.
    low, high
        Limits in hours; without failures `low` is still known and `high` is `inf`.
    confidence_level, method
        As in `RateInterval`.
    """

    hours: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    confidence_level: float
    method: NDArray[np.str_]


def nodes_of(
    gpu_count: ArrayLike,
    gpus_per_node: ArrayLike,
    fleet_gpu_count: ArrayLike = np.nan,
    fleet_node_count: ArrayLike = np.nan,
) -> NDArray[np.float64]:
    """Return the number of nodes for the GPUs of a job, rounded up to whole nodes.

    Parameters
    ----------
    gpu_count
        GPUs of the job.
    gpus_per_node
        GPUs in one node, or in most of a fleet; `nan` gives `nan`.
    fleet_gpu_count, fleet_node_count
        GPUs of the fleet and its nodes that have any; `nan` or 0: unknown.

    Raises
    ------
    ValueError
        `gpus_per_node` of 0 or less.

    Notes
    -----
    Slurm charges a job of one GPU with one node, and node-days are counted in the same way; with a fraction of a node
    such a job would seem to live eight times as long as its node. Nodes of a fleet may differ: a job on all its GPUs
    has all its nodes, a smaller one no more than these, and a larger one no fewer.

    Examples
    --------
    >>> nodes_of([1, 8, 1024, 1028], 8).tolist()
    [1.0, 1.0, 128.0, 129.0]

    Sixty nodes of 8 GPUs and forty of 4:

    >>> nodes_of([64, 640, 1280], 8, 640, 100).tolist()
    [8.0, 100.0, 160.0]
    """
    per_node = np.asarray(gpus_per_node, dtype=float)
    if np.any(per_node <= 0):
        raise ValueError(f"a node of this calculation has GPUs; gpus_per_node is {gpus_per_node!r}")
    gpus, fleet_gpus = np.asarray(gpu_count, dtype=float), np.asarray(fleet_gpu_count, dtype=float)
    nodes, fleet_nodes = np.ceil(gpus / per_node), np.asarray(fleet_node_count, dtype=float)
    bounded = np.where(gpus < fleet_gpus, np.minimum(nodes, fleet_nodes), np.maximum(nodes, fleet_nodes))
    bounded = np.where((gpus == fleet_gpus) & ~np.isnan(nodes), fleet_nodes, bounded)
    # If no fleet is known, the comparisons above are of NaN or 0.
    return np.where((fleet_gpus > 0) & (fleet_nodes > 0), bounded, nodes)


def mttf_from_runtime(
    failure_count: ArrayLike,
    runtime_hours: ArrayLike,
    failure_variance: ArrayLike | None = None,
) -> MttfInterval:
    """Measure the MTTF of jobs of one size: hours run per failure.

    Parameters
    ----------
    failure_count
        Attempts that infrastructure ended, any shape.
    runtime_hours
        Wall-clock hours that all attempts of the size ran, however they ended.
    failure_variance
        Variance of the count as for `weighted_interval`, if failures come in incidents or are uncertain; counts need
        not be whole then. None: that of a Poisson count.

    Returns
    -------
    MttfInterval
        In hours.

    Raises
    ------
    ValueError
        As in `garwood_interval`, or in `weighted_interval` with a variance.

    Notes
    -----
    ``MTTF = hours / failures``; limits are the reciprocals of those of the rate. An attempt that ended otherwise is
    censored: it adds hours and no failure.

    Assumptions: the hazard is constant within an attempt, and all sizes of a bin are alike. If jobs mostly fail in
    their first minutes, the mean says little about how long a job lasts after them.

    Examples
    --------
    >>> mttf = mttf_from_runtime([4, 0], [1000.0, 1000.0])
    >>> mttf.hours.tolist(), mttf.low.round(1).tolist(), mttf.high.round(1).tolist()
    ([250.0, nan], [109.2, 333.8], [731.9, inf])
    """
    if failure_variance is None:
        return _reciprocal(garwood_interval(failure_count, runtime_hours), 1.0)
    return _reciprocal(weighted_interval(failure_count, failure_variance, runtime_hours), 1.0)


def mttf_at_scale(rate: RateInterval, node_count: ArrayLike) -> MttfInterval:
    """Project a rate per node-day, with its limits, onto jobs of any number of nodes.

    Parameters
    ----------
    rate
        Failures per **node-day** (not per 1,000), as `garwood_interval` gives them from node-days.
    node_count
        Nodes N of the job, broadcast against `rate`.

    Returns
    -------
    MttfInterval
        In hours; the limits follow from those of the rate.

    Raises
    ------
    ValueError
        Node counts of 0 or less.

    Notes
    -----
    ``MTTF(N) = 24 / (N r)``.

    Assumptions: the rate per node is the same at every scale. Beyond the largest job seen this is an extrapolation, and
    the limits account for the uncertainty of the count only.

    References
    ----------
    Kokolis et al., HPCA 2025, section on MTTF and its projection.

    Examples
    --------
    >>> rsc1 = garwood_interval(65, 10_000.0)  # 6.5 per 1,000 node-days
    >>> mttf_at_scale(rsc1, nodes_of([16_384, 131_072], 8)).hours.round(4).tolist()
    [1.8029, 0.2254]
    """
    nodes = np.asarray(node_count, dtype=float)
    if np.any(nodes <= 0):
        raise ValueError(f"a job has at least one node, not {node_count!r}")
    return _reciprocal(rate, nodes / HOURS_PER_DAY)


def _reciprocal(rate: RateInterval, factor: ArrayLike) -> MttfInterval:
    """Invert `factor` x rate; a rate of zero has no mean time, and no upper limit."""
    value, low, high, method, scale = np.broadcast_arrays(rate.value, rate.low, rate.high, rate.method, factor)
    with np.errstate(divide="ignore"):
        hours = np.where(value > 0, 1.0 / (value * scale), np.nan)
        return MttfInterval(hours, 1.0 / (high * scale), 1.0 / (low * scale), rate.confidence_level, method)
