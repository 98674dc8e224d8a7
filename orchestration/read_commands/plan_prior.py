"""The part of `faultline plan` that adds a prior from other fleets, for clusters with few failures."""

from __future__ import annotations

from typing import Any

import numpy as np

from assets.model.failure_rate import RateInterval
from assets.model.fleet_prior import PRIOR_NODE_DAYS, PRIOR_SHAPE, PUBLISHED_FLEETS, has_few_failures, with_prior
from assets.model.mttf import mttf_at_scale
from assets.model.run_plan import plan_checkpoints

UNKNOWN = dict.fromkeys(
    (
        "prior_failures_per_1000_node_days",
        "prior_node_days",
        "prior_source",
        "failures_per_1000_node_days_with_prior",
        "failures_per_1000_node_days_with_prior_low",
        "failures_per_1000_node_days_with_prior_high",
        "mttf_hours_with_prior",
        "mttf_hours_with_prior_low",
        "mttf_hours_with_prior_high",
        "expected_interruptions_with_prior",
        "expected_interruptions_with_prior_low",
        "expected_interruptions_with_prior_high",
        "probability_uninterrupted_with_prior",
        "checkpoint_minutes_optimal_with_prior",
        "ettr_optimal_with_prior",
        "ettr_optimal_with_prior_low",
        "ettr_optimal_with_prior_high",
    )
)


def answers_with_prior(
    rate: RateInterval, nodes: float, node_days: float, costs: dict[str, float], relative_variance: float = 0.0
) -> dict[str, Any]:
    """Answer from prior and data together; all values are None if the cluster has enough failures or no rate.

    Parameters
    ----------
    rate
        The cluster's own rate per node-day, one element.
    nodes, node_days
        Those of the planned run.
    costs
        `restart_minutes`, `write_minutes` and `queue_minutes` of the run.
    relative_variance
        Variance of the rate on the run's days around the mean rate, relative to its square.
    """
    if not has_few_failures(rate):
        return dict(UNKNOWN)
    prior = with_prior(rate)
    mttf, future = mttf_at_scale(prior.as_rate(), nodes), prior.predict(node_days, relative_variance)
    plan = plan_checkpoints(prior.as_rate(), nodes, **costs)
    # The chance of no failure is that of the negative binomial distribution of `predict`.
    shape = prior.shape / (1.0 + relative_variance * prior.shape)
    answer = {
        "prior_failures_per_1000_node_days": 1000 * PRIOR_SHAPE / PRIOR_NODE_DAYS,
        "prior_node_days": PRIOR_NODE_DAYS,
        "prior_source": "; ".join(f"{fleet}: {found:g}" for fleet, found in PUBLISHED_FLEETS.items()),
        "failures_per_1000_node_days_with_prior": 1000 * prior.value,
        "failures_per_1000_node_days_with_prior_low": 1000 * prior.low,
        "failures_per_1000_node_days_with_prior_high": 1000 * prior.high,
        "mttf_hours_with_prior": mttf.hours,
        "mttf_hours_with_prior_low": mttf.low,
        "mttf_hours_with_prior_high": mttf.high,
        "expected_interruptions_with_prior": future.value,
        "expected_interruptions_with_prior_low": future.low,
        "expected_interruptions_with_prior_high": future.high,
        "probability_uninterrupted_with_prior": np.asarray((shape / (shape + prior.value * node_days)) ** shape),
        "checkpoint_minutes_optimal_with_prior": plan.optimal,
        "ettr_optimal_with_prior": plan.ettr_optimal,
        "ettr_optimal_with_prior_low": plan.ettr_optimal_low,
        "ettr_optimal_with_prior_high": plan.ettr_optimal_high,
    }
    return UNKNOWN | answer
