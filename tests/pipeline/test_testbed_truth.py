"""What the genuine capture is known to hold, asked back from the published warehouse.

`truth/ground_truth.json` of the capture says what was done to the cluster. Job ids stand for it here; the tables are
asked for the attempt of the job that ended in the state the injection caused.
"""

from __future__ import annotations

import json

import pytest

from tests.conftest import FIXTURES
from tests.slurm.planted import planted_failures

# job: state, culprit, category, rule
INFRASTRUCTURE_FAILURES = {
    44: ("NODE_FAIL", "node009", "node_fail_unattributed", "node_fail_named_node"),  # power loss
    45: ("NODE_FAIL", "node010", "node_fail_unattributed", "node_fail_named_node"),  # power loss, same second
    51: ("NODE_FAIL", "node001", "node_fail_unattributed", "node_fail_named_node"),  # unexpected reboot
    52: ("NODE_FAIL", "node003", "host_hardware", "administrator_down"),  # taken down for its power supply
    56: ("FAILED", "node002", "gpu_unavailable", "evidence_on_attempt_node"),  # Xid 79
    58: ("REQUEUED", "node001", "gpu_memory", "evidence_on_attempt_node"),  # Xid 48
    64: ("NODE_FAIL", "node004", "node_fail_unattributed", "node_fail_named_node"),  # network partition
    66: ("REQUEUED", "node015", "system_services", "prolog_failure"),  # failed prolog
}


def test_the_faults_that_were_planted_are_these():
    truth = json.loads((FIXTURES / "slurm-22.05" / "ground_truth.json").read_text(encoding="utf-8"))
    assert planted_failures(truth) == {(job, *found[:3]) for job, found in INFRASTRUCTURE_FAILURES.items()}


# Jobs near a fault that nothing in the logs lays at its door.
NOT_INFRASTRUCTURE = {
    22: "requeued by itself on node015, whose prolog failed two minutes later",
    62: "Xid 31 is the program's own fault",
    65: "cancelled by its user while an InfiniBand link was down",
    73: "crashed on node001 after its repair: the checks were good and the kernel was silent",
    78: "as the one before",
}


def test_every_record_is_an_attempt(con):
    assert con.execute("select count(*) from marts.fct_attempts").fetchone() == (102,)
    assert con.execute("select count(*) from marts.fct_attempts where not is_terminal").fetchone() == (0,)
    states = dict(con.execute("select state, count(*) from marts.fct_attempts group by 1").fetchall())
    assert states == {
        "COMPLETED": 46,
        "FAILED": 19,
        "REQUEUED": 16,
        "CANCELLED": 8,
        "NODE_FAIL": 5,
        "PREEMPTED": 3,
        "TIMEOUT": 2,
        "RESIZING": 1,
        "OUT_OF_MEMORY": 1,
        "DEADLINE": 1,
    }


def test_infrastructure_failures_are_these_and_no_others(con):
    found = con.execute(
        """
        select attempts.job_id_raw, failures.state, culprit_node_id, failures.failure_category, attribution_rule
        from marts.fct_failures as failures
        inner join marts.fct_attempts as attempts using (cluster_id, attempt_id)
        """
    ).fetchall()
    assert {row[0]: row[1:] for row in found} == INFRASTRUCTURE_FAILURES
    assert len(found) == len(INFRASTRUCTURE_FAILURES)


@pytest.mark.parametrize("job_id", NOT_INFRASTRUCTURE)
def test_what_the_logs_do_not_prove_is_not_claimed(con, job_id):
    flags = con.execute(
        "select distinct is_infrastructure_failure from marts.fct_attempts where job_id_raw = ?", [job_id]
    ).fetchall()
    assert flags == [(False,)]


def test_attributed_failures_show_their_evidence(con):
    primary = con.execute(
        """
        select attempts.job_id_raw, evidence.node_id, events.failure_category, events.source
        from marts.fct_failure_evidence as evidence
        inner join marts.fct_attempts as attempts using (cluster_id, attempt_id)
        inner join marts.fct_health_events as events using (cluster_id, event_id)
        where evidence.is_primary
        """
    ).fetchall()
    assert {row[0]: row[1:3] for row in primary} == {
        job: (node, category)
        for job, (_, node, category, _) in INFRASTRUCTURE_FAILURES.items()
        if category != "node_fail_unattributed"
    }
    xids = con.execute(
        """
        select attempts.job_id_raw, events.code
        from marts.fct_failure_evidence as evidence
        inner join marts.fct_attempts as attempts using (cluster_id, attempt_id)
        inner join marts.fct_health_events as events using (cluster_id, event_id)
        where events.source = 'kernel' and events.code is not null
        """
    ).fetchall()
    assert dict(xids) == {56: 79, 58: 48}


