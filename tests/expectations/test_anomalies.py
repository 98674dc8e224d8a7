"""Each kind of planted anomaly fails its check, and the message names the table and the value."""

import pytest

from tests.expectations.judging import failed, spoil

BREAK_17_OF_337 = """
    insert into ops.quarantine
    select 'alpha', 'alpha/sacct/all.psv', 12 + i, 'bad_timestamp', 'x', 'raw' from range(1, 17) t(i)
"""
# (statements that plant it, (schema, table), check that must fail, words of its message)
ANOMALIES = [
    (
        [BREAK_17_OF_337, "update ops.files set quarantined = 17, loaded = 286 where lines_in = 337"],
        ("ops", "files"), "breaker",
        ["alpha/sacct/all.psv: 17 of 303 lines quarantined (5.6% > 1.0%), first: line 12 unknown_state 'FOO'"],
    ),
    (
        ["update ops.files set loaded = loaded - 1 where lines_in = 337"],
        ("ops", "files"), "identity", ["alpha/sacct/all.psv", "lines_in 337", "loaded 301", "quarantined 1"],
    ),
    (
        ["update ops.skips set line_count = 30 where reason = 'step'"],
        ("ops", "files"), "skips_explained", ["alpha/sacct/all.psv: 34 skipped, 31 explained"],
    ),
    (["delete from ops.quarantine"], ("ops", "files"), "quarantine_kept", ["1 quarantined, 0 kept"]),
    (
        ["update raw.sacct set elapsed_seconds = -5 where job_id_raw = 3"],
        ("raw", "sacct"), "elapsed_seconds_not_negative", ["job_id 3", "elapsed_seconds -5"],
    ),
    (
        ["update raw.sacct set ended_at = started_at - interval 1 hour where job_id_raw = 3"],
        ("raw", "sacct"), "ended_at_not_before_started_at", ["job_id 3", "ended_at 2026-01-01 02:00:00"],
    ),
    (
        ["update raw.sacct set gpu_count = 1000 where job_id_raw = 3"],
        ("raw", "sacct"), "gpu_count_possible", ["job_id 3", "gpu_count 1000"],
    ),
    (["update raw.sacct set state = 'FOO' where job_id_raw = 3"], ("raw", "sacct"), "state_known", ["'FOO'"]),
    (
        ["update raw.sacct set submitted_at = '1970-01-01' where job_id_raw = 3"],
        ("raw", "sacct"), "submitted_at_believable", ["job_id 3", "1970-01-01"],
    ),
    (["delete from raw.sacct where cluster_id = 'beta'"], ("raw", "sacct"), "records_present", ["beta"]),
    (
        ["insert into raw.sacct select s.* replace ('duplicate' as disposition) from raw.sacct s, range(99)"],
        ("raw", "sacct"), "duplicates_share", ["alpha: 694 of 700"],
    ),
    (
        ["update raw.sacct set warnings = ['elapsed_mismatch'] where job_id_raw = 3"],
        ("raw", "sacct"), "odd_records", ["alpha: 1 of 6 records have elapsed_mismatch"],
    ),
    (
        ["update raw.health_checks set result = 'MAYBE' where line_number = 1"],
        ("raw", "health_checks"), "result_known", ["'MAYBE'"],
    ),
    (
        ["update raw.kernel_messages set occurred_at = '2099-01-01'"],
        ("raw", "kernel_messages"), "occurred_at_believable", ["node001", "2099-01-01"],
    ),
    (["update raw.kernel_messages set code = 0"], ("raw", "kernel_messages"), "code_possible", ["code 0"]),
    (
        ["update raw.node_events set ended_at = '2025-01-01'"],
        ("raw", "node_events"), "ended_at_not_before_started_at", ["node001", "2025-01-01"],
    ),
    (
        ["update raw.slurmctld_events set instigator_job_id_raw = job_id_raw"],
        ("raw", "slurmctld_events"), "preemption_not_of_itself", ["job_id_raw 1"],
    ),
    (
        ["update raw.nodes set gpu_count = 800 where node_id = 'node001'"],
        ("raw", "nodes"), "gpu_count_possible", ["node001", "gpu_count 800"],
    ),
    (
        ["update raw.tickets set disposition = 'unknown_node'"],
        ("raw", "tickets"), "nodes_known", ["1 of 1", "node001", "cluster.toml"],
    ),
    (
        ["update marts.fct_attempts set runtime_seconds = -5 where job_id = '3'"],
        ("marts", "fct_attempts"), "runtime_seconds_not_negative", ["alpha:3:", "runtime_seconds -5"],
    ),
    (
        ["update marts.fct_attempts set queue_seconds = -5 where job_id = '3'"],
        ("marts", "fct_attempts"), "queue_seconds_not_negative", ["alpha:3:", "queue_seconds -5"],
    ),
    (
        ["update marts.fct_attempts set gpu_hours = -5 where job_id = '3'"],
        ("marts", "fct_attempts"), "gpu_hours_not_negative", ["alpha:3:", "gpu_hours -5"],
    ),
    (
        ["update marts.fct_attempts set started_at = submitted_at - interval 1 second where job_id = '3'"],
        ("marts", "fct_attempts"), "started_at_not_before_submitted_at", ["alpha:3:"],
    ),
    (
        ["update marts.fct_attempts set ended_at = started_at - interval 1 second where job_id = '3'"],
        ("marts", "fct_attempts"), "ended_at_not_before_started_at", ["alpha:3:"],
    ),
    (
        ["update marts.fct_attempts set has_ended = false where job_id = '3'"],
        ("marts", "fct_attempts"), "ends_complete", ["alpha:3:", "has_ended false"],
    ),
    (
        ["update marts.fct_attempts set runtime_seconds = null where job_id = '3'"],
        ("marts", "fct_attempts"), "ends_complete", ["alpha:3:", "runtime_seconds NULL"],
    ),
    (
        ["update marts.fct_node_outages set ended_at = started_at - interval 1 second"],
        ("marts", "fct_node_outages"), "ended_at_not_before_started_at", ["node001"],
    ),
    (
        ["update marts.fct_node_outages set requested_at = started_at + interval 1 second"],
        ("marts", "fct_node_outages"), "started_at_not_before_requested_at", ["node001"],
    ),
    (
        ["update marts.fct_node_outages set is_open = true"],
        ("marts", "fct_node_outages"), "open_without_end", ["node001", "is_open true"],
    ),
    (
        ["update marts.agg_failure_rates_by_cause set expected_failure_count = failure_count + 0.5"],
        ("marts", "agg_failure_rates_by_cause"), "expected_among_failures", ["expected_failure_count 1.5"],
    ),
    (
        ["update marts.fct_node_days set out_of_service_hours = 24.5 where node_id = 'node001'"],
        ("marts", "fct_node_days"), "out_of_service_within_day", ["node001", "out_of_service_hours 24.5"],
    ),
    (
        ["update marts.fct_node_days set allocated_gpu_hours = -1 where node_id = 'node001'"],
        ("marts", "fct_node_days"), "allocated_gpu_hours_not_negative", ["node001", "allocated_gpu_hours -1.0"],
    ),
    (
        ["delete from marts.fct_attempts where job_id = '3'"],
        ("marts", "fct_attempts"), "records_complete", ["alpha: 5 here, 6 expected"],
    ),
    (
        ["update marts.fct_failures set lost_gpu_hours = 99"],
        ("marts", "fct_failures"), "loss_bounded", ["lost_gpu_hours 99.0", "gpu_hours 32.0"],
    ),
    (
        ["update marts.agg_job_states set attempt_ratio = 1.2 where state = 'COMPLETED'"],
        ("marts", "agg_job_states"), "attempt_ratio_in_0_1", ["COMPLETED", "attempt_ratio 1.2"],
    ),
    (
        ["update marts.agg_job_states set gpu_hours = 1 where state = 'COMPLETED'"],
        ("marts", "agg_job_states"), "gpu_hours_reconcile", ["alpha: 65.0 here, 192.0 expected"],
    ),
    (
        ["update marts.fct_health_events set observed_at = '2026-01-01 05:30'"],
        ("marts", "fct_health_events"), "completed_with_evidence", ["alpha: 2 of 4"],
    ),
    (
        ["update marts.fct_job_runs set ettr = 1.2 where run_id like 'alpha:3:%'"],
        ("marts", "fct_job_runs"), "ettr_in_0_1", ["ettr 1.2"],
    ),
    (
        ["update marts.fct_job_runs set ettr = 'nan' where run_id like 'alpha:3:%'"],
        ("marts", "fct_job_runs"), "ettr_in_0_1", ["ettr nan"],
    ),
    (
        ["update marts.fct_job_runs set unproductive_hours = -1 where run_id like 'alpha:3:%'"],
        ("marts", "fct_job_runs"), "hours_not_negative", ["unproductive_hours -1.0"],
    ),
    (
        ["update marts.fct_node_days set allocated_gpu_hours = 400 where node_id = 'node001'"],
        ("marts", "fct_node_days"),
        "allocated_within_day",
        ["alpha node001 2026-01-01: 400.0 of 192"],
    ),
    (
        ["update estimates.est_failure_rates set failures_per_1000_node_days = 9999"],
        ("estimates", "est_failure_rates"), "failures_per_1000_node_days_inside_interval",
        ["alpha", "failures_per_1000_node_days 9999.0", "failures_per_1000_node_days_high 2000.0"],
    ),
    (
        ["update estimates.est_failure_rates set failure_count = 9 where counted_as = 'incidents'"],
        ("estimates", "est_failure_rates"), "incidents_bounded", ["9.0 incidents, 1.0 attempts"],
    ),
    (
        ["update estimates.est_lost_gpu_hours set lost_gpu_hours = 1 where period = 'study'"],
        ("estimates", "est_lost_gpu_hours"), "expected_is_at_most_certain", ["alpha, period study, loss all"],
    ),
    (
        ["update estimates.est_failure_rates_monthly set failure_count = 9 where counted_as = 'incidents'"],
        ("estimates", "est_failure_rates_monthly"), "incidents_bounded", ["2026-01-01 all: 9.0 incidents"],
    ),
    (
        ["update estimates.est_failure_rates set failure_variance = 0.5 where counted_as = 'incidents'"],
        ("estimates", "est_failure_rates"), "variance_at_least_poisson", ["failure_variance 0.5"],
    ),
    (
        ["update estimates.est_failure_rates set counted_as = 'attempts_paper' where is_reference"],
        ("estimates", "est_failure_rates"), "reference_never_paper", ["counted_as attempts_paper"],
    ),
    (
        ["update marts.fct_node_days set in_use_hours = 25 where node_id = 'node001'"],
        ("marts", "fct_node_days"), "in_use_within_day", ["node001", "in_use_hours 25.0"],
    ),
    (
        ["update marts.fct_incident_suspects set suspect_count = 3"],
        ("marts", "fct_incident_suspects"), "known_stands_alone", ["suspect_count 3"],
    ),
    (
        ["update marts.fct_incident_suspects set is_known = false, suspect_count = 3"],
        ("marts", "fct_incident_suspects"), "suspects_counted", ["3 counted, 1 there"],
    ),
    (
        ["delete from marts.agg_lemon_signals where node_id = 'node001'"],
        ("marts", "agg_lemon_signals"), "every_day_there", ["alpha: 1 rows, 2 node-days"],
    ),
    (
        ["update marts.agg_lemon_signals set in_use_node_days = 1.5 where node_id = 'node001'"],
        ("marts", "agg_lemon_signals"), "in_use_within_window", ["node001", "in_use_node_days 1.5"],
    ),
    (
        ["update estimates.est_lemon_nodes set event_count = 1 where rank = 1"],
        ("estimates", "est_lemon_nodes"), "lemons_are_supported", ["node001", "event_count 1"],
    ),
    (
        ["update estimates.est_lemon_nodes set saved_gpu_hours_per_month_high = 8000 where rank = 1"],
        ("estimates", "est_lemon_nodes"), "nobody_saves_more_than_ran", ["node001", "8000", "7000"],
    ),
    (
        ["update estimates.est_lemon_nodes set saving_note = 'why' where rank = 1"],
        ("estimates", "est_lemon_nodes"), "unknown_savings_say_why", ["node001"],
    ),
    (
        ["update estimates.est_lemon_nodes set rank = 3 where rank = 2"],
        ("estimates", "est_lemon_nodes"), "ranks_complete", ["alpha: 2 ranks up to 3, 2 nodes"],
    ),
    (
        ["update estimates.est_lemon_nodes set rank = null"],
        ("estimates", "est_lemon_nodes"), "unranked_says_why", ["node_id node001"],
    ),
    (
        ["update estimates.est_lemon_nodes set local_fdr = 0.5 where rank = 1"],
        ("estimates", "est_lemon_nodes"), "probabilities_complete", ["posterior_probability 0.99", "local_fdr 0.5"],
    ),
    (
        ["update estimates.est_lemon_evaluations set named_count = 2"],
        ("estimates", "est_lemon_evaluations"), "named_are_judged", ["listed_count 1", "named_count 2"],
    ),
    (
        ["update estimates.est_lemon_evaluations set large_job_failure_ratio_without_lemons = 0.25",
         "update estimates.est_lemon_evaluations set large_job_failure_ratio_without_lemons_high = 0.3"],
        ("estimates", "est_lemon_evaluations"), "fewer_failures_without_lemons", ["without_lemons 0.25"],
    ),
    (
        ["update estimates.est_lemon_effects set attempt_count = 30 where population = 'with_lemon_node'"],
        ("estimates", "est_lemon_effects"), "parts_make_the_whole", ["alpha: 50 with or without, 40 all"],
    ),
    (
        ["update estimates.est_mttf_by_size set mttf_hours = 'inf'"],
        ("estimates", "est_mttf_by_size"), "mttf_hours_finite", ["mttf_hours inf"],
    ),
    (
        ["update estimates.est_mttf_projections set mttf_hours = 'nan' where gpu_count = 8"],
        ("estimates", "est_mttf_projections"), "mttf_hours_finite", ["gpu_count 8", "mttf_hours nan"],
    ),
    (
        ["update estimates.est_mttf_projections set mttf_hours = 70, mttf_hours_high = 80 where gpu_count = 1024"],
        ("estimates", "est_mttf_projections"), "shorter_when_larger", ["70.0 h with 1024 GPUs"],
    ),
    (
        ["update estimates.est_ettr_by_size set ettr_measured_high = 'inf'"],
        ("estimates", "est_ettr_by_size"),
        "numbers_finite",
        ["ettr_measured_high inf"],
    ),
    (
        ["update estimates.est_failure_rates set exposure = null"],
        ("estimates", "est_failure_rates"),
        "value_needs_evidence",
        ["event_count 1", "exposure NULL"],
    ),
    (
        ["update estimates.est_failure_rates set confidence_level = null"],
        ("estimates", "est_failure_rates"),
        "confidence_level_stated",
        ["confidence_level NULL"],
    ),
    (
        ["update estimates.est_ettr_by_size set ettr_measured_low = 0.9"],
        ("estimates", "est_ettr_by_size"), "ettr_measured_inside_interval", ["ettr_measured 0.75", "low 0.9"],
    ),
    (
        ["update estimates.est_ettr_by_qos set ettr_measured = 0.95, ettr_measured_high = 0.96"],
        ("estimates", "est_ettr_by_qos"), "ettr_measured_between_bounds", ["high", "ettr_measured 0.95"],
    ),
    (
        ["update estimates.est_ettr_by_qos set progress_ratio = 0.84"],
        ("estimates", "est_ettr_by_qos"), "progress_ratio_between_bounds", ["high", "progress_ratio 0.84"],
    ),
    (
        ["update estimates.est_ettr_by_size set queue_hours = 15"],
        ("estimates", "est_ettr_by_size"), "parts_sum_to_the_whole", ["queue_hours 15.0", "wallclock_hours 120.0"],
    ),
    (
        ["update estimates.est_ettr_grid set ettr_expected_exact = 0.999 where failures_per_1000_node_days = 6.5"],
        ("estimates", "est_ettr_grid"),
        "less_where_more_fails",
        ["free_writes, 1024 GPUs, 60.0 min: 0.999 at 6.5"],
    ),
    (
        ["update estimates.est_ettr_grid set ettr_expected_exact = 0.95 where checkpoint_minutes = 60"],
        ("estimates", "est_ettr_grid"), "line_parts_the_grid", ["checkpoint_minutes 60.0", "ettr_expected_exact 0.95"],
    ),
    (
        ["update estimates.est_ettr_grid set ettr_expected = 1.2 where checkpoint_minutes = 10"],
        ("estimates", "est_ettr_grid"), "ettr_expected_in_0_1", ["ettr_expected 1.2"],
    ),
    (
        ["update estimates.est_checkpoint_plans set ettr_optimal = 0.999 where gpu_count = 1024"],
        ("estimates", "est_checkpoint_plans"), "harder_when_larger", ["alpha: 0.999 with 1024 GPUs"],
    ),
    (
        ["update estimates.est_checkpoint_plans set event_count = 0 where gpu_count = 8"],
        ("estimates", "est_checkpoint_plans"), "no_failure_no_plan", ["gpu_count 8", "event_count 0"],
    ),
    (
        ["update estimates.est_checkpoint_plans set expected_interruptions_low = 1e6 where gpu_count = 8"],
        ("estimates", "est_checkpoint_plans"), "expected_interruptions_inside_interval", ["low 1000000.0"],
    ),
    (
        ["update estimates.est_checkpoint_plans set probability_ettr_ge_target = 1.5 where gpu_count = 8"],
        ("estimates", "est_checkpoint_plans"), "probability_ettr_ge_target_in_0_1", ["probability_ettr_ge_target 1.5"],
    ),
    (
        ["update estimates.est_checkpoint_plans set ettr_run_low = 0.95 where gpu_count = 8"],
        ("estimates", "est_checkpoint_plans"), "run_limits_in_order", ["ettr_run_low 0.95"],
    ),
    (
        ["update marts.agg_cooccurrence set both_count = 2 where other_category = 'xid 79'"],
        ("marts", "agg_cooccurrence"), "both_among_failures", ["xid 79", "both_count 2", "failure_count 1"],
    ),
    (
        ["update marts.agg_failure_rates_daily set day_date = day_date + 3 where failure_count = 0"],
        ("marts", "agg_failure_rates_daily"), "days_complete", ["2 rows from 2026-01-01 to 2026-01-05"],
    ),
    (
        ["update marts.agg_failure_rates_daily set failure_count = 0"],
        ("marts", "agg_failure_rates_daily"), "failures_reconcile", ["alpha: 0 here, 1 expected"],
    ),
    (
        ["update marts.agg_check_introductions set has_good_results = false"],
        ("marts", "agg_check_introductions"), "introductions_known", ["check_ib", "is_introduction false"],
    ),
    (
        ["update marts.agg_unmapped_signals set node_count = 4"],
        ("marts", "agg_unmapped_signals"), "seen_on_nodes", ["my_probe", "event_count 3", "node_count 4"],
    ),
    (
        ["update marts.agg_unmapped_signals set node_count = 0"],
        ("marts", "agg_unmapped_signals"), "seen_on_nodes", ["my_probe", "event_count 3", "node_count 0"],
    ),
    (
        ["update marts.agg_unmapped_signals set ratio_low = 6"],
        ("marts", "agg_unmapped_signals"), "ratio_between_limits", ["my_probe", "ratio 5.0", "ratio_low 6.0"],
    ),
    (
        ["update marts.agg_lost_goodput set first_order_gpu_hours = 9"],
        ("marts", "agg_lost_goodput"), "at_most_half_a_checkpoint_interval", ["9.0 hours by 1 failures"],
    ),
    (
        ["update marts.agg_lost_hours_by_account set second_order_gpu_hours = 1"],
        ("marts", "agg_lost_hours_by_account"), "orders_add_up", ["ada", "lost_gpu_hours 8.0"],
    ),
    (
        ["update marts.agg_lost_hours_by_account_monthly set second_order_gpu_hours = 1"],
        ("marts", "agg_lost_hours_by_account_monthly"), "orders_add_up", ["month_date 2026-01-01", "ada"],
    ),
    (
        ["update marts.agg_availability_monthly set idle_node_hours = 31"],
        ("marts", "agg_availability_monthly"), "kinds_add_up", ["month_date 2026-01-01", "total_node_hours 100.0"],
    ),
    (
        ["update marts.agg_availability_monthly set availability = 0.5"],
        ("marts", "agg_availability_monthly"), "availability_inside_interval", ["availability 0.5"],
    ),
    (
        ["update marts.agg_availability_monthly set objective = null"],
        ("marts", "agg_availability_monthly"), "budget_needs_objective", ["burn_pace fast"],
    ),
    (
        ["update marts.agg_crash_loops set consecutive_failure_count = 2"],
        ("marts", "agg_crash_loops"), "three_in_a_row", ["alpha:0:1", "consecutive_failure_count 2"],
    ),
    (
        ["update marts.agg_attribution_controls set hit_count = 0 where before_seconds = 1200"],
        ("marts", "agg_attribution_controls"), "wider_sees_more",
        ["alpha failed: 1 hits within -600 to 300 s, 0 within -1200 to 300 s"],
    ),
    (
        ["update marts.agg_attribution_controls set is_configured = false"],
        ("marts", "agg_attribution_controls"), "one_configured_window", ["alpha: 0"],
    ),
    (
        ["update estimates.est_attribution_chance set corrected_ratio = 0.3"],
        ("estimates", "est_attribution_chance"), "corrected_downwards",
        ["corrected_ratio 0.3", "attributed_ratio 0.25"],
    ),
    (
        ["update estimates.est_scale_tests set verdict = 'grows' where cluster_id = 'alpha'"],
        ("estimates", "est_scale_tests"), "verdict_follows_limits", ["alpha", "verdict grows", "beta_low -0.02"],
    ),
    (
        ["update estimates.est_scale_tests set beta_high = 0.07"],
        ("estimates", "est_scale_tests"), "equivalent_within_margin", ["beta_high 0.07", "equivalence_margin 0.05"],
    ),
    (
        ["delete from estimates.est_scale_tests where cluster_id = 'beta'"],
        ("estimates", "est_scale_tests"), "clusters_complete", ["beta"],
    ),
    (
        ["update estimates.est_rate_changes set rate_before = 3, rate_after = 6, rate_before_high = 9, "
         "rate_after_high = 9 where changed_at = '2026-02-10'"],
        ("estimates", "est_rate_changes"), "spans_join", ["alpha all 2026-02-10 00:00:00: 3.0, but 2.0"],
    ),
    (
        ["update estimates.est_rate_changes set ratio = 3"],
        ("estimates", "est_rate_changes"), "ratio_is_of_the_rates", ["ratio 3.0", "rate_before 1.0", "rate_after 2.0"],
    ),
    (
        ["update estimates.est_rate_changes set changed_at_low = '2026-03-01'"],
        ("estimates", "est_rate_changes"), "changed_at_inside_limits", ["changed_at_low 2026-03-01"],
    ),
    (
        ["update estimates.est_cause_rates set failures_per_gpu_hour_high = null where failure_category = 'pcie'"],
        ("estimates", "est_cause_rates"), "every_cause_is_bounded", ["pcie", "gpu_hours 192.0"],
    ),
    (
        ["update estimates.est_cause_rates set incident_count = 2"],
        ("estimates", "est_cause_rates"), "incidents_bounded", ["incident_count 2.0", "failure_count 1.0"],
    ),
    (
        ["update estimates.est_check_scores set true_share = 0.5 where check_name = 'link flaps'"],
        ("estimates", "est_check_scores"), "true_share_inside_limits", ["true_share 0.5", "high 0.1"],
    ),
    (
        ["update estimates.est_check_scores set judged_count = 41 where check_name = 'check pci'"],
        ("estimates", "est_check_scores"), "judged_of_seen", ["judged_count 41", "event_count 40"],
    ),
    (
        ["update estimates.est_check_scores set verdict = 'keep' where check_name = 'link flaps'"],
        ("estimates", "est_check_scores"), "verdict_follows_limits", ["verdict keep", "low 0.0"],
    ),
    (
        ["update estimates.est_location_rates set high = 5"],
        ("estimates", "est_location_rates"), "ratio_inside_limits", ["ratio 6.0", "high 5.0"],
    ),
    (
        ["update estimates.est_location_rates set q_value = 0.3"],
        ("estimates", "est_location_rates"), "verdict_has_its_reason", ["verdict fails more", "q_value 0.3"],
    ),
    (
        ["update estimates.est_location_rates set independent_mttf_hours = 11"],
        ("estimates", "est_location_rates"), "jobs_last_no_shorter_with_common_causes", ["mttf_hours 9.5"],
    ),
    (
        ["update estimates.est_hidden_failures set odds_ratio = 9 where node_id = 'n2'"],
        ("estimates", "est_hidden_failures"), "odds_ratio_inside_limits", ["odds_ratio 9.0", "high 8.0"],
    ),
    (
        ["update estimates.est_hidden_failures set held_gpu_hours = 41 where kind = 'idle_gpus'"],
        ("estimates", "est_hidden_failures"), "held_of_known", ["held_gpu_hours 41.0", "exposure 40.0"],
    ),
    (
        ["update estimates.est_hidden_failures set is_suspect = true where node_id is not null"],
        ("estimates", "est_hidden_failures"), "suspects_stand_out", ["node_id n1", "q_value 0.1"],
    ),
    (
        ["update estimates.est_changes set ratio = 0.9 where change_kind = 'driver'"],
        ("estimates", "est_changes"), "ratio_inside_limits", ["ratio 0.9", "high 0.8"],
    ),
    (
        ["update estimates.est_changes set q_value = 0"],
        ("estimates", "est_changes"), "q_value_above_p_value", ["p_value 0.001", "q_value 0.0"],
    ),
    (
        ["update estimates.est_changes set verdict = 'hurt' where change_kind = 'check'"],
        ("estimates", "est_changes"), "verdict_follows", ["check", "verdict hurt"],
    ),
    (
        ["update estimates.est_changes set changed_node_count = 9"],
        ("estimates", "est_changes"), "in_order", ["changed_node_count 9", "node_count 8"],
    ),
    (
        ["update estimates.est_evidence_reach set reach = 0.95 where month_date is null"],
        ("estimates", "est_evidence_reach"), "reach_inside_limits", ["reach 0.95", "high 0.9"],
    ),
    (
        ["update estimates.est_evidence_reach set reach = null"],
        ("estimates", "est_evidence_reach"), "unknown_reach_has_a_reason", ["alpha", "month_date 2026-01-01"],
    ),
    (
        ["update estimates.est_evidence_reach set compared_count = 5"],
        ("estimates", "est_evidence_reach"), "compared_of_counted", ["compared_count 5.0", "counted_count 4.0"],
    ),
    (
        ["update estimates.est_repairs set relapse_30d_ratio = 0.2 where failure_category = 'pcie'"],
        ("estimates", "est_repairs"), "relapses_grow_with_time", ["pcie", "relapse_7d_ratio 0.25"],
    ),
    (
        ["update estimates.est_repairs set event_count = 5"],
        ("estimates", "est_repairs"), "relapses_within_repairs", ["event_count 5.0", "repair_count 4"],
    ),
    (
        ["update estimates.est_repairs set p_value = null"],
        ("estimates", "est_repairs"), "verdict_needs_test", ["verdict relapses sooner"],
    ),
    (
        ["update estimates.est_forecast_scores set log_score = -1 where not is_over"],
        ("estimates", "est_forecast_scores"), "only_what_is_over_is_scored", ["month_date 2026-03-01"],
    ),
    (
        ["update estimates.est_forecast_scores set exposure = 300 where month_date = '2026-03-01'"],
        ("estimates", "est_forecast_scores"), "history_is_what_came_before", ["300.0 node-days, 200.0 before it"],
    ),
    (
        ["update estimates.est_rate_ratios set p_value = 0.5"],
        ("estimates", "est_rate_ratios"), "p_value_agrees_with_limits", ["p_value 0.5", "ratio_low 1.1"],
    ),
    (
        ["update estimates.est_rate_ratios set node_days = 8"],
        ("estimates", "est_rate_ratios"), "ratio_is_of_its_counts", ["ratio 4.0", "node_days 8.0"],
    ),
    (
        ["update estimates.est_time_to_failure set weibull_shape_high = 1.2"],
        ("estimates", "est_time_to_failure"), "verdict_follows_limits", ["verdict falls", "weibull_shape_high 1.2"],
    ),
    (
        ["update estimates.est_time_to_failure set event_count = 3"],
        ("estimates", "est_time_to_failure"), "failures_among_those_of_the_size", ["alpha 16: 3.0 of 1 failures"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("statements", "name", "check", "words"),
    ANOMALIES,
    ids=[f"{'.'.join(case[1])} fails {case[2]}" for case in ANOMALIES],
)
def test_a_planted_anomaly_is_named(own_warehouse, statements, name, check, words):
    spoil(own_warehouse, *statements)
    verdict = failed(own_warehouse, *name)[check]
    assert verdict.table_name == ".".join(name)
    for word in words:
        assert word in str(verdict)


@pytest.mark.parametrize("table", ["est_failure_rates", "est_rate_ratios"])
def test_failures_without_run_time_break_no_rule_where_no_rate_is_given(own_warehouse, table):
    """One attempt that failed as it began must not stop its cluster, nor those that it is compared with."""
    spoil(own_warehouse, f"update estimates.{table} set event_count = 3, exposure = 0, method = 'no_exposure'")
    assert "value_needs_evidence" not in failed(own_warehouse, "estimates", table)


def test_a_line_of_the_breaker_reads_as_promised(own_warehouse):
    spoil(own_warehouse, BREAK_17_OF_337)
    assert str(failed(own_warehouse, "ops", "files")["breaker"]).startswith(
        "raw: ops.files breaker: alpha/sacct/all.psv: 17 of 303 lines quarantined (5.6% > 1.0%), "
        "first: line 12 unknown_state 'FOO'"
    )


def test_unknown_nodes_and_a_truncated_end_do_not_fail_the_share_of_quarantined_lines(own_warehouse):
    spoil(own_warehouse, BREAK_17_OF_337.replace("bad_timestamp", "unknown_node"))
    assert "breaker" not in failed(own_warehouse, "ops", "files")


def test_one_bad_line_in_a_short_file_is_tolerated(own_warehouse):
    spoil(own_warehouse, "insert into ops.quarantine values ('beta', 'beta/sacct/all.psv', 2, 'field_count', '', '')")
    assert "breaker" not in failed(own_warehouse, "ops", "files")


def test_a_cluster_can_set_the_tolerated_share_of_quarantined_lines(own_warehouse):
    spoil(own_warehouse, BREAK_17_OF_337, "update raw.clusters set quarantine_max_share = 0.1")
    assert "breaker" not in failed(own_warehouse, "ops", "files")
