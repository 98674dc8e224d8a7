"""What records say and what they do not: GPUs, jobs that never started, Xids, excluded nodes, attempts not exported."""

import itertools
import json
from collections.abc import Iterable
from datetime import timedelta

import pytest

from tests.logs import Cluster, at

WAITED = {"NodeList": "None assigned", "AllocTRES": "", "ElapsedRaw": "0"}
NO_NODES = "JobID|JobIDRaw|JobName|User|Partition|Submit|Eligible|Start|End|ElapsedRaw|State|ExitCode|AllocTRES"
HEADER = "JOBID|JOBID|STATE|SUBMIT_TIME|START_TIME|USER|PARTITION|NODES|NODELIST|EXC_NODES|REASON"


def requeued(state: str = "COMPLETED", **fields: str) -> Cluster:
    """Job 2 ran from 1:00, was requeued at 3:00 and ran again; only its last record is there."""
    return (
        Cluster()
        .job(1, "n[1-2]", at(0), at(1))
        .job(2, "n[1-2]", at(4), at(6), state, submit=at(3), **fields)
        .job(3, "n1", at(7), at(8))
    )


WINDOWS = {
    "none": [()],
    "days": [(24, 48)],
    "hours": [range(1, 49)],
    "at 23:59:59": [(24 - 1 / 3600, 24, 48 - 1 / 3600, 48)],
    "days and weeks": [(24, 48), ()],
    "days and half days": [(24, 48), range(12, 49, 12)],
}
"""Edges, in hours, of the windows of exports of the same jobs; the second between two windows is in none."""


def truncated(cluster: Cluster, first_job: int, edges: Iterable[float], is_rolling: bool) -> None:
    """Add jobs as `sacct -T` shows them in windows between edges; a rolling export sees those running that go on.

    The first runs from 2:00 to 30:00 and fails, two of its hours suspended from 5:00; the second still runs at 49:00;
    the third is resized at 20:00 and runs from 10:00 to 27:00; the fourth is requeued in the second of its submission.
    """
    jobs = [
        (0, "n1", 1, 2, 30, "FAILED", (5, 7)),
        (1, "n2", 3, 4, None, "RUNNING", (0, 0)),
        (2, "n[3-4]", 10, 10, 20, "RESIZING", (0, 0)),
        (2, "n3", 20, 10, 27, "COMPLETED", (0, 0)),
        (3, "n5", 23, 23, 23, "REQUEUED", (0, 0)),
        (3, "n5", 23, 23.5, 26, "NODE_FAIL", (0, 0)),
    ]
    for since, until in itertools.pairwise((0, *edges, 49)):
        for number, nodes, submit, start, end, state, (paused, resumed) in jobs:
            if until - since < 0.001 or max(submit, start) > until or (end is not None and end < since):
                continue
            from_hour, to_hour = max(start, since), min(end or until, until)
            idle = max(0, min(to_hour, resumed) - max(from_hour, paused))
            cluster.job(
                first_job + number,
                nodes,
                at(from_hour),
                at(to_hour),
                "RUNNING" if is_rolling and (end is None or end > until) else state,
                submit=at(submit),
                ElapsedRaw=str(round((to_hour - from_hour - idle) * 3600)),
                Suspended=str(timedelta(hours=idle)),
            )


def slices() -> Cluster:
    """Give the same jobs in all windows, those of each from a hundred on, and last one of which a window is missing."""
    cluster = Cluster()
    for number, (sets, is_rolling) in enumerate(itertools.product(WINDOWS.values(), (False, True))):
        for edges in sets[:: -1 if is_rolling else 1]:
            truncated(cluster, 100 * number + 1, edges, is_rolling)
    last = 100 * len(WINDOWS) * 2 + 1
    return cluster.job(last, "n1", at(2), at(24), submit=at(1)).job(last, "n1", at(48), at(50), submit=at(1))


