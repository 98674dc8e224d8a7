"""Rules that only a change of code can break in published tables: verdicts, sums and counts in a row or a table.

No refresh checks them: the code tested here keeps them for any logs.
"""

import duckdb
import pytest

LOSSES = {
    "first and second order make up the loss": (
        "abs(coalesce(first_order_gpu_hours, 0) + coalesce(second_order_gpu_hours, 0) - coalesce(lost_gpu_hours, 0))"
        " > 1e-6 * (1 + coalesce(lost_gpu_hours, 0))"
    ),
    "unknown hours have no cost": "lost_cost is not null and lost_gpu_hours is null",
}
HOURS = "queue_hours + restart_hours + lost_work_hours + write_hours + productive_hours"
PARTS = {"the hours of the parts are those of the runs": f"abs({HOURS} - wallclock_hours) > 1e-6 * wallclock_hours"}
RATE = "failures_per_1000_node_days"
RATES = {
    "the rate is failures over node-days": (
        f"node_days > 0 and abs({RATE} - 1000 * failure_count / node_days) > 1e-6 * (1 + {RATE})"
    ),
    "no count scatters less than failures that come one by one": "failure_variance < failure_count * (1 - 1e-6)",
    "the rate to build on is not one by the paper's rule": "is_reference and counted_as like '%_paper'",
}
INCIDENTS = "there are no more incidents than failed attempts"


def _fewer_than_attempts(strata: str) -> str:
    """Return the condition that incidents outnumber attempts by the same rule."""
    attempts = "max(failure_count) filter (counted_as like 'attempts%')"
    return (
        "counted_as like 'incidents%' and failure_count > (1 + 1e-9) * "
        f"{attempts} over (partition by {strata}, counted_as like '%_paper')"
    )


