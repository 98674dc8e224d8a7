"""What adds to the exposure of a rate: what still runs, each node once however many jobs share it, no lost ends."""

from pytest import approx

from orchestration.read_commands.plan import RunToPlan, plan_on_cluster
from orchestration.read_commands.saying import lines_of
from tests.logs import Cluster, at


def twelve_ended_and_one_running():
    """Twelve attempts of 8 nodes for 10 days, three of them NODE_FAIL; one of 512 nodes for 30 days and on."""
    cluster = Cluster().job(99, "n900", at(0), at(0))
    for number in range(12):
        start = at(days=10 * (number % 3))
        nodes = f"n[{8 * (number // 3) + 1}-{8 * (number // 3) + 8}]"
        state = "NODE_FAIL" if number in (2, 6, 9) else "COMPLETED"
        cluster.job(number + 1, nodes, start, at(days=10 * (number % 3) + 10), state)
    return cluster.job(100, "m[1-512]", at(0), None, "RUNNING", ElapsedRaw=str(30 * 86400))


def sixteen_shared_nodes():
    """Eight jobs of one GPU on each of 16 nodes for 10 days; on four of them, one is lost as its node fails."""
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
    """Two jobs of 160 GPUs hold half of each of 40 nodes for ten days; as one of the nodes fails, one job is lost."""
    cluster = Cluster().job(99, "n99", at(0), at(0)).inventory("n[1-40]")
    for number, state in enumerate(("COMPLETED", "NODE_FAIL"), 1):
        half = "cpu=1280,gres/gpu=160,node=40"
        cluster.job(number, "n[1-40]", at(0), at(days=10), state, AllocTRES=half, ReqTRES=half)
    return cluster


def one_job_under_a_switch():
    """A job of four nodes for ten days ends as all four lose their links; four jobs of a node go on beside it."""
    cluster = Cluster().inventory("n[1-8]").job(1, "n[1-4]", at(0), at(days=10), "NODE_FAIL")
    for node in range(1, 5):
        cluster.kernel(f"n{node}", at(days=10, seconds=-20), "mlx5_core 0000:1a:00.0: Port: 1 Link DOWN")
        cluster.job(node + 1, f"n{node + 4}", at(0), at(days=10))
    return cluster.job(99, "n8", at(days=20), at(days=20))


def six_ended_by_maintenance():
    """Six jobs of a node for ten days, ended as their nodes are taken down; a seventh, and six other nodes, go on."""
    cluster = Cluster().job(99, "n9", at(0), at(0))
    for number in range(1, 7):
        cluster.job(number, f"n{number}", at(0), at(days=10), "NODE_FAIL")
        reason = ("planned maintenance", "maint: firmware", "scheduled downtime")[number % 3]
        cluster.event(f"n{number}", at(days=10, seconds=1), at(days=11), "DOWN", reason)
    elapsed = str(10 * 86400)
    return cluster.job(7, "n7", at(0), at(days=20)).job(8, "m[1-6]", at(days=10), None, "RUNNING", ElapsedRaw=elapsed)


def ended_by_hand_for_maintenance():
    """Three nodes drain for maintenance; an hour later root cancels the job of one, and that of another is requeued.

    The job of the third is cancelled by its user, and root cancels one on a node that nobody takes out of service.
    """
    cluster = Cluster().job(99, "n9", at(0), at(0))
    for number, state in enumerate(("CANCELLED by 0", "REQUEUED", "CANCELLED by 1000"), 1):
        cluster.event(f"n{number}", at(days=5), at(days=6), "DRAIN", "maint: firmware")
        cluster.job(number, f"n{number}", at(days=4), at(hours=1, days=5), state)
    cluster.job(4, "n4", at(days=4), at(hours=1, days=5), "CANCELLED by 0")
    return cluster.job(5, "n5", at(days=6), at(days=20))


def powered_off_while_draining():
    """A node drains for maintenance; an hour later it is switched off under its job. Another is lost beforehand."""
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


def rate(minimal, cluster, population, counted_as):
    """Failures, node-days and rate per 1,000 node-days of a cluster's population."""
    return minimal.execute(
        """
        select failure_count, node_days, failures_per_1000_node_days
        from estimates.est_failure_rates
        where cluster_id = $cluster and population = $population and counted_as = $counted_as
        """,
        {"cluster": cluster, "population": population, "counted_as": counted_as},
    ).fetchone()


