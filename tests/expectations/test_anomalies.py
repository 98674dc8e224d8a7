"""Every planted anomaly fails its check, and the message names the table and the value."""

import pytest

from tests.expectations.judging import failed, spoil

BREAK_17_OF_337 = """
    insert into ops.quarantine
    select 'alpha', 'alpha/sacct/all.psv', 12 + i, 'bad_timestamp', 'x', 'raw' from range(1, 17) t(i)
"""
ANOMALIES = [
    # The table, the check that must fail, the planting statements, and words of the message.
    ("ops.files", "breaker",
     (BREAK_17_OF_337, "update ops.files set quarantined = 17, loaded = 286 where lines_in = 337"),
     "alpha/sacct/all.psv: 17 of 303 lines quarantined (5.6% > 1.0%), first: line 12 unknown_state 'FOO'"),
    ("ops.files", "identity", "update ops.files set loaded = loaded - 1 where lines_in = 337",
     "alpha/sacct/all.psv", "lines_in 337", "loaded 301", "quarantined 1"),
    ("ops.files", "begins_before_now", "update ops.files set first_at = '2099-01-01' where kind = 'sacct'",
     "this machine's clock says", "2099-01-01", "set the clock"),
    ("ops.files", "skips_explained", "update ops.skips set line_count = 30 where reason = 'step'",
     "alpha/sacct/all.psv: 34 skipped, 31 explained"),
    ("ops.files", "quarantine_kept", "delete from ops.quarantine", "1 quarantined, 0 kept"),
    ("raw.sacct", "numbers_possible", "update raw.sacct set elapsed_seconds = -5 where job_id_raw = 3",
     "job_id 3", "elapsed_seconds -5"),
    ("raw.sacct", "times_in_order", "update raw.sacct set ended_at = started_at - interval 1 hour where job_id_raw = 3",
     "job_id 3", "ended_at 2026-01-01 02:00:00"),
    ("raw.sacct", "gpu_count_possible", "update raw.sacct set gpu_count = 1000 where job_id_raw = 3",
     "job_id 3", "gpu_count 1000"),
    ("raw.sacct", "values_known", "update raw.sacct set state = 'FOO' where job_id_raw = 3", "'FOO'"),
    ("raw.sacct", "times_believable", "update raw.sacct set submitted_at = '1970-01-01' where job_id_raw = 3",
     "job_id 3", "1970-01-01"),
    ("raw.sacct", "records_present", "delete from raw.sacct where cluster_id = 'beta'", "beta"),
    ("raw.sacct", "duplicates_share",
     "insert into raw.sacct select s.* replace ('duplicate' as disposition) from raw.sacct s, range(99)",
     "alpha: 694 of 700"),
    ("raw.sacct", "odd_records", "update raw.sacct set warnings = ['elapsed_mismatch'] where job_id_raw = 3",
     "alpha: 1 of 6 records have elapsed_mismatch"),
    ("raw.kernel_messages", "codes_possible", "update raw.kernel_messages set code = 0", "code 0"),
    ("raw.slurmctld_events", "preemptions_possible",
     "update raw.slurmctld_events set instigator_job_id_raw = job_id_raw", "job_id_raw 1"),
    ("raw.tickets", "nodes_known", "update raw.tickets set disposition = 'unknown_node'",
     "1 of 1", "node001", "cluster.toml"),
    ("marts.fct_attempts", "times_in_order",
     "update marts.fct_attempts set ended_at = started_at - interval 1 second where job_id = '3'", "alpha:3:"),
    ("marts.fct_attempts", "ends_complete", "update marts.fct_attempts set runtime_seconds = null where job_id = '3'",
     "alpha:3:", "runtime_seconds NULL"),
    ("marts.fct_node_days", "hours_within_day",
     "update marts.fct_node_days set out_of_service_hours = 24.5 where node_id = 'node001'",
     "node001", "out_of_service_hours 24.5"),
    ("marts.fct_attempts", "records_complete", "delete from marts.fct_attempts where job_id = '3'",
     "alpha: 5 here, 6 expected"),
    ("marts.agg_job_states", "shares_in_0_1",
     "update marts.agg_job_states set attempt_ratio = 1.2 where state = 'COMPLETED'", "COMPLETED", "attempt_ratio 1.2"),
    ("marts.fct_health_events", "completed_with_evidence",
     "update marts.fct_health_events set observed_at = '2026-01-01 05:30'", "alpha: 2 of 4"),
    ("marts.fct_job_runs", "shares_in_0_1", "update marts.fct_job_runs set ettr = 'nan' where run_id like 'alpha:3:%'",
     "ettr nan"),
    ("marts.fct_node_days", "allocated_within_day",
     "update marts.fct_node_days set allocated_gpu_hours = 400 where node_id = 'node001'",
     "day_date 2026-01-01, allocated_gpu_hours 400.0"),
    ("estimates.est_failure_rates", "values_inside_limits",
     "update estimates.est_failure_rates set failures_per_1000_node_days = 9999",
     "alpha", "failures_per_1000_node_days 9999.0, failures_per_1000_node_days_high 2000.0"),
    ("estimates.est_mttf_by_size", "numbers_possible", "update estimates.est_mttf_by_size set mttf_hours = 'inf'",
     "mttf_hours inf"),
    ("estimates.est_failure_rates", "evidence_stated", "update estimates.est_failure_rates set exposure = null",
     "event_count 1", "exposure NULL"),
    ("estimates.est_checkpoint_plans", "values_inside_limits",
     "update estimates.est_checkpoint_plans set ettr_run_low = 0.95 where gpu_count = 8", "ettr_run_low 0.95"),
    ("marts.agg_failure_rates_daily", "days_complete",
     "update marts.agg_failure_rates_daily set day_date = day_date + 3 where failure_count = 0",
     "2 rows from 2026-01-01 to 2026-01-05"),
    ("marts.agg_failure_rates_daily", "failures_reconcile",
     "update marts.agg_failure_rates_daily set failure_count = 0", "alpha: 0 here, 1 expected"),
    ("estimates.est_scale_tests", "clusters_complete",
     "delete from estimates.est_scale_tests where cluster_id = 'beta'", "beta"),
    ("estimates.est_rate_changes", "values_inside_limits",
     "update estimates.est_rate_changes set changed_at_low = '2026-03-01'", "changed_at_low 2026-03-01"),
    ("estimates.est_check_scores", "values_inside_limits",
     "update estimates.est_check_scores set true_share = 0.5 where check_name = 'link flaps'",
     "true_share 0.5", "high 0.1"),
    ("estimates.est_time_to_failure", "failures_among_those_of_the_size",
     "update estimates.est_time_to_failure set event_count = 3", "alpha 16: 3.0 of 1 failures"),
    ("raw.node_events", "node_named", "update raw.node_events set node_name = null", "line_number"),
    ("marts.fct_attempts", "gpus_of_nodes",
     "update marts.fct_attempts set gpu_count_source = 'refuted' where job_id = '3'", "job_id 3"),
    ("marts.fct_attempts", "failures_believable", "update marts.fct_attempts set is_infrastructure_failure = true",
     "alpha: 6 of 6"),
    ("marts.fct_preemptions", "not_of_itself",
     "insert into marts.fct_preemptions by name select 'alpha' as cluster_id, 'alpha:1' as attempt_id, "
     "'alpha:1' as instigator_attempt_id",
     "instigator_attempt_id alpha:1"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("table", "check", "statements", "words"),
    [(*row[:3], row[3:]) for row in ANOMALIES],
    ids=[f"{table} fails {check}" for table, check, *_ in ANOMALIES],
)
def test_a_planted_anomaly_is_named(own_warehouse, table, check, statements, words):
    spoil(own_warehouse, *([statements] if isinstance(statements, str) else statements))
    verdict = failed(own_warehouse, *table.split("."))[check]
    assert verdict.table_name == table
    for word in words:
        assert word in str(verdict)


@pytest.mark.parametrize("table", ["est_failure_rates", "est_rate_ratios"])
def test_failures_without_run_time_break_no_rule_where_no_rate_is_given(own_warehouse, table):
    """One attempt that failed as it began must not stop its cluster, nor the clusters compared with it."""
    spoil(own_warehouse, f"update estimates.{table} set event_count = 3, exposure = 0, method = 'no_exposure'")
    assert "value_needs_evidence" not in failed(own_warehouse, "estimates", table)


@pytest.mark.parametrize(
    "statements",
    [
        # unknown nodes and a truncated end are not doubtful, and one bad line in a short file is tolerated
        (BREAK_17_OF_337.replace("bad_timestamp", "unknown_node"),),
        ("insert into ops.quarantine values ('beta', 'beta/sacct/all.psv', 2, 'field_count', '', '')",),
        (BREAK_17_OF_337, "update raw.clusters set quarantine_max_share = 0.1"),
    ],
    ids=["unknown nodes", "a short file", "a share of the cluster's own"],
)
def test_a_share_of_quarantined_lines_is_tolerated(own_warehouse, statements):
    spoil(own_warehouse, *statements)
    assert "breaker" not in failed(own_warehouse, "ops", "files")