# By table, and by what holds of it: the condition of a row that breaks it. `judged` is the table.
BROKEN = {
    "marts.agg_attribution_controls": {
        "hits are among the attempts": "hit_count > attempt_count",
        "every cluster has one configured window": (
            "count(distinct (before_seconds, after_seconds)) filter (is_configured) over (partition by cluster_id) <> 1"
        ),
    },
    "marts.agg_availability_monthly": {
        "without an objective there is no budget": (
            "objective is null and (error_budget_left_high is not null or burn_pace is not null)"
        ),
    },
    "marts.agg_check_introductions": {
        "without good results its introduction is unknown": "is_introduction is not null and not has_good_results"
    },
    "marts.agg_cooccurrence": {
        "a category is not paired with itself": "failure_category = other_category",
        "both are part of the failures": "both_count > failure_count or failure_count < 1",
        "every row of a cause counts the same failures": (
            "min(failure_count) over (partition by cluster_id, failure_category) <> failure_count"
        ),
    },
    "marts.agg_crash_loops": {
        "a loop is three failures in a row at least": "consecutive_failure_count not between 3 and failure_count",
        "second-order losses are among the victims": "second_order_victim_count > victim_count",
    },
    "marts.agg_failure_rates_by_cause": {
        "as many failures are expected as there are, or fewer": (
            "gpu_hours is not null and not coalesce(expected_failure_count between 0 and failure_count, false)"
        ),
    },
    "marts.agg_failure_rates_daily": {
        "a rate rests on node-days": f"{RATE}_30d is not null and coalesce(node_days_30d, 0) = 0",
    },
    "marts.agg_lemon_signals": {
        "a node is not in use for longer than the window": "in_use_node_days > window_days + 1e-6",
        "every node has a row for each day": (
            "count(*) over (partition by cluster_id) <> ("
            "select count(*) from marts.fct_node_days as days where days.cluster_id = judged.cluster_id)"
        ),
    },
    "marts.agg_lost_goodput": {
        "nothing loses more than half the checkpoint interval": (
            "greatest(first_order_gpu_hours / nullif(failure_count, 0),"
            " second_order_gpu_hours / nullif(second_order_count, 0)) > ("
            "select any_value(checkpoint_minutes) from marts.dim_clusters as clusters"
            " where clusters.cluster_id = judged.cluster_id) / 120 * gpu_size_bin + 1e-6"
        ),
    },
    "marts.agg_lost_hours_by_account": LOSSES,
    "marts.agg_lost_hours_by_account_monthly": LOSSES,
    "marts.agg_unmapped_signals": {
        "a signal was seen, on as many nodes as events at most": (
            "event_count < 1 or node_count > event_count"
            " or (node_count < 1 and kind not in ('kernel', 'failure_record'))"
        ),
    },
    "marts.fct_failures": {
        "a failure loses at most the GPU time its attempt used": (
            "lost_gpu_hours > 1e-9 + (1 + 1e-9) * (select any_value(gpu_hours) from marts.fct_attempts as attempts"
            " where attempts.cluster_id = judged.cluster_id and attempts.attempt_id = judged.attempt_id)"
        ),
    },
    "marts.fct_incidents": {"an incident has an attempt": "attempt_count < 1"},
    "marts.fct_incident_suspects": {
        "a known culprit stands alone": "suspect_count < 1 or (is_known and suspect_count <> 1)",
        "as many suspects as are counted": (
            "not is_known and count(*) over (partition by cluster_id, incident_id) <> suspect_count"
        ),
    },
    "marts.fct_job_runs": {
        "a run has no more failures than attempts": "infrastructure_failure_count not between 0 and attempt_count"
    },
    "marts.fct_node_outages": {"an outage is open exactly when it has no end": "is_open <> (ended_at is null)"},
    "marts.fct_unit_failures": {
        "a failure is down from its start to its end": (
            "(ended_at is null) <> (down_minutes is null)"
            " or abs(epoch(ended_at - started_at) / 60 - down_minutes) > 1e-3"
        ),
    },
    "estimates.est_attribution_chance": {
        "taking chance off makes no share larger": "corrected_ratio > attributed_ratio + 1e-9"
    },
    "estimates.est_cause_rates": {
        "a cause that could be seen has an upper limit, and no other": (
            "(gpu_hours > 0 and failure_count is not null) <> (failures_per_gpu_hour_high is not null)"
        ),
        "failures never scatter less than Poisson counts": "dispersion < 1",
        "there are no more incidents than failures": "incident_count > failure_count + 1e-9",
    },
    "estimates.est_changes": {
        "many comparisons make nothing more certain": "q_value < p_value - 1e-9",
        "no more nodes change than are known": "changed_node_count > node_count",
    },
    "estimates.est_check_scores": {
        "no more is judged or lost than was seen": "judged_count > event_count or lost_count > alone_count + 1e-6",
    },
    "estimates.est_checkpoint_plans": {
        "a larger run does not reach a higher ETTR": (
            "ettr_optimal > lag(ettr_optimal) over (partition by cluster_id order by gpu_count) + 1e-9"
        ),
    },
    "estimates.est_ettr_by_qos": PARTS,
    "estimates.est_ettr_by_size": PARTS,
    "estimates.est_ettr_grid": {
        "nothing is unknown where everything is assumed": "ettr_expected is null or ettr_expected_exact is null",
        "a higher failure rate never raises the ETTR": (
            "ettr_expected_exact > 1e-9 + lag(ettr_expected_exact) over ("
            f"partition by scenario, gpu_count, checkpoint_minutes order by {RATE})"
        ),
    },
    "estimates.est_evidence_reach": {
        "if the reach is unknown, the note says why": "reach is null and note is null",
        "no more failures are compared than were counted": "compared_count > counted_count + 1e-6",
    },
    "estimates.est_failure_rates": RATES | {INCIDENTS: _fewer_than_attempts("cluster_id, population")},
    "estimates.est_failure_rates_monthly": (
        RATES | {INCIDENTS: _fewer_than_attempts("cluster_id, month_date, population")}
    ),
    "estimates.est_forecast_scores": {
        "no probability is above 1": "log_score > 1e-9",
        "a forecast rests on the months before it": (
            "abs(exposure - coalesce(sum(month_node_days) over (partition by cluster_id order by month_date"
            " rows between unbounded preceding and 1 preceding), 0)) > 1e-6 * (1 + exposure)"
        ),
    },
    "estimates.est_hidden_failures": {
        "no more GPU-hours are held without use than are known": "held_gpu_hours > exposure * (1 + 1e-9)",
    },
    "estimates.est_lemon_effects": {
        "no more attempts failed than there were": "failure_count not between 0 and attempt_count",
        "with and without a lemon are all attempts": (
            "sum(attempt_count) filter (population like 'with%_lemon_node') over (partition by cluster_id)"
            " is distinct from sum(attempt_count) filter (population = 'all') over (partition by cluster_id)"
        ),
    },
    "estimates.est_lemon_evaluations": {
        "who is named was listed, and only nodes in use are judged": (
            "named_count > least(listed_count, judged_count) or bad_count > judged_count"
        ),
        "without some of its causes a failure is not more frequent": (
            "large_job_failure_ratio_without_lemons > large_job_failure_ratio"
        ),
    },
    "estimates.est_lemon_nodes": {
        "a node saves at most what its jobs used": (
            "saved_gpu_hours_per_month_high > attempts_gpu_hours_per_month * (1 + 1e-9)"
        ),
        "a note says why a saving is unknown": "(saved_gpu_hours_per_month is null) = (saving_note is null)",
        "a node is a lemon or it is none": "abs(posterior_probability + local_fdr - 1) > 1e-9",
        "a note says why nodes are not ranked": "rank is null and note is null",
        "ranks run from 1 to the number of nodes": (
            "rank is not null and rank <> row_number() over (partition by cluster_id order by rank)"
        ),
    },
    "estimates.est_location_rates": {
        "failures that come together end a job less often": "mttf_hours < independent_mttf_hours * (1 - 1e-9)",
    },
    "estimates.est_lost_gpu_hours": {
        "losses by probability are at most what they are in full": (
            "expected_lost_gpu_hours > lost_gpu_hours * (1 + 1e-6) + 1e-6"
        ),
    },
    "estimates.est_mttf_by_size": {
        "a mean time to failure is longer than nothing": "mttf_hours <= 0 or mttf_theory_hours <= 0",
        "without a failure there is no mean": "failure_count = 0 and mttf_hours is not null",
    },
    "estimates.est_mttf_projections": {
        "a projection is for at least one GPU": "gpu_count <= 0 or mttf_hours <= 0",
        "a larger job does not live longer": (
            "mttf_hours > (1 + 1e-9) * lag(mttf_hours) over (partition by cluster_id order by gpu_count)"
        ),
    },
    "estimates.est_rate_changes": {
        "the ratio is the rate after over the rate before": (
            "rate_before > 0 and abs(ratio - rate_after / rate_before) > 1e-9 * (1 + ratio)"
        ),
        "without a change there is no rate after it": (
            "changed_at is null and (rate_after is not null or ratio is not null or annotation is not null)"
        ),
        "the rate before a change is the rate after the one before it": (
            "changed_at is not null and abs(rate_before - lag(rate_after) over ("
            "partition by cluster_id, failure_category order by changed_at)) > 1e-9 * (1 + rate_before)"
        ),
    },
    "estimates.est_rate_ratios": {
        "a verdict says what the limits say": (
            "(verdict = 'worse' and coalesce(ratio_low, 0) <= 1)"
            " or (verdict = 'better' and coalesce(ratio_high, 2) >= 1) or (verdict = 'no change shown'"
            " and (coalesce(ratio_low > 1, false) or coalesce(ratio_high < 1, false)))"
            " or (verdict <> 'cannot tell' and not has_enough_data)"
        ),
        "the ratio is the first rate over the second": (
            "abs(ratio * (other_failure_count / other_node_days) - failure_count / node_days)"
            " > 1e-9 * (1 + failure_count / node_days)"
        ),
        "the rates differ by the p-value where the limits leave 1 out": (
            "abs(p_value - (1 - confidence_level)) > 1e-9 and (p_value < 1 - confidence_level)"
            " <> (coalesce(ratio_low > 1, false) or coalesce(ratio_high < 1, false))"
        ),
        "periods are compared within a cluster": "(comparison = 'clusters') = (cluster_id = other_cluster_id)",
    },
    "estimates.est_repairs": {
        "relapses grow with time": "relapse_30d_ratio < relapse_7d_ratio - 1e-9",
        "a repair relapses once": "event_count > repair_count",
    },
    "estimates.est_unit_failure_rates": {
        "incidents are of failures, failures are recorded, and units are down while in service": (
            "failure_count > recorded_count or incident_count > failure_count or down_unit_days > unit_days"
        ),
    },
}


@pytest.mark.parametrize("table", BROKEN)
def test_no_row_breaks_what_the_code_holds(table, many_clusters):
    rules = BROKEN[table]
    with duckdb.connect(str(many_clusters), read_only=True) as con:
        for sentence, condition in rules.items():
            found = con.execute(
                f"select * exclude (is_broken) from (select *, {condition} as is_broken from {table} as judged)"
                " where is_broken limit 3"
            ).fetchall()
            assert found == [], sentence
