"""The exposure of a rate: running jobs count, a node counts once for all jobs that share it, lost ends do not count."""

import pytest
from pytest import approx

from orchestration.read_commands.plan import RunToPlan, plan_on_cluster
from tests.logs import Cluster, at
from tests.minimal.reading import ask, halves, rate


def twelve_ended_and_one_running():
    """Twelve attempts of 8 nodes for 10 days, three of them NODE_FAIL; one of 512 nodes that runs after 30 days."""
    cluster = Cluster().job(99, "n900", at(0), at(0))
    for number in range(12):
        start = at(days=10 * (number % 3))
        nodes = f"n[{8 * (number // 3) + 1}-{8 * (number // 3) + 8}]"
        state = "NODE_FAIL" if number in (2, 6, 9) else "COMPLETED"
        cluster.job(number + 1, nodes, start, at(days=10 * (number % 3) + 10), state)
    return cluster.job(100, "m[1-512]", at(0), None, "RUNNING", ElapsedRaw=str(30 * 86400))


def sixteen_shared_nodes():
    """Eight jobs of one GPU on each of 16 nodes for 10 days. On four nodes, one job is lost when the node fails."""
    cluster = Cluster().job(999, "n99", at(0), at(0)).inventory("n[1-16]")
    for node in range(1, 17):
        for gpu in range(8):
            is_lost = node <= 4 and gpu == 0
            cluster.job(
                10 * node + gpu,
                f"n{node}",
                at(0),
                at(days=10),
                "NODE_FAIL" if is_lost else "COMPLETED",
                AllocTRES="cpu=8,gres/gpu=1,node=1",
                ReqTRES="cpu=8,gres/gpu=1,node=1",
            )
    return cluster


def large_jobs_share_nodes():
    """Two jobs of 160 GPUs hold half of each of 40 nodes for ten days. When one node fails, one job is lost."""
    cluster = Cluster().job(99, "n99", at(0), at(0)).inventory("n[1-40]")
    for number, state in enumerate(("COMPLETED", "NODE_FAIL"), 1):
        half = "cpu=1280,gres/gpu=160,node=40"
        cluster.job(number, "n[1-40]", at(0), at(days=10), state, AllocTRES=half, ReqTRES=half)
    return cluster


def one_job_under_a_switch():
    """A job of four nodes for ten days ends when all four lose their links. Four jobs of one node each go on."""
    cluster = Cluster().inventory("n[1-8]").job(1, "n[1-4]", at(0), at(days=10), "NODE_FAIL")
    for node in range(1, 5):
        cluster.kernel(f"n{node}", at(days=10, seconds=-20), "mlx5_core 0000:1a:00.0: Port: 1 Link DOWN")
        cluster.job(node + 1, f"n{node + 4}", at(0), at(days=10))
    return cluster.job(99, "n8", at(days=20), at(days=20))


def six_ended_by_maintenance():
    """Six jobs of one node for ten days end when their nodes are taken down. A seventh, and six other nodes, go on."""
    cluster = Cluster().job(99, "n9", at(0), at(0))
    for number in range(1, 7):
        cluster.job(number, f"n{number}", at(0), at(days=10), "NODE_FAIL")
        reason = ("planned maintenance", "maint: firmware", "scheduled downtime")[number % 3]
        cluster.event(f"n{number}", at(days=10, seconds=1), at(days=11), "DOWN", reason)
    elapsed = str(10 * 86400)
    return cluster.job(7, "n7", at(0), at(days=20)).job(8, "m[1-6]", at(days=10), None, "RUNNING", ElapsedRaw=elapsed)


def ended_by_hand_for_maintenance():
    """Three nodes drain for maintenance. An hour later root cancels the job of one and requeues the job of another.

    The user of the third cancels its job, and root cancels a job on a node that stays in service.
    """
    cluster = Cluster().job(99, "n9", at(0), at(0))
    for number, state in enumerate(("CANCELLED by 0", "REQUEUED", "CANCELLED by 1000"), 1):
        cluster.event(f"n{number}", at(days=5), at(days=6), "DRAIN", "maint: firmware")
        cluster.job(number, f"n{number}", at(days=4), at(hours=1, days=5), state)
    cluster.job(4, "n4", at(days=4), at(hours=1, days=5), "CANCELLED by 0")
    return cluster.job(5, "n5", at(days=6), at(days=20))