CLUSTERS = {
    "slices": slices(),
    # GPU accounting began on the third day; on its morning a job without GPUs ran.
    "gpus-named-since-day-3": Cluster()
    .job(1, "n1", at(1), at(2), AllocTRES="cpu=4,node=1", ReqTRES="cpu=4,node=1")
    .job(2, "n1", at(days=2, hours=1), at(days=2, hours=2), AllocTRES="cpu=4,node=1", ReqTRES="cpu=4,node=1")
    .job(3, "n1", at(days=2, hours=3), at(days=2, hours=4))
    .job(4, "n1", at(days=3), at(days=3, hours=1), AllocTRES="cpu=4,node=1", ReqTRES="cpu=4,node=1"),
    # An export without NodeList, NNodes and AllocNodes.
    "nodes-not-exported": Cluster()
    .inventory("n[1-2]")
    .event("n1", at(5), at(6), "DOWN", "Not responding")
    .file(
        "sacct/sacct.psv",
        NO_NODES,
        "9|9|z|ann|p|2024-05-01T00:00:00|2024-05-01T00:00:00|2024-05-01T00:00:00|2024-05-01T00:00:00|0"
        "|COMPLETED|0:0|cpu=64,gres/gpu=8",
        "1|1|a|ann|p|2024-05-01T00:00:00|2024-05-01T00:00:00|2024-05-01T01:00:00|2024-05-01T05:00:00|14400"
        "|NODE_FAIL|1:0|cpu=64,gres/gpu=16",
        "2|2|b|ann|p|2024-05-01T06:00:00|2024-05-01T06:00:00|2024-05-01T06:00:00|2024-05-01T08:00:00|7200"
        "|COMPLETED|0:0|cpu=64,gres/gpu=8",
    ),
    "gpus-without-a-count": Cluster()
    .job(1, "n1", at(1), at(2))
    .job(2, "n1", at(3), at(5), "NODE_FAIL", AllocTRES="cpu=64,gres/gpu=NONE,node=1"),
    # Older versions of Slurm print the end of a job that was cancelled while it waited as its start.
    "cancelled-while-waiting": Cluster()
    .job(1, "n1", at(1), at(2))
    .job(2, "n1", at(6), at(6), "CANCELLED by 1004", submit=at(3), **WAITED),
    # A prolog fails at once: the job is requeued in the second of its submission, and both records have that Submit.
    "requeued-in-its-second": Cluster()
    .job(1, "n1", at(0), at(1))
    .job(2, "n1", at(3), at(3), "REQUEUED", submit=at(3))
    .job(2, "n1", at(4), at(6), submit=at(3)),
    # Room is made for tasks of array 123; 130 starts next, and the one whose own id is 123 an hour later.
    "room-for-an-array": Cluster()
    .job(58, "n1", at(0), at(1), "PREEMPTED")
    .slurmctld(at(1), "preempted JobId=58 has been requeued to reclaim resources for JobId=123_*")
    .job(130, "n1", at(1, seconds=1), at(2), JobID="123_1", submit=at(0))
    .job(123, "n1", at(2, seconds=1), at(3), JobID="123_2", submit=at(0))
    .job(123, "None assigned", None, None, "PENDING", JobID="123_*", submit=at(0))
    .job(58, "n1", at(4), at(5), submit=at(1)),
    "xid-told-by-nhc": Cluster()
    .job(1, "n1", at(1), at(2), "FAILED")
    .file(
        "health/nhc-20240502.log",
        "May  1 01:58:00 n1 nhc[42]: Health check failed:  check_gpu_xid:  GPU Xid errors detected: "
        "NVRM: Xid (PCI:0002:00:00): 79, pid=1234 FaultCode: NHC2001",
    ),
    "queue-in-epoch-seconds": Cluster()
    .job(7, "n1", at(1), at(2))
    .inventory("n[1-4]")
    .file("squeue/squeue.1714521600.txt", "7|7|PENDING|1714521000|N/A|alice|train|1||n[2-3]|Priority"),
    "queue-by-gcm": Cluster()
    .job(7, "n1", at(1), at(2))
    .inventory("n[1-4]")
    .file(
        "squeue/jobs.jsonl",
        json.dumps(
            {
                "int": {"collection_unixtime": 1714521600},
                "normal": {"JOBID": "7", "JOBID_RAW": "7", "STATE": "PENDING"},
                "tags": {"EXC_NODES": ["n2", "n4"]},
            }
        ),
    ),
    # n3 is drained and nothing else names it; of n9 every kind of log tells, though the cluster has no such node.
    "drained-node-excluded": Cluster()
    .job(1, "n1", at(1), at(2))
    .job(7, "n2", at(1), at(2), SubmitLine="sbatch --exclude=n1,n3 train.sh"),
    "foreign-node-in-every-log": Cluster()
    .job(1, "n1", at(1), at(2))
    .job(7, "n2", at(1), at(2), SubmitLine="sbatch --exclude=n9 train.sh")
    .event("n9", at(1), at(2), "DOWN", "Not responding")
    .slurmctld(at(1), "error: Nodes n9 not responding")
    .check("n9", at(1), "check_gpu")
    .kernel("n9", at(1), "NVRM: Xid (PCI:0000:18:00): 79, pid=1, GPU has fallen off the bus.")
    .file("squeue/squeue.1714521600.txt", HEADER, "7|7|PENDING|1714521000|N/A|alice|train|1||n9|Priority")
    .file(
        "tickets/tickets.csv",
        "ticket_id,node,opened,closed,component,action,status,summary",
        "T1,n9,2024-05-01,2024-05-02,GPU,replaced,closed,x",
    ),
    # The same requeue, told by the column, by the log, and by nobody; and shown, so that nothing is missing.
    "requeue-told-by-restarts": requeued(Restarts="1").job(9, "n1", at(9), at(10), Restarts="0"),
    "requeue-told-by-log": requeued().slurmctld(at(3), "requeue job JobId=2 due to failure of node n1"),
    "requeue-told-by-nobody": requeued(),
    "requeue-shown": requeued(Restarts="1")
    .job(2, "n[1-2]", at(1), at(3), "NODE_FAIL", Restarts="0")
    .slurmctld(at(3), "requeue job JobId=2 due to failure of node n1"),
}


