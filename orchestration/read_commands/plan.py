"""`faultline plan`: interruptions, checkpoints and ETTR of a run at a cluster's measured rate or at a given rate.

It reads estimates.est_failure_rates of the published file and leaves all arithmetic to `assets.model`.
"""

from __future__ import annotations

from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from assets.model.checkpoint import longest_minutes
from assets.model.ettr import expected_ettr, expected_ettr_exact
from assets.model.failure_rate import RateInterval
from assets.model.incident_counts import weighted_interval
from assets.model.month_variation import MonthVariation, month_variation
from assets.model.mttf import mttf_at_scale, nodes_of
from assets.model.run_outlook import RUN_COUNT, RunOutlook, run_outlook
from assets.model.run_plan import (
    assumed_rate,
    plan_checkpoints,
    predict_interruptions,
    probability_uninterrupted,
)
from assets.model.scale.verdicts import FALLS, GROWS, VERDICT_IN_WORDS
from assets.report.numbers import short
from assets.report.wording import extrapolation, stale
from assets.rounding import rounded
from assets.rows import rows_of
from orchestration.read_commands.age import as_of, with_age
from orchestration.read_commands.plan_assumptions import assumptions
from orchestration.read_commands.published import ReadingError, published
from orchestration.read_commands.run_to_plan import USUAL, RunToPlan
from orchestration.settings.environment import HomeSettings
from orchestration.terminal.values import plain

GPUS_PER_NODE = 8
CHECKPOINT_MINUTES = 60.0

REPAIRS = files("assets.report").joinpath("sql/repairs.sql").read_text(encoding="utf-8")
MONTHS = """
    select
        cluster_id,
        list(month_failure_count order by month_date) as month_failure_counts,
        list(month_node_days order by month_date) as month_node_days
    from estimates.est_forecast_scores
    group by cluster_id
"""
RATES = """
    select
        rates.cluster_id,
        clusters.is_simulated,
        clusters.gpus_per_node,
        clusters.gpu_node_count as cluster_gpu_node_count,
        clusters.is_stale,
        clusters.stale_reason,
        clusters.built_at,
        clusters.data_through_at,
        rates.population,
        rates.counted_as,
        rates.failure_count,
        rates.failure_variance,
        rates.node_days,
        coalesce(months.month_failure_counts, []) as month_failure_counts,
        coalesce(months.month_node_days, []) as month_node_days,
        rates.note,
        rates.has_enough_data,
        (
            select any_value(failures_per_1000_unit_days) from estimates.est_unit_failure_rates as recorded
            where recorded.cluster_id = rates.cluster_id and recorded.cause = 'all' and recorded.has_enough_data
        ) as recorded_rate,
        incidents.failures_per_1000_node_days as failures_per_1000_node_days_incidents,
        projections.largest_job_gpu_count,
        clusters.gpu_count as cluster_gpu_count,
        if(scale_tests.has_enough_data, scale_tests.verdict, 'cannot tell') as scale_verdict,
        sizes.mttf_hours as mttf_hours_measured,
        sizes.mttf_hours_low as mttf_hours_measured_low,
        sizes.mttf_hours_high as mttf_hours_measured_high,
        sizes.failure_count as failure_count_measured,
        clusters.restart_minutes,
        nullif(clusters.write_minutes, 0) as write_minutes,
        repairs.repair_hours,
        exists (
            from estimates.est_lost_gpu_hours as losses
            where losses.cluster_id = rates.cluster_id and losses.loss = 'capacity'
        ) as has_reclaims
    from estimates.est_failure_rates as rates
    inner join marts.dim_clusters as clusters using (cluster_id)
    left join estimates.est_failure_rates as incidents
        on rates.cluster_id = incidents.cluster_id
        and rates.population = incidents.population
        and incidents.counted_as = 'incidents'
    left join (
        select cluster_id, max(gpu_count) filter (where is_largest_job) as largest_job_gpu_count
        from estimates.est_mttf_projections
        group by cluster_id
    ) as projections on rates.cluster_id = projections.cluster_id
    left join (
{months}    ) as months on rates.cluster_id = months.cluster_id
    left join (
{repairs}    ) as repairs on rates.cluster_id = repairs.cluster_id
    left join estimates.est_scale_tests as scale_tests on rates.cluster_id = scale_tests.cluster_id
    left join estimates.est_mttf_by_size as sizes
        on rates.cluster_id = sizes.cluster_id
        and sizes.gpu_size_bin = {gpu_size_bin}
    where rates.is_reference
    order by rates.cluster_id
"""