def powered_off_while_draining():
    """A node drains for maintenance. An hour later it is switched off with its job. Another is lost before."""
    cluster = Cluster().job(99, "n9", at(0), at(0))
    cluster.event("n1", at(days=5), at(days=6), "DRAIN", "planned maintenance")
    cluster.job(1, "n1", at(days=4), at(hours=1, days=5), "NODE_FAIL")
    cluster.event("n2", at(days=5), at(days=6), "DRAIN", "planned maintenance")
    cluster.job(2, "n2", at(days=4), at(hours=-1, days=5), "NODE_FAIL")
    return cluster.job(3, "n3", at(days=6), at(days=20))


CLUSTERS = {
    "maintenance": six_ended_by_maintenance(),
    "maintenance-by-hand": ended_by_hand_for_maintenance(),
    "maintenance-of-a-draining-node": powered_off_while_draining(),
    "runs-for-thirty-days": twelve_ended_and_one_running(),
    "lost-its-end": Cluster()
    .job(99, "n9", at(0), at(0))
    .job(1, "n1", at(0), None, "RUNNING", ElapsedRaw=str(400 * 86400))
    .job(2, "n1", at(days=1), at(days=2)),
    "nothing-ended-yet": Cluster().job(1, "n[1-4]", at(0), None, "RUNNING", ElapsedRaw=str(9 * 86400)),
    # An export of one day, cut at its window (sacct -T): job 3 runs on. Job 1 was submitted with a script.
    "a-day-cut-out": Cluster()
    .job(
        1,
        "n1",
        at(0),
        at(24),
        SubmitLine="sbatch --wrap #!/bin/bash\nsrun a | tee log\n\nls | sort | wc -l",
        WorkDir="/a",
    )
    .job(2, "n2", at(0), at(12), SubmitLine="sbatch b.sh", WorkDir="/b")
    .job(3, "n3", at(0), at(24), "RUNNING", SubmitLine="sbatch c.sh", WorkDir="/c"),
    "suspended-while-running": Cluster()
    .job(99, "n9", at(0), at(0))
    .job(1, "n[1-2]", at(0), None, "RUNNING", ElapsedRaw=str(3 * 86400), Suspended="1-00:00:00"),
    "shared-nodes": sixteen_shared_nodes(),
    "large-jobs-share-nodes": large_jobs_share_nodes(),
    "job-under-a-switch": one_job_under_a_switch(),
}