def test_the_nodes_were_watched(con):
    assert con.execute("select distinct has_coverage from marts.fct_failures").fetchall() == [(True,)]


def test_nodes_that_fail_together_are_different_incidents(con):
    same_second = con.execute(
        """
        select count(*), count(distinct incident_id)
        from marts.fct_failures where failed_at = timestamp '2026-11-21 08:03:18'
        """
    ).fetchone()
    assert same_second == (2, 2)
    # node001 failed two jobs within a minute: one incident of the node
    assert con.execute("select count(*), sum(attempt_count) from marts.fct_incidents").fetchone() == (7, 8)


def test_the_log_names_two_instigators_and_the_third_is_inferred(con):
    found = con.execute(
        """
        select victims.job_id_raw, instigators.job_id_raw, is_inferred, is_second_order
        from marts.fct_preemptions as preemptions
        inner join marts.fct_attempts as victims using (cluster_id, attempt_id)
        left join marts.fct_attempts as instigators on instigator_attempt_id = instigators.attempt_id
        order by all
        """
    ).fetchall()
    assert found == [(59, 63, False, False), (60, 63, True, False), (61, 63, False, False)]


def test_a_resized_job_counts_its_gpu_time_once(con):
    segments = con.execute(
        """
        select state, gpu_count, runtime_seconds, is_continuation, run_id = first(run_id) over ()
        from marts.fct_attempts where job_id_raw = 68 order by attempt_number
        """
    ).fetchall()
    assert segments == [("RESIZING", 2, 5, False, True), ("COMPLETED", 1, 16, True, True)]


def test_suspension_is_no_runtime(con):
    assert con.execute("select runtime_seconds from marts.fct_attempts where job_id_raw = 54").fetchone() == (14,)


def test_what_never_started_ran_for_nothing(con):
    rows = con.execute(
        """
        select started_at, queue_seconds, runtime_seconds, node_count, gpu_count, gpu_size_bin
        from marts.fct_attempts where job_id_raw = 55
        """
    ).fetchall()
    assert rows == [(None, None, 0, 0, 0, 0)]


def test_a_job_without_gpus_has_none(con):
    row = con.execute("select gpu_count, gpu_size_bin from marts.fct_attempts where job_id_raw = 3").fetchone()
    assert row == (0, 0)


def test_runs_are_chained_by_dependency_and_resubmission_only(con):
    chained = con.execute(
        """
        select list(distinct job_id_raw order by job_id_raw)
        from marts.fct_attempts group by run_id having count(distinct job_id_raw) > 1 order by 1
        """
    ).fetchall()
    assert chained == [([39, 40, 41],), ([56, 57],)]
    crash_loop = con.execute(
        """
        select attempt_count, interruption_count, final_state
        from marts.fct_job_runs where job_name = 'crashloop-dies'
        """
    ).fetchone()
    assert crash_loop == (6, 5, "FAILED")


def test_outages_are_merged_and_maintenance_is_planned(con):
    assert con.execute("select count(*) from marts.fct_node_outages").fetchone() == (11,)
    planned = con.execute("select node_id, reason from marts.fct_node_outages where is_planned").fetchall()
    assert planned == [("node004", "maint: replace IB cable mlx5_3")]


def test_shares_and_rates_follow_from_the_attempts(con):
    infrastructure = con.execute(
        "select attempt_count, attempt_ratio from marts.agg_job_states where state = 'INFRASTRUCTURE'"
    ).fetchone()
    assert infrastructure == (8, 8 / 102)
    causes = con.execute("select failure_category, failure_count from marts.agg_failure_rates_by_cause").fetchall()
    assert dict(causes) == {
        "node_fail_unattributed": 4,
        "host_hardware": 1,
        "gpu_unavailable": 1,
        "gpu_memory": 1,
        "system_services": 1,
    }


def test_node_days_hold_all_gpu_time(con):
    hours = con.execute(
        """
        select
            (select sum(allocated_gpu_hours) from marts.fct_node_days),
            (select sum(gpu_hours) from marts.fct_attempts)
        """
    ).fetchone()
    assert hours[0] == pytest.approx(hours[1], rel=1e-9)
    assert con.execute("select sum(failure_count) from marts.fct_node_days").fetchone() == (8,)