REACH = """
    select
        cluster_id,
        reach as evidence_reach,
        low as evidence_reach_low,
        high as evidence_reach_high,
        statement as evidence_note
    from estimates.est_evidence_reach
    where month_date is null
"""
REACHES = ("evidence_reach", "evidence_reach_low", "evidence_reach_high", "evidence_note")
RATE_BASES = {
    "gpus_gt_128": "whole_node_attempts",
    "whole_nodes": "whole_node_attempts",
    "nodes": "node_incidents",
    "all": "attempts",
}
"""What the rate counts, by population of est_failure_rates. A run on whole nodes needs the rate of such runs or of the
nodes themselves; the rate of attempts that share nodes would be too low."""
MEASURED = ("mttf_hours_measured", "mttf_hours_measured_low", "mttf_hours_measured_high", "failure_count_measured")
ENOUGH_FAILURES = 5


class WrongQuestion(Exception):
    """The cluster does not exist, or there are several and none was named; the text lists them, on one line."""


def plan_on_cluster(
    path: Path, cluster_id: str | None, run: RunToPlan, fresh_hours: float = HomeSettings.freshness_hours
) -> dict[str, Any]:
    """Plan with the measured rate of a cluster; without a name, of the only cluster.

    Raises
    ------
    WrongQuestion
        The cluster does not exist, or there are several and none was named.
    ReadingError
        Nothing is published, or the cluster has no failure rate or too little data for one.
    """
    with published(path) as con:
        rates = rows_of(
            con, RATES.format(gpu_size_bin=1 << (run.gpu_count - 1).bit_length(), months=MONTHS, repairs=REPAIRS)
        )
        reaches = {row["cluster_id"]: row for row in rows_of(con, REACH)}
    clusters = {rate["cluster_id"]: with_age(rate, fresh_hours) | reaches.get(rate["cluster_id"], {}) for rate in rates}
    if not clusters:
        raise ReadingError(f"{path} holds no cluster; run `faultline refresh`, or give --rate")
    if cluster_id is None and len(clusters) > 1:
        raise WrongQuestion(f"which cluster? --cluster with one of: {', '.join(clusters)}; or --rate")
    found = clusters.get(cluster_id or next(iter(clusters)))
    if found is None:
        raise WrongQuestion(f"there is no cluster '{cluster_id}'; there are: {', '.join(clusters)}")
    if found["failure_count"] is None or not found["node_days"]:
        recorded = found["recorded_rate"]
        instead = f"; its recorded failures come to {short(recorded)} per 1,000 unit-days" if recorded else ""
        raise ReadingError(
            f"cluster '{found['cluster_id']}' has no failure rate: {found['note']}; "
            f"`faultline doctor` says which logs are missing, or give --rate{instead}"
        )
    if not found["has_enough_data"]:
        raise ReadingError(f"cluster '{found['cluster_id']}': {found['note']}; --rate plans with a rate that you give")
    gpus_per_node = run.gpus_per_node or found.pop("gpus_per_node")
    if not gpus_per_node:
        raise ReadingError(f"the GPUs per node of '{found['cluster_id']}' are unknown; give --gpus-per-node")
    rate = weighted_interval(found["failure_count"], found["failure_variance"], found["node_days"])
    months = month_variation(found["month_failure_counts"], found["month_node_days"], float(rate.dispersion))
    fleet = () if run.gpus_per_node else (found["cluster_gpu_count"] or 0, found["cluster_gpu_node_count"] or 0)
    cluster_costs = {name: found[name] for name in USUAL if found.get(name) is not None}
    nodes = float(nodes_of(run.gpu_count, gpus_per_node, *fleet))
    return answer_at(
        rate, int(gpus_per_node), nodes, replace(run, cluster_costs=cluster_costs), source=found, months=months
    )