RATES = [
    # 3 / (960 + 15,360) = 0.18 per 1,000 node-days, not 3 / 960 = 3.12, however failures are counted.
    *(
        ("runs-for-thirty-days", "all", counted_as, (3, 16_320, approx(0.1838, abs=1e-4)))
        for counted_as in ("attempts", "attempts_paper", "incidents")
    ),
    ("runs-for-thirty-days", "gpus_gt_128", "attempts", (0, 15_360, None)),
    ("nothing-ended-yet", "all", "attempts", (0, 0, None)),
    # 24 + 12 + 24 hours on one node each. The end of the window is not the end of job 3.
    ("a-day-cut-out", "all", "attempts", (0, approx(2.5), None)),
    # Its node had another job on the second day, so its runtime is unknown.
    ("lost-its-end", "all", "attempts", (0, 1, None)),
    # Two nodes run for three days of four: suspended time holds the node, but is no exposure.
    ("suspended-while-running", "all", "attempts", (0, approx(6), None)),
    ("suspended-while-running", "nodes", "incidents", (0, approx(8), None)),
    # 4 / 160 physical node-days = 25 per 1,000. Over the 1,280 node-days charged to eight jobs per node: 3.13.
    ("shared-nodes", "nodes", "incidents", (4, approx(160), approx(25))),
    ("shared-nodes", "all", "attempts", (4, approx(1280), approx(3.125))),
    ("shared-nodes", "whole_nodes", "attempts", (0, 0, None)),
    # One job ended once, in 8 nodes x 10 days: one node-incident, not four.
    ("job-under-a-switch", "nodes", "incidents", (approx(1, abs=0.02), approx(80), approx(12.5, abs=0.25))),
    ("large-jobs-share-nodes", "gpus_gt_128", "attempts", (1, approx(800), approx(1.25))),
    # Jobs that maintenance ended are censored, and count for the paper's rule only.
    ("maintenance", "all", "attempts", (0, 140, None)),
    ("maintenance", "all", "attempts_paper", (6, 140, approx(6000 / 140))),
]
REFERENCE = "population, counted_as from estimates.est_failure_rates where is_reference"
TRUTHS = {
    "large jobs are the reference though none failed": (
        "runs-for-thirty-days", REFERENCE, [("gpus_gt_128", "attempts")],
    ),
    "shared nodes are the reference": ("shared-nodes", REFERENCE, [("nodes", "incidents")]),
    "nodes that large jobs share are the reference": ("large-jobs-share-nodes", REFERENCE, [("nodes", "incidents")]),
    # 1 / 400 physical node-days = 2.5 per 1,000, not 1 / 800 charged node-days: 32 nodes last 12.5 days.
    "large jobs that share nodes are projected with the rate of the nodes": (
        "large-jobs-share-nodes",
        "population, mttf_hours / 24 from estimates.est_mttf_projections where gpu_count = 256",
        [("nodes", approx(12.5))],
    ),
    "the MTTF of a size knows how long a run has lasted": (
        "runs-for-thirty-days",
        "attempt_count, failure_count, runtime_hours from estimates.est_mttf_by_size where gpu_size_bin = 4096",
        [(1, 0, 720)],
    ),
    "days hold what runs until it was last seen: thirty days of 512 + 32 nodes, and nothing after": (
        "runs-for-thirty-days",
        "count(*), min(node_days), max(node_days) from marts.agg_failure_rates_daily where node_days > 0",
        [(30, approx(544), approx(544))],
    ),
    "a node is in use while its job runs on": (
        "runs-for-thirty-days",
        "count(*), sum(in_use_hours), sum(allocated_gpu_hours) from marts.fct_node_days "
        "where node_id = 'm1' and in_use_hours > 0",
        [(30, 720, 5760)],
    ),
    "the end of a window is not that of a job that runs on": (
        "a-day-cut-out",
        "job_id_raw, ended_at, state from marts.fct_attempts order by job_id_raw",
        [(1, at(24), "COMPLETED"), (2, at(12), "COMPLETED"), (3, None, "RUNNING")],
    ),
    # A rate above 2.996 / 6 would have shown a failure with 95%.
    "days on which nothing failed are known days": (
        "suspended-while-running",
        "method, event_count, exposure, day_count, rate_before, rate_before_high from estimates.est_rate_changes",
        [("no_events", 0, approx(6), 4, None, approx(1000 * 2.9957 / 6, rel=1e-4))],
    ),
    "what maintenance ended is planned and no failure": (
        "maintenance",
        "end_reason, count(*), bool_or(is_infrastructure_failure) from marts.fct_attempts "
        "where cluster_id = $cluster group by end_reason order by end_reason nulls last",
        [("planned", 6, False), (None, 3, False)],
    ),
    "what is cancelled or requeued for maintenance is planned": (
        "maintenance-by-hand",
        "job_id_raw from marts.fct_attempts where end_reason = 'planned' order by job_id_raw",
        [(1,), (2,)],
    ),
    "and no failure of the paper either": (
        "maintenance-by-hand",
        "sum(failure_count) from estimates.est_failure_rates "
        "where population = 'all' and counted_as in ('attempts', 'attempts_paper')",
        [(0,)],
    ),
    "a node lost while it drains for maintenance was taken down by it, and one lost before it failed": (
        "maintenance-of-a-draining-node",
        "job_id_raw, end_reason, is_infrastructure_failure from marts.fct_attempts where state = 'NODE_FAIL' "
        "order by job_id_raw",
        [(1, "planned", False), (2, None, True)],
    ),
}  # fmt: skip


@pytest.mark.parametrize(("cluster", "population", "counted_as", "expected"), RATES)
def test_exposure_is_what_ran(minimal, cluster, population, counted_as, expected):
    """Failures, node-days and failures per 1,000 node-days."""
    assert rate(minimal, cluster, population, counted_as) == expected


@pytest.mark.parametrize(("cluster", "query", "expected"), TRUTHS.values(), ids=TRUTHS)
def test_truth(minimal, cluster, query, expected):
    assert ask(minimal, cluster, query) == expected


def test_both_halves_of_a_study_have_what_runs_on(minimal):
    """Thirty days of 544 nodes: two attempts failed after ten of them, one at the end of the last."""
    assert halves(minimal, "runs-for-thirty-days") == (1, approx(8160), 2, approx(8160))
    assert halves(minimal, "suspended-while-running") == (0, approx(3), 0, approx(3)), "nobody knows on which days"


def test_a_plan_rests_on_the_nodes_where_jobs_share_them(minimal_home):
    """16 nodes at 25 per 1,000 node-days: a failure every 2.5 days, not every 19.9."""
    answer = plan_on_cluster(minimal_home.published_file, "shared-nodes", RunToPlan(128, 30, 0.9))
    assert answer["rate_basis"] == "node_incidents"
    assert answer["mttf_hours"] / 24 == approx(2.5)
