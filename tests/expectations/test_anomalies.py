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
        ["update ops.files set first_at = '2099-01-01' where kind = 'sacct'"],
        ("ops", "files"), "begins_before_now", ["this machine's clock says", "2099-01-01", "set the clock"],
    ),
    (
        ["update ops.skips set line_count = 30 where reason = 'step'"],
        ("ops", "files"), "skips_explained", ["alpha/sacct/all.psv: 34 skipped, 31 explained"],
    ),
    (["delete from ops.quarantine"], ("ops", "files"), "quarantine_kept", ["1 quarantined, 0 kept"]),
    (
        ["update raw.sacct set elapsed_seconds = -5 where job_id_raw = 3"],
        ("raw", "sacct"), "numbers_possible", ["job_id 3", "elapsed_seconds -5"],
    ),
    (
        ["update raw.sacct set ended_at = started_at - interval 1 hour where job_id_raw = 3"],
        ("raw", "sacct"), "times_in_order", ["job_id 3", "ended_at 2026-01-01 02:00:00"],
    ),
    (
        ["update raw.sacct set gpu_count = 1000 where job_id_raw = 3"],
        ("raw", "sacct"), "gpu_count_possible", ["job_id 3", "gpu_count 1000"],
    ),
    (["update raw.sacct set state = 'FOO' where job_id_raw = 3"], ("raw", "sacct"), "values_known", ["'FOO'"]),
    (
        ["update raw.sacct set submitted_at = '1970-01-01' where job_id_raw = 3"],
        ("raw", "sacct"), "times_believable", ["job_id 3", "1970-01-01"],
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
        ("raw", "health_checks"), "values_known", ["'MAYBE'"],
    ),
    (
        ["update raw.kernel_messages set occurred_at = '2099-01-01'"],
        ("raw", "kernel_messages"), "times_believable", ["node001", "2099-01-01"],
    ),
    (["update raw.kernel_messages set code = 0"], ("raw", "kernel_messages"), "codes_possible", ["code 0"]),
    (
        ["update raw.slurmctld_events set instigator_job_id_raw = job_id_raw"],
        ("raw", "slurmctld_events"), "preemptions_possible", ["job_id_raw 1"],
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
        ("marts", "fct_attempts"), "numbers_possible", ["alpha:3:", "runtime_seconds -5"],
    ),
    (
        ["update marts.fct_attempts set gpu_hours = -5 where job_id = '3'"],
        ("marts", "fct_attempts"), "numbers_possible", ["alpha:3:", "gpu_hours -5"],
    ),
    (
        ["update marts.fct_attempts set started_at = submitted_at - interval 1 second where job_id = '3'"],
        ("marts", "fct_attempts"), "times_in_order", ["alpha:3:"],
    ),
    (
        ["update marts.fct_attempts set ended_at = started_at - interval 1 second where job_id = '3'"],
        ("marts", "fct_attempts"), "times_in_order", ["alpha:3:"],
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
        ["update marts.fct_node_outages set requested_at = started_at + interval 1 second"],
        ("marts", "fct_node_outages"), "times_in_order", ["node001"],
    ),
    (
        ["update marts.fct_node_days set out_of_service_hours = 24.5 where node_id = 'node001'"],
        ("marts", "fct_node_days"), "hours_within_day", ["node001", "out_of_service_hours 24.5"],
    ),
    (
        ["delete from marts.fct_attempts where job_id = '3'"],
        ("marts", "fct_attempts"), "records_complete", ["alpha: 5 here, 6 expected"],
    ),
    (
        ["update marts.agg_job_states set attempt_ratio = 1.2 where state = 'COMPLETED'"],
        ("marts", "agg_job_states"), "shares_in_0_1", ["COMPLETED", "attempt_ratio 1.2"],
    ),
    (
        ["update marts.fct_health_events set observed_at = '2026-01-01 05:30'"],
        ("marts", "fct_health_events"), "completed_with_evidence", ["alpha: 2 of 4"],
    ),
    (
        ["update marts.fct_job_runs set ettr = 1.2 where run_id like 'alpha:3:%'"],
        ("marts", "fct_job_runs"), "shares_in_0_1", ["ettr 1.2"],
    ),
    (
        ["update marts.fct_job_runs set ettr = 'nan' where run_id like 'alpha:3:%'"],
        ("marts", "fct_job_runs"), "shares_in_0_1", ["ettr nan"],
    ),
    (
        ["update marts.fct_node_days set allocated_gpu_hours = 400 where node_id = 'node001'"],
        ("marts", "fct_node_days"), "allocated_within_day", ["day_date 2026-01-01, allocated_gpu_hours 400.0"],
    ),
    (
        ["update estimates.est_failure_rates set failures_per_1000_node_days = 9999"],
        ("estimates", "est_failure_rates"), "values_inside_limits",
        ["alpha", "failures_per_1000_node_days 9999.0, failures_per_1000_node_days_high 2000.0"],
    ),
    (
        ["update estimates.est_mttf_by_size set mttf_hours = 'inf'"],
        ("estimates", "est_mttf_by_size"), "numbers_possible", ["mttf_hours inf"],
    ),
    (
        ["update estimates.est_ettr_by_size set ettr_measured_high = 'inf'"],
        ("estimates", "est_ettr_by_size"), "shares_in_0_1", ["ettr_measured_high inf"],
    ),
    (
        ["update estimates.est_failure_rates set exposure = null"],
        ("estimates", "est_failure_rates"), "evidence_stated", ["event_count 1", "exposure NULL"],
    ),
    (
        ["update estimates.est_failure_rates set confidence_level = null"],
        ("estimates", "est_failure_rates"), "evidence_stated", ["confidence_level NULL"],
    ),
    (
        ["update estimates.est_ettr_by_size set ettr_measured_low = 0.9"],
        ("estimates", "est_ettr_by_size"), "values_inside_limits", ["ettr_measured 0.75", "low 0.9"],
    ),
    (
        ["update estimates.est_ettr_by_qos set progress_ratio = 0.84"],
        ("estimates", "est_ettr_by_qos"), "values_inside_limits", ["high", "progress_ratio 0.84"],
    ),
    (
        ["update estimates.est_checkpoint_plans set probability_ettr_ge_target = 1.5 where gpu_count = 8"],
        ("estimates", "est_checkpoint_plans"), "shares_in_0_1", ["probability_ettr_ge_target 1.5"],
    ),
    (
        ["update estimates.est_checkpoint_plans set ettr_run_low = 0.95 where gpu_count = 8"],
        ("estimates", "est_checkpoint_plans"), "values_inside_limits", ["ettr_run_low 0.95"],
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
        ["delete from estimates.est_scale_tests where cluster_id = 'beta'"],
        ("estimates", "est_scale_tests"), "clusters_complete", ["beta"],
    ),
    (
        ["update estimates.est_rate_changes set changed_at_low = '2026-03-01'"],
        ("estimates", "est_rate_changes"), "values_inside_limits", ["changed_at_low 2026-03-01"],
    ),
    (
        ["update estimates.est_check_scores set true_share = 0.5 where check_name = 'link flaps'"],
        ("estimates", "est_check_scores"), "values_inside_limits", ["true_share 0.5", "high 0.1"],
    ),
    (
        ["update estimates.est_location_rates set high = 5"],
        ("estimates", "est_location_rates"), "values_inside_limits", ["ratio 6.0", "high 5.0"],
    ),
    (
        ["update estimates.est_hidden_failures set odds_ratio = 9 where node_id = 'n2'"],
        ("estimates", "est_hidden_failures"), "values_inside_limits", ["odds_ratio 9.0", "high 8.0"],
    ),
    (
        ["update estimates.est_changes set ratio = 0.9 where change_kind = 'driver'"],
        ("estimates", "est_changes"), "values_inside_limits", ["ratio 0.9", "high 0.8"],
    ),
    (
        ["update estimates.est_evidence_reach set reach = 0.95 where month_date is null"],
        ("estimates", "est_evidence_reach"), "values_inside_limits", ["reach 0.95", "high 0.9"],
    ),
    (
        ["update estimates.est_time_to_failure set event_count = 3"],
        ("estimates", "est_time_to_failure"), "failures_among_those_of_the_size", ["alpha 16: 3.0 of 1 failures"],
    ),
    (["update raw.node_events set node_name = null"], ("raw", "node_events"), "node_named", ["line_number"]),
    (["update raw.nodes set cpu_count = 0"], ("raw", "nodes"), "cpu_count_possible", ["node001", "cpu_count 0"]),
    (
        ["update marts.fct_attempts set gpu_count_source = 'refuted' where job_id = '3'"],
        ("marts", "fct_attempts"), "gpus_of_nodes", ["job_id 3"],
    ),
    (
        ["update marts.fct_attempts set is_infrastructure_failure = true"],
        ("marts", "fct_attempts"), "failures_believable", ["alpha: 6 of 6"],
    ),
    (
        ["insert into marts.fct_preemptions by name "
         "select 'alpha' as cluster_id, 'alpha:1' as attempt_id, 'alpha:1' as instigator_attempt_id"],
        ("marts", "fct_preemptions"), "not_of_itself", ["instigator_attempt_id alpha:1"],
    ),
    (
        ["update marts.fct_health_events set last_ok_at = observed_at + interval 1 second"],
        ("marts", "fct_health_events"), "times_in_order", ["last_ok_at", "observed_at"],
    ),
    (
        ["delete from estimates.est_rate_changes where cluster_id = 'alpha'"],
        ("estimates", "est_rate_changes"), "clusters_complete", ["alpha"],
    ),
    (
        ["update estimates.est_lemon_evaluations set judged_end_date = window_end_date - 1"],
        ("estimates", "est_lemon_evaluations"), "times_in_order", ["alpha", "judged_end_date"],
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