def halves(minimal, cluster):
    """Failures and node-days of the later half of a cluster's study, and of the earlier."""
    return minimal.execute(
        """
        select failure_count, node_days, other_failure_count, other_node_days
        from estimates.est_rate_ratios
        where cluster_id = $1 and comparison = 'halves' and counted_as = 'attempts'
        """,
        [cluster],
    ).fetchone()


def reference(minimal, cluster):
    return minimal.execute(
        "select population, counted_as from estimates.est_failure_rates where cluster_id = $1 and is_reference",
        [cluster],
    ).fetchall()


def test_where_nothing_has_ended_yet_a_note_says_when_a_study_begins(minimal):
    assert rate(minimal, "nothing-ended-yet", "all", "attempts") == (0, 0, None)
    (note,) = minimal.execute("""
        select distinct note
        from estimates.est_failure_rates
        where cluster_id = 'nothing-ended-yet' and population = 'all'
    """).fetchone()
    assert "no time is studied yet: that begins with the first end of an attempt" in note


def test_an_attempt_that_runs_adds_what_it_ran(minimal):
    """3 / (960 + 15,360) = 0.18 per 1,000 node-days, not 3 / 960 = 3.12, however failures are counted."""
    for counted_as in ("attempts", "attempts_paper", "incidents"):
        count, node_days, per_1000 = rate(minimal, "runs-for-thirty-days", "all", counted_as)
        assert (count, node_days) == (3, 16_320)
        assert per_1000 == approx(0.1838, abs=1e-4)
    assert rate(minimal, "runs-for-thirty-days", "gpus_gt_128", "attempts") == (0, 15_360, None)
    assert reference(minimal, "runs-for-thirty-days") == [("gpus_gt_128", "attempts")], "though no large job failed"
    assert rate(minimal, "runs-for-thirty-days", "nodes", "incidents")[1] == approx(16_320)


def test_both_halves_of_a_study_have_what_runs_on(minimal):
    """Thirty days of 544 nodes: two attempts failed after ten of them, one at the end of the last."""
    assert halves(minimal, "runs-for-thirty-days") == (1, approx(8160), 2, approx(8160))


def test_the_mttf_of_its_size_knows_how_long_it_ran(minimal):
    assert minimal.execute(
        "select attempt_count, failure_count, runtime_hours from estimates.est_mttf_by_size "
        "where cluster_id = 'runs-for-thirty-days' and gpu_size_bin = 4096"
    ).fetchall() == [(1, 0, 720)]


def test_days_hold_what_runs_until_it_was_last_seen(minimal):
    """Thirty days of 512 + 32 nodes, and nothing after."""
    days = minimal.execute(
        "select count(*), min(node_days), max(node_days) from marts.agg_failure_rates_daily "
        "where cluster_id = 'runs-for-thirty-days' and node_days > 0"
    ).fetchone()
    assert days == (30, approx(544), approx(544))
    used = minimal.execute(
        "select count(*), sum(in_use_hours), sum(allocated_gpu_hours) from marts.fct_node_days "
        "where cluster_id = 'runs-for-thirty-days' and node_id = 'm1' and in_use_hours > 0"
    ).fetchone()
    assert used == (30, 720, 5760)


def test_a_day_cut_out_of_the_life_of_a_job(minimal):
    """24 + 12 + 24 hours on a node each; the end of the window is not that of job 3."""
    assert rate(minimal, "a-day-cut-out", "all", "attempts")[:2] == (0, approx(2.5))
    ends = "select job_id_raw, ended_at, state from marts.fct_attempts where cluster_id = 'a-day-cut-out' order by all"
    assert minimal.execute(ends).fetchall() == [
        (1, at(24), "COMPLETED"),
        (2, at(12), "COMPLETED"),
        (3, None, "RUNNING"),
    ]
    lines = "select loaded, skipped, quarantined from ops.files where cluster_id = 'a-day-cut-out'"
    assert minimal.execute(lines).fetchone() == (3, 4, 0), "a header and three more lines of the script"


def test_a_job_that_lost_its_end_adds_nothing(minimal):
    """Its node was given to another job on the second day: nobody knows for how long it ran."""
    assert rate(minimal, "lost-its-end", "all", "attempts")[:2] == (0, 1)


def test_time_suspended_is_no_exposure_and_holds_the_node(minimal):
    """Two nodes run for three days of four."""
    assert rate(minimal, "suspended-while-running", "all", "attempts")[:2] == (0, approx(6))
    assert rate(minimal, "suspended-while-running", "nodes", "incidents")[:2] == (0, approx(8))
    assert halves(minimal, "suspended-while-running") == (0, approx(3), 0, approx(3)), "nobody knows on which days"