def plan_at_rate(failures_per_1000_node_days: float, run: RunToPlan) -> dict[str, Any]:
    """Plan with a given rate, without uncertainty."""
    gpus_per_node = run.gpus_per_node or GPUS_PER_NODE
    nodes = float(nodes_of(run.gpu_count, gpus_per_node))
    return answer_at(assumed_rate(failures_per_1000_node_days / 1000), gpus_per_node, nodes, run, source={})


def answer_at(
    rate: RateInterval,
    gpus_per_node: int,
    nodes: float,
    run: RunToPlan,
    *,
    source: dict[str, Any],
    months: MonthVariation | None = None,
) -> dict[str, Any]:
    """Compute the answer; `source` is the cluster's row and `months` its months, empty and None for a given rate."""
    variance = float(months.of_future(run.planned_days)) if months else 0.0
    node_days = nodes * run.planned_days
    value = np.where(rate.value > 0, rate.value, np.nan)
    per_day = value * nodes
    mttf, future = mttf_at_scale(rate, nodes), predict_interruptions(rate, node_days, variance)
    plan = plan_checkpoints(rate, nodes, **run.costs)
    # If writes cost nothing, the best interval is 0, which is not usable.
    interval = run.checkpoint_minutes or (float(plan.young) if run.cost("write_minutes") else CHECKPOINT_MINUTES)
    costs = run.costs_at(float(per_day))
    best = _outlook(rate, nodes, float(plan.optimal), run, variance)
    own = _outlook(rate, nodes, run.checkpoint_minutes, run, variance) if run.checkpoint_minutes else None
    wallclock_days = run.planned_days * (1 + per_day * costs["queue_minutes"] / 1440)

    def ettr_at(per_node_day: float) -> float:
        return float(expected_ettr_exact(per_node_day * nodes, interval, **run.costs_at(per_node_day * nodes)))

    found = {
        "cluster_id": source.get("cluster_id"),
        "is_simulated": source.get("is_simulated"),
        **{name: source.get(name) for name in ("is_stale", "stale_reason", "built_at", "data_through_at", "is_old")},
        "rate_source": "measured" if source else "given",
        "population": source.get("population"),
        "counted_as": source.get("counted_as"),
        "rate_basis": RATE_BASES[source["population"]] if source else "given",
        "event_count": source.get("failure_count"),
        "exposure_node_days": source.get("node_days"),
        "confidence_level": rate.confidence_level,
        "method": str(rate.method),
        "gpu_count": run.gpu_count,
        "gpus_per_node": gpus_per_node,
        "node_count": int(nodes),
        "planned_days": run.planned_days,
        **{name: run.cost(name) for name in USUAL},
        "probability_without_spare": run.without_spare(float(per_day)),
        "failures_per_1000_node_days": 1000 * value,
        "failures_per_1000_node_days_low": 1000 * rate.low,
        "failures_per_1000_node_days_high": 1000 * rate.high,
        "failures_per_1000_node_days_incidents": source.get("failures_per_1000_node_days_incidents"),
        **{name: source.get(name) for name in REACHES},
        "month_cv": months.cv if months else None,
        "largest_job_gpu_count": source.get("largest_job_gpu_count"),
        "mttf_hours": mttf.hours,
        "mttf_hours_low": mttf.low,
        "mttf_hours_high": mttf.high,
        **{name: source.get(name) for name in MEASURED},
        "expected_interruptions": future.value,
        "expected_interruptions_low": future.low,
        "expected_interruptions_high": future.high,
        "probability_uninterrupted": probability_uninterrupted(rate, node_days, variance),
        "checkpoint_minutes_young": plan.young,
        "checkpoint_minutes_daly": plan.daly,
        "checkpoint_minutes_optimal": plan.optimal,
        "checkpoint_minutes_optimal_low": plan.optimal_low,
        "checkpoint_minutes_optimal_high": plan.optimal_high,
        "checkpoint_minutes_longest": longest_minutes(per_day, run.ettr_target, **costs),
        "checkpoint_minutes": interval,
        "ettr_expected": expected_ettr(per_day, interval, **costs),
        "ettr_expected_exact": ettr_at(float(value)),
        "ettr_expected_exact_low": ettr_at(float(rate.high)),
        "ettr_expected_exact_high": ettr_at(float(rate.low)),
        "ettr_expected_young": plan.ettr_young,
        "ettr_optimal": plan.ettr_optimal,
        "ettr_optimal_low": plan.ettr_optimal_low,
        "ettr_optimal_high": plan.ettr_optimal_high,
        "ettr_run_low": best.ettr_low,
        "ettr_run_high": best.ettr_high,
        "productive_days_optimal": plan.ettr_optimal * wallclock_days,
        "ettr_target": run.ettr_target,
        "probability_ettr_ge_target": best.probability,
        "probability_ettr_ge_target_at_checkpoint": own.probability if own else None,
        "assumptions": assumptions(rate, nodes, gpus_per_node, run),
    }
    return {name: plain(value) for name, value in found.items()} | {"notes": notes(source, run, found)}