def attempts(minimal, cluster, columns):
    """Columns of a cluster's attempts in the order of their jobs."""
    return minimal.execute(
        f"select {columns} from marts.fct_attempts where cluster_id = $cluster order by job_id_raw, submitted_at",
        {"cluster": cluster},
    ).fetchall()


def test_gpus_are_unknown_before_accounting_names_them_and_none_since(minimal):
    assert attempts(minimal, "gpus-named-since-day-3", "job_id_raw, gpu_count, gpu_count_source") == [
        (1, None, "unknown"),
        (2, 0, "none_of_tracked"),
        (3, 8, "tres"),
        (4, 0, "none_of_tracked"),
    ]


def test_an_attempt_of_unknown_gpus_is_not_lost(minimal):
    assert attempts(minimal, "gpus-without-a-count", "job_id_raw, state, gpu_count, node_days * 24") == [
        (1, "COMPLETED", 8, 1.0),
        (2, "NODE_FAIL", None, 2.0),
    ]


def test_a_failure_counts_where_its_nodes_are_not_exported(minimal):
    """16 GPUs lose half an hour each, of 16 x 4 + 8 x 2 = 80 GPU-hours. Nobody knows on how many nodes, or which."""
    cluster = "nodes-not-exported"
    assert attempts(minimal, cluster, "job_id_raw, gpu_count, node_count, node_days, gpu_hours") == [
        (1, 16, None, None, 64),
        (2, 8, None, None, 16),
        (9, 8, 0, 0, 0),
    ]
    assert minimal.execute(
        "select node_count, gpu_count, culprit_node_id, lost_gpu_hours from marts.fct_failures where cluster_id = $1",
        [cluster],
    ).fetchall() == [(None, 16, None, 8)]
    assert minimal.execute(
        "select failure_count, gpu_hours from estimates.est_cause_rates where cluster_id = $1 and failure_count > 0",
        [cluster],
    ).fetchall() == [(1, 80), (1, 80)]
    assert minimal.execute(
        """
        select distinct multi_node_node_fails, single_node_node_fails, single_node_attempt_count
        from marts.agg_lemon_signals where cluster_id = $1
        """,
        [cluster],
    ).fetchall() == [(None, None, None)]


def test_a_job_that_was_cancelled_while_it_waited_never_started(minimal):
    wanted = "job_id_raw, started_at, ended_at, runtime_seconds, queue_seconds"
    assert attempts(minimal, "cancelled-while-waiting", wanted) == [
        (1, at(1), at(2), 3600, 0),
        (2, None, at(6), 0, None),
    ]


def test_an_attempt_that_was_requeued_in_its_second_is_one_of_its_own(minimal):
    """Two attempts of one run: none of the first's time is productive, two hours of the second are."""
    cluster = "where cluster_id = 'requeued-in-its-second' and job_id_raw = 2"
    assert minimal.execute(
        "select state, run_attempt_number, runtime_seconds, is_last_of_run "
        f"from marts.fct_attempts {cluster} order by run_attempt_number"
    ).fetchall() == [("REQUEUED", 1, 0, False), ("COMPLETED", 2, 7200, True)]
    assert minimal.execute(
        "select sum(lines_in), sum(loaded), sum(skipped) from ops.files "
        "where cluster_id = 'requeued-in-its-second' and kind = 'sacct'"
    ).fetchall() == [(4, 3, 1)]


