"""The known content of the genuine capture, compared with the published warehouse.

`ground_truth.json` of the capture lists the injected faults. Here, job ids identify them; the queries look for the
job's attempt that ended in the state caused by the injection.
"""

from __future__ import annotations

import pytest

from tests.conftest import FIXTURES
from tests.slurm.planted import failures_missed, planted_failures

TRUTH = FIXTURES / "slurm-22.05" / "ground_truth.json"
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
STATES = {
    "COMPLETED": 46, "FAILED": 19, "REQUEUED": 16, "CANCELLED": 8, "NODE_FAIL": 5, "PREEMPTED": 3, "TIMEOUT": 2,
    "RESIZING": 1, "OUT_OF_MEMORY": 1, "DEADLINE": 1,
}  # fmt: skip
EVIDENCE = """
    from marts.fct_failure_evidence as evidence
    inner join marts.fct_attempts as attempts using (cluster_id, attempt_id)
    inner join marts.fct_health_events as events using (cluster_id, event_id)
"""
ANSWERS = {
    "every record is an attempt that is over": (
        "select count(*), count(*) filter (is_terminal) from marts.fct_attempts", [(102, 102)],
    ),
    "states": (
        "select state, count(*) from marts.fct_attempts group by 1 order by 2 desc, 1",
        sorted(STATES.items(), key=lambda state: (-state[1], state[0])),
    ),
    "infrastructure failures, and no others": (
        """
        select job_id_raw, failures.state, culprit_node_id, failures.failure_category, attribution_rule
        from marts.fct_failures as failures inner join marts.fct_attempts using (cluster_id, attempt_id) order by 1
        """,
        [(job, *found) for job, found in INFRASTRUCTURE_FAILURES.items()],
    ),
    # 22: requeued by itself on node015, where the prolog failed two minutes later; 62: Xid 31 is the program's fault;
    # 65: cancelled by its user while an InfiniBand link was down; 73, 78: crashed on node001 after its repair, when
    # the checks were good and the kernel was silent.
    "what the logs do not prove": (
        "select job_id_raw, bool_or(is_infrastructure_failure) from marts.fct_attempts "
        "where job_id_raw in (22, 62, 65, 73, 78) group by 1 order by 1",
        [(job, False) for job in (22, 62, 65, 73, 78)],
    ),
    "the evidence of what is attributed": (
        f"select attempts.job_id_raw, evidence.node_id, events.failure_category {EVIDENCE} where is_primary order by 1",
        [(job, *found[1:3]) for job, found in INFRASTRUCTURE_FAILURES.items() if "unattributed" not in found[2]],
    ),
    "Xids": (
        f"select distinct attempts.job_id_raw, code {EVIDENCE} where source = 'kernel' and code is not null order by 1",
        [(56, 79), (58, 48)],
    ),
    "the nodes were watched": ("select distinct has_coverage from marts.fct_failures", [(True,)]),
    "nodes that fail in the same second are two incidents": (
        "select count(*), count(distinct incident_id) from marts.fct_failures where failed_at = '2026-11-21 08:03:18'",
        [(2, 2)],
    ),
    "two failures of node001 within a minute are one": (
        "select count(*), sum(attempt_count) from marts.fct_incidents", [(7, 8)],
    ),
    "the log names two instigators, and the third is inferred": (
        """
        select victims.job_id_raw, instigators.job_id_raw, is_inferred, is_second_order
        from marts.fct_preemptions
        inner join marts.fct_attempts as victims using (cluster_id, attempt_id)
        left join marts.fct_attempts as instigators on instigator_attempt_id = instigators.attempt_id
        order by all
        """,
        [(59, 63, False, False), (60, 63, True, False), (61, 63, False, False)],
    ),
    "a resized job counts its GPU time once": (
        """
        select state, gpu_count, runtime_seconds, is_continuation, run_id = first(run_id) over ()
        from marts.fct_attempts where job_id_raw = 68 order by attempt_number
        """,
        [("RESIZING", 2, 5, False, True), ("COMPLETED", 1, 16, True, True)],
    ),
    "suspension is no runtime": ("select runtime_seconds from marts.fct_attempts where job_id_raw = 54", [(14,)]),
    "what never started ran for nothing": (
        "select started_at, queue_seconds, runtime_seconds, node_count, gpu_count, gpu_size_bin "
        "from marts.fct_attempts where job_id_raw = 55",
        [(None, None, 0, 0, 0, 0)],
    ),
    "a job without GPUs": (
        "select gpu_count, gpu_size_bin from marts.fct_attempts where job_id_raw = 3", [(0, 0)],
    ),
    "runs are chained by dependency and resubmission only": (
        """
        select list(distinct job_id_raw order by job_id_raw)
        from marts.fct_attempts group by run_id having count(distinct job_id_raw) > 1 order by 1
        """,
        [([39, 40, 41],), ([56, 57],)],
    ),
    "a crash loop": (
        "select attempt_count, interruption_count, final_state from marts.fct_job_runs "
        "where job_name = 'crashloop-dies'",
        [(6, 5, "FAILED")],
    ),
    "outages are merged, and maintenance is planned": (
        "select count(*), list((node_id, reason)) filter (is_planned) from marts.fct_node_outages",
        [(11, [("node004", "maint: replace IB cable mlx5_3")])],
    ),
    "shares follow from the attempts": (
        "select attempt_count, attempt_ratio from marts.agg_job_states where state = 'INFRASTRUCTURE'", [(8, 8 / 102)],
    ),
    "rates follow from the failures": (
        "select failure_category, failure_count from marts.agg_failure_rates_by_cause order by 2 desc, 1",
        [("node_fail_unattributed", 4), ("gpu_memory", 1), ("gpu_unavailable", 1), ("host_hardware", 1),
         ("system_services", 1)],
    ),
    "node-days hold all failures": ("select sum(failure_count) from marts.fct_node_days", [(8,)]),
}  # fmt: skip


def test_the_planted_faults_are_the_failures_that_are_found(built_warehouse):
    assert planted_failures(TRUTH) == {(job, *found[:3]) for job, found in INFRASTRUCTURE_FAILURES.items()}
    assert failures_missed(built_warehouse, "testbed", TRUTH, is_shared=False) == []


@pytest.mark.parametrize(("query", "expected"), ANSWERS.values(), ids=ANSWERS)
def test_the_published_tables_say_what_was_done(con, query, expected):
    assert con.execute(query).fetchall() == expected


def test_node_days_hold_all_gpu_time(con):
    by_day = "(select sum(allocated_gpu_hours) from marts.fct_node_days)"
    days, attempts = con.execute(f"select {by_day}, sum(gpu_hours) from marts.fct_attempts").fetchone()
    assert days == pytest.approx(attempts, rel=1e-9)