def _outlook(
    rate: RateInterval, nodes: float, checkpoint_minutes: float, run: RunToPlan, relative_variance: float
) -> RunOutlook:
    return run_outlook(
        rate,
        nodes,
        checkpoint_minutes,
        **run.costs_at(float(rate.value) * nodes),
        scheduled_days=run.planned_days,
        target=run.ettr_target,
        run_count=RUN_COUNT,
        relative_variance=relative_variance,
    )


def notes(source: dict[str, Any], run: RunToPlan, found: dict[str, Any]) -> list[str]:
    """List the caveats of an answer; a given rate has none."""
    if not source:
        return []
    caveats = [caveat for caveat in (as_of(source), stale(source), source["note"]) if caveat]
    low, high = source["mttf_hours_measured_low"], source["mttf_hours_measured_high"]
    is_apart = (
        low is not None and high is not None and (low > found["mttf_hours_high"] or high < found["mttf_hours_low"])
    )
    if is_apart and source["failure_count_measured"] >= ENOUGH_FAILURES:
        caveats.append(
            f"jobs of this size lasted {rounded(source['mttf_hours_measured'])} hours between failures ({rounded(low)} "
            f"to {rounded(high)}, {rounded(source['failure_count_measured'])} failures); --rate "
            f"{24_000 / source['mttf_hours_measured'] / found['node_count']:.3g} plans with that"
        )
    if source.get("has_reclaims"):
        caveats.append("machines that the cloud could not give or took back ended jobs too, and are not in this rate")
    if source["scale_verdict"] in (GROWS, FALLS):
        caveats.append(VERDICT_IN_WORDS[source["scale_verdict"]])
    incidents, attempts = source["failures_per_1000_node_days_incidents"], found["failures_per_1000_node_days"]
    if incidents is not None and incidents < attempts * (1 - 1e-9):
        caveats.append(
            f"some failures hit several runs at once: {rounded(incidents)} incidents per 1,000 node-days, which is "
            "nearer to what a run feels that fills the cluster"
        )
    if beyond := extrapolation(run.gpu_count, source["largest_job_gpu_count"]):
        caveats.append(beyond)
    whole = source["cluster_gpu_count"]
    if whole is not None and run.gpu_count > whole:
        caveats.append(f"larger than the cluster ({whole:,} GPUs)")
    return caveats
