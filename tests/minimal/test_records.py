"""Facts that records have or lack: GPUs, jobs that never started, excluded nodes, attempts that were not exported."""

import itertools
from collections.abc import Iterable
from datetime import timedelta

import pytest

from tests.logs import Cluster, at
from tests.minimal.reading import ask

WAITED = {"NodeList": "None assigned", "AllocTRES": "", "ElapsedRaw": "0"}
NO_NODES = "JobID|JobIDRaw|JobName|User|Partition|Submit|Eligible|Start|End|ElapsedRaw|State|ExitCode|AllocTRES"
HEADER = "JOBID|JOBID|STATE|SUBMIT_TIME|START_TIME|USER|PARTITION|NODES|NODELIST|EXC_NODES|REASON"


def requeued(state: str = "COMPLETED", **fields: str) -> Cluster:
    """Job 2 ran from 1:00, was requeued at 3:00 and ran again. Only its last record is present."""
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
    """Add jobs as `sacct -T` shows them in windows between edges. A rolling export shows jobs that go on as running.

    The first runs from 2:00 to 30:00, is suspended for two hours from 5:00, and fails. The second still runs at 49:00.
    The third runs from 10:00 to 27:00 and is resized at 20:00. The fourth is requeued in the second of its submission.
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
    """Add the same jobs in all windows, with ids from another hundred for each export. The last lacks a window."""
    cluster = Cluster()
    for number, (sets, is_rolling) in enumerate(itertools.product(WINDOWS.values(), (False, True))):
        for edges in sets[:: -1 if is_rolling else 1]:
            truncated(cluster, 100 * number + 1, edges, is_rolling)
    last = 100 * len(WINDOWS) * 2 + 1
    return cluster.job(last, "n1", at(2), at(24), submit=at(1)).job(last, "n1", at(48), at(50), submit=at(1))


CLUSTERS = {
    "slices": slices(),
    # GPU accounting began on the third day. In its morning a job without GPUs ran.
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
    # If a waiting job is cancelled, older versions of Slurm print its end as its start.
    "cancelled-while-waiting": Cluster()
    .job(1, "n1", at(1), at(2))
    .job(2, "n1", at(6), at(6), "CANCELLED by 1004", submit=at(3), **WAITED),
    # A prolog fails at once. The job is requeued in the second of its submission, so both records have one Submit.
    "requeued-in-its-second": Cluster()
    .job(1, "n1", at(0), at(1))
    .job(2, "n1", at(3), at(3), "REQUEUED", submit=at(3))
    .job(2, "n1", at(4), at(6), submit=at(3)),
    # Slurm makes room for tasks of array 123. Task 130 starts next, and the task with the id 123 an hour later.
    "room-for-an-array": Cluster()
    .job(58, "n1", at(0), at(1), "PREEMPTED")
    .slurmctld(at(1), "preempted JobId=58 has been requeued to reclaim resources for JobId=123_*")
    .job(130, "n1", at(1, seconds=1), at(2), JobID="123_1", submit=at(0))
    .job(123, "n1", at(2, seconds=1), at(3), JobID="123_2", submit=at(0))
    .job(123, "None assigned", None, None, "PENDING", JobID="123_*", submit=at(0))
    .job(58, "n1", at(4), at(5), submit=at(1)),
    # n3 is drained and nothing else names it. Every kind of log names n9, which is no node of the cluster.
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
    # The same requeue, known by the column and by the log; and exported, so that nothing is missing.
    "requeue-known-by-restarts": requeued(Restarts="1").job(9, "n1", at(9), at(10), Restarts="0"),
    "requeue-known-by-log": requeued().slurmctld(at(3), "requeue job JobId=2 due to failure of node n1"),
    "requeue-shown": requeued(Restarts="1")
    .job(2, "n[1-2]", at(1), at(3), "NODE_FAIL", Restarts="0")
    .slurmctld(at(3), "requeue job JobId=2 due to failure of node n1"),
}

ORDER = "from marts.fct_attempts order by job_id_raw, submitted_at"
TRUTHS = {
    "GPUs are unknown before accounting names them, and none since": (
        "gpus-named-since-day-3",
        f"job_id_raw, gpu_count, gpu_count_source {ORDER}",
        [(1, None, "unknown"), (2, 0, "none_of_tracked"), (3, 8, "tres"), (4, 0, "none_of_tracked")],
    ),
    "an attempt of unknown GPUs is not lost": (
        "gpus-without-a-count",
        f"job_id_raw, state, gpu_count, node_days * 24 {ORDER}",
        [(1, "COMPLETED", 8, 1.0), (2, "NODE_FAIL", None, 2.0)],
    ),
    # 16 GPUs lose half an hour each, of 16 x 4 + 8 x 2 = 80 GPU-hours. The nodes and their number are unknown.
    "attempts whose nodes are not exported have GPU-hours": (
        "nodes-not-exported",
        f"job_id_raw, gpu_count, node_count, node_days, gpu_hours {ORDER}",
        [(1, 16, None, None, 64), (2, 8, None, None, 16), (9, 8, 0, 0, 0)],
    ),
    "a failure counts where its nodes are not exported": (
        "nodes-not-exported",
        "node_count, gpu_count, culprit_node_id, lost_gpu_hours from marts.fct_failures",
        [(None, 16, None, 8)],
    ),
    "and counts for its cause": (
        "nodes-not-exported",
        "failure_count, gpu_hours from estimates.est_cause_rates where failure_count > 0",
        [(1, 80), (1, 80)],
    ),
    "but for no node": (
        "nodes-not-exported",
        "distinct multi_node_node_fails, single_node_node_fails, single_node_attempt_count "
        "from marts.agg_lemon_signals",
        [(None, None, None)],
    ),
    "a job that was cancelled while it waited never started": (
        "cancelled-while-waiting",
        f"job_id_raw, started_at, ended_at, runtime_seconds, queue_seconds {ORDER}",
        [(1, at(1), at(2), 3600, 0), (2, None, at(6), 0, None)],
    ),
    # No time of the first is productive, and two hours of the second are.
    "an attempt that was requeued in its second is one of its own, of the same run": (
        "requeued-in-its-second",
        "state, run_attempt_number, runtime_seconds, is_last_of_run from marts.fct_attempts "
        "where job_id_raw = 2 order by run_attempt_number",
        [("REQUEUED", 1, 0, False), ("COMPLETED", 2, 7200, True)],
    ),
    "a waiting array is not its task of the same number, for which room was made": (
        "room-for-an-array",
        "instigators.job_id_raw from marts.fct_preemptions as preemptions "
        "inner join marts.fct_attempts as instigators on instigators.attempt_id = preemptions.instigator_attempt_id "
        "where preemptions.cluster_id = $cluster",
        [(130,)],
    ),
    "and is no attempt": (
        "room-for-an-array",
        f"job_id_raw, array_task_id {ORDER}",
        [(58, None), (58, None), (123, 2), (130, 1)],
    ),
    "an excluded node that the cluster has is seen": (
        "drained-node-excluded",
        "node_id, job_id_raw from marts.fct_job_exclusions",
        [("n1", 7)],
    ),
    "one that it has not is none": ("foreign-node-in-every-log", "node_id from marts.fct_job_exclusions", []),
    **{
        f"attempts that were not exported are missed if a column or a log shows them: {cluster}": (
            cluster,
            "warnings from ops.files where kind = 'sacct'",
            [([] if cluster == "requeue-shown" else ["exported_without_duplicates"],)],
        )
        for cluster in ("requeue-known-by-restarts", "requeue-known-by-log", "requeue-shown")
    },
}


@pytest.mark.parametrize(("cluster", "query", "expected"), TRUTHS.values(), ids=TRUTHS)
def test_truth(minimal, cluster, query, expected):
    assert ask(minimal, cluster, query) == expected


def test_slices_of_an_attempt_are_the_attempt_of_one_whole_export(minimal):
    """By hand, the first job: from 2:00 to 30:00 less 2 hours, on 8 GPUs: 26 hours and 208 GPU-hours."""
    shown = ask(
        minimal,
        "slices",
        """
            job_id_raw // 100, job_id_raw % 100, state, submitted_at, started_at, ended_at, suspended_seconds,
            runtime_seconds, exposure_seconds, gpu_hours, node_days, is_last_of_run
        from marts.fct_attempts where cluster_id = $cluster order by all
        """,
    )
    by_windows = [[row[1:] for row in rows] for _, rows in itertools.groupby(shown, key=lambda row: row[0])]
    *same, with_hole = by_windows
    whole = same[0]
    assert [row[1] for row in whole] == ["FAILED", "RUNNING", "COMPLETED", "RESIZING", "NODE_FAIL", "REQUEUED"]
    assert whole[0][3:10] == (at(2), at(30), 2 * 3600, 26 * 3600, 26 * 3600, 208, 26 / 24)
    assert same == [whole] * (2 * len(WINDOWS))
    # No export shows that the job ran in the missing window.
    assert [row[3:5] for row in with_hole] == [(at(48), at(50))]
    lines = "sum(lines_in - loaded - skipped), sum(quarantined) from ops.files"
    assert ask(minimal, "slices", lines) == [(0, 0)]


@pytest.mark.parametrize(
    ("cluster", "node", "kinds"),
    [
        ("drained-node-excluded", "n3", []),
        ("foreign-node-in-every-log", "n9", ["events", "health", "kernel", "slurmctld", "squeue", "tickets"]),
    ],
)
def test_names_of_no_node_are_counted_and_keep_no_cluster_from_its_numbers(minimal, cluster, node, kinds):
    assert ask(minimal, cluster, f"job_id_raw, runtime_seconds {ORDER}") == [(1, 3600), (7, 3600)]
    assert ask(minimal, cluster, "node_id from marts.dim_nodes order by node_id") == [("n1",), ("n2",)]
    warnings = ask(minimal, cluster, "warnings from ops.files where kind = 'sacct'")
    assert warnings == [([f"unknown_excluded_nodes: 1 ({node})"],)]
    unknown = "kind, detail from ops.quarantine inner join ops.files using (cluster_id, path) "
    unknown += "where quarantine.reason = 'unknown_node' order by kind"
    assert ask(minimal, cluster, unknown) == [(kind, node) for kind in kinds]