def test_days_on_which_nothing_failed_are_known_days(minimal):
    """Two nodes ran for three days of four: a rate above 2.996 / 6 would have shown a failure with 95%."""
    found = minimal.execute(
        "select method, event_count, exposure, day_count, rate_before, rate_before_high "
        "from estimates.est_rate_changes where cluster_id = 'suspended-while-running'"
    ).fetchall()
    assert found == [("no_events", 0, approx(6), 4, None, approx(1000 * 2.9957 / 6, rel=1e-4))]


def test_jobs_that_share_a_node_use_it_once(minimal):
    """4 / 160 physical node-days = 25 per 1,000; over the 1,280 node-days that eight jobs a node are charged, 3.13."""
    assert rate(minimal, "shared-nodes", "nodes", "incidents") == (4, approx(160), approx(25))
    assert rate(minimal, "shared-nodes", "all", "attempts") == (4, approx(1280), approx(3.125))
    assert rate(minimal, "shared-nodes", "whole_nodes", "attempts") == (0, 0, None)
    assert reference(minimal, "shared-nodes") == [("nodes", "incidents")]


def test_a_fault_that_strikes_all_nodes_of_a_job_is_one_incident_of_the_nodes(minimal):
    """One job ended once, in 8 nodes x 10 days: one node-incident, not four."""
    assert rate(minimal, "job-under-a-switch", "nodes", "incidents") == (
        approx(1, abs=0.02),
        approx(80),
        approx(12.5, abs=0.25),
    )


def test_a_plan_rests_on_the_nodes_where_jobs_share_them(minimal_home):
    """16 nodes at 25 per 1,000 node-days: a failure every 2.5 days, not every 19.9."""
    run = RunToPlan(128, 30, 0.9)
    answer = plan_on_cluster(minimal_home.published_file, "shared-nodes", run)
    assert answer["rate_basis"] == "node_incidents"
    assert answer["mttf_hours"] / 24 == approx(2.5)
    assert any("each incident counted on every node that it took down" in line for line in lines_of("plan", **answer))


def test_large_jobs_that_share_nodes_are_projected_with_the_rate_of_the_nodes(minimal):
    """1 / 400 physical node-days = 2.5 per 1,000, not 1 / 800 of what the jobs are charged: 32 nodes last 12.5 days."""
    assert rate(minimal, "large-jobs-share-nodes", "gpus_gt_128", "attempts") == (1, approx(800), approx(1.25))
    assert reference(minimal, "large-jobs-share-nodes") == [("nodes", "incidents")]
    assert minimal.execute(
        "select population, mttf_hours / 24 from estimates.est_mttf_projections "
        "where cluster_id = 'large-jobs-share-nodes' and gpu_count = 256"
    ).fetchall() == [("nodes", approx(12.5))]


def test_what_maintenance_ended_is_censored_and_counts_for_the_paper_alone(minimal):
    reasons = minimal.execute(
        """
        select end_reason, count(*), bool_or(is_infrastructure_failure)
        from marts.fct_attempts
        where cluster_id = 'maintenance'
        group by end_reason
        order by end_reason nulls last
        """
    ).fetchall()
    assert reasons == [("planned", 6, False), (None, 3, False)]
    counts = minimal.execute(
        """
        select counted_as, failure_count, node_days, failures_per_1000_node_days
        from estimates.est_failure_rates
        where cluster_id = 'maintenance' and population = 'all' and counted_as in ('attempts', 'attempts_paper')
        order by counted_as
        """
    ).fetchall()
    assert counts == [("attempts", 0, 140, None), ("attempts_paper", 6, 140, approx(6000 / 140))]


def test_what_is_cancelled_or_requeued_for_maintenance_is_planned_and_no_failure_of_the_paper_either(minimal):
    rows = minimal.execute(
        "select job_id_raw from marts.fct_attempts where cluster_id = 'maintenance-by-hand' and end_reason = 'planned'"
    ).fetchall()
    assert sorted(job for (job,) in rows) == [1, 2]
    for counted_as in ("attempts", "attempts_paper"):
        assert rate(minimal, "maintenance-by-hand", "all", counted_as)[0] == 0


def test_a_node_lost_while_it_drains_for_maintenance_was_taken_down_by_it(minimal):
    """What is lost before the maintenance begins is a failure all the same."""
    rows = minimal.execute(
        """
        select job_id_raw, end_reason, is_infrastructure_failure from marts.fct_attempts
        where cluster_id = 'maintenance-of-a-draining-node' and state = 'NODE_FAIL' order by job_id_raw
        """
    ).fetchall()
    assert rows == [(1, "planned", False), (2, None, True)]