def test_slices_of_an_attempt_are_the_attempt_of_one_whole_export(minimal):
    """By hand, the first job: from 2:00 to 30:00 less 2 hours, on 8 GPUs: 26 hours and 208 GPU-hours."""
    shown = minimal.execute(
        """
        select
            job_id_raw // 100, job_id_raw % 100, state, submitted_at, started_at, ended_at, suspended_seconds,
            runtime_seconds, exposure_seconds, gpu_hours, node_days, is_last_of_run
        from marts.fct_attempts where cluster_id = 'slices' order by all
        """
    ).fetchall()
    by_windows = [[row[1:] for row in rows] for _, rows in itertools.groupby(shown, key=lambda row: row[0])]
    *same, with_hole = by_windows
    whole = same[0]
    assert [row[1] for row in whole] == ["FAILED", "RUNNING", "COMPLETED", "RESIZING", "NODE_FAIL", "REQUEUED"]
    assert whole[0][3:10] == (at(2), at(30), 2 * 3600, 26 * 3600, 26 * 3600, 208, 26 / 24)
    assert same == [whole] * (2 * len(WINDOWS))
    # Nobody knows that the job ran in the window that is missing.
    assert [row[3:5] for row in with_hole] == [(at(48), at(50))]
    assert minimal.execute(
        "select sum(lines_in - loaded - skipped), sum(quarantined) from ops.files where cluster_id = 'slices'"
    ).fetchall() == [(0, 0)]


def test_a_waiting_array_is_not_its_task_of_the_same_number(minimal):
    found = minimal.execute(
        """
        select instigators.job_id_raw
        from marts.fct_preemptions as preemptions
        inner join marts.fct_attempts as instigators on instigators.attempt_id = preemptions.instigator_attempt_id
        where preemptions.cluster_id = 'room-for-an-array'
        """
    ).fetchall()
    assert found == [(130,)]
    skipped = minimal.execute(
        "select line_count from ops.skips where cluster_id = 'room-for-an-array' and reason = 'pending_array'"
    ).fetchall()
    assert skipped == [(1,)]
    assert attempts(minimal, "room-for-an-array", "job_id_raw, array_task_id") == [
        (58, None),
        (58, None),
        (123, 2),
        (130, 1),
    ]


def test_an_xid_that_nhc_quotes_has_its_code_and_category(minimal):
    found = minimal.execute(
        """
        select code, failure_category, severity, evidence_class
        from marts.fct_health_events where cluster_id = 'xid-told-by-nhc'
        """
    ).fetchall()
    assert found == [(79, "gpu_unavailable", "high", "A")]
    failed = "select failure_category from marts.fct_failures where cluster_id = 'xid-told-by-nhc'"
    assert minimal.execute(failed).fetchall() == [("gpu_unavailable",)]


@pytest.mark.parametrize(
    ("cluster", "excluded"),
    [
        ("queue-in-epoch-seconds", ["n2", "n3"]),
        ("queue-by-gcm", ["n2", "n4"]),
        ("drained-node-excluded", ["n1"]),
        ("foreign-node-in-every-log", []),
    ],
)
def test_excluded_nodes_are_seen(minimal, cluster, excluded):
    found = minimal.execute(
        "select node_id, job_id_raw from marts.fct_job_exclusions where cluster_id = $cluster order by node_id",
        {"cluster": cluster},
    ).fetchall()
    assert found == [(node, 7) for node in excluded]


@pytest.mark.parametrize(
    ("cluster", "warning", "unknown"),
    [
        ("drained-node-excluded", "unknown_excluded_nodes: 1 (n3)", []),
        (
            "foreign-node-in-every-log",
            "unknown_excluded_nodes: 1 (n9)",
            [(kind, "n9") for kind in ("events", "health", "kernel", "slurmctld", "squeue", "tickets")],
        ),
    ],
)
def test_names_of_no_node_are_counted_and_keep_no_cluster_from_its_numbers(minimal, cluster, warning, unknown):
    assert attempts(minimal, cluster, "job_id_raw, runtime_seconds") == [(1, 3600), (7, 3600)]
    nodes = minimal.execute("select node_id from marts.dim_nodes where cluster_id = ? order by 1", [cluster]).fetchall()
    assert nodes == [("n1",), ("n2",)]
    warnings_of = "select warnings from ops.files where cluster_id = ? and kind = 'sacct'"
    assert minimal.execute(warnings_of, [cluster]).fetchall() == [([warning],)]
    quarantined = minimal.execute(
        "select kind, detail from ops.quarantine inner join ops.files using (cluster_id, path) "
        "where cluster_id = ? and quarantine.reason = 'unknown_node' order by all",
        [cluster],
    ).fetchall()
    assert quarantined == unknown


@pytest.mark.parametrize(
    ("cluster", "warnings"),
    [
        ("requeue-told-by-restarts", ["exported_without_duplicates"]),
        ("requeue-told-by-log", ["exported_without_duplicates"]),
        ("requeue-told-by-nobody", []),
        ("requeue-shown", []),
    ],
)
def test_attempts_that_were_not_exported_are_missed_where_anything_tells_of_them(minimal, cluster, warnings):
    found = minimal.execute(
        "select warnings from ops.files where cluster_id = $cluster and kind = 'sacct'", {"cluster": cluster}
    ).fetchone()
    assert found == (warnings,)
