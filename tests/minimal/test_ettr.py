"""ETTR: a run that goes on counts with its time so far, in which its last attempt works as the ended ones did."""

from pytest import approx

from tests.minimal.cluster import Cluster, at

CLUSTERS = {
    # Lost after 25 hours, queued for 20, and running for 300 hours as accounting is exported.
    "restarted-and-running": Cluster()
    .job(99, "n9", at(0), at(0))
    .job(1, "n[1-4]", at(0), at(25), "NODE_FAIL")
    .job(1, "n[1-4]", at(45), None, "RUNNING", submit=at(25), ElapsedRaw=str(300 * 3600)),
    # Never interrupted, 456 hours so far.
    "runs-since-it-began": Cluster()
    .job(99, "n9", at(0), at(0))
    .job(1, "n[1-4]", at(1), None, "RUNNING", submit=at(0), ElapsedRaw=str(456 * 3600)),
    # Nobody knows since when it could have started.
    "eligible-not-exported": Cluster()
    .job(99, "n9", at(0), at(0), Eligible="Unknown")
    .job(1, "n[1-4]", at(1), at(49), submit=at(0), Eligible="Unknown"),
}
RESTART_HOURS, LOST_HOURS = 5 / 60, 0.5


def run(minimal, cluster):
    """Hours and ETTR of the one run of four nodes."""
    return minimal.execute(
        "select queue_hours, scheduled_hours, productive_hours, ettr, gpu_hours from marts.fct_job_runs "
        "where cluster_id = $1 and node_count = 4",
        [cluster],
    ).fetchone()


def measured(minimal, cluster):
    return minimal.execute(
        "select run_count, ettr_measured, productive_hours_mean from estimates.est_ettr_by_size where cluster_id = $1",
        [cluster],
    ).fetchall()


def test_a_restarted_run_counts_its_time_so_far(minimal):
    """324.3 productive hours of 345; without the attempt that runs it would be 24.4 of 45. GPU-hours: of the other."""
    productive = 325 - 2 * RESTART_HOURS - LOST_HOURS
    assert run(minimal, "restarted-and-running") == approx((20, 325, productive, productive / 345, 25 * 32))
    assert measured(minimal, "restarted-and-running") == [(1, approx(productive / 345), approx(productive))]


def test_a_run_of_one_attempt_counts_its_time_so_far(minimal):
    productive = 456 - RESTART_HOURS
    assert run(minimal, "runs-since-it-began")[:4] == approx((1, 456, productive, productive / 457))
    assert measured(minimal, "runs-since-it-began") == [(1, approx(productive / 457), approx(productive))]


def test_where_nobody_knows_how_long_a_run_queued_nobody_knows_its_ettr(minimal):
    assert run(minimal, "eligible-not-exported") == (None, 48, approx(48 - RESTART_HOURS), None, 48 * 32)
    assert measured(minimal, "eligible-not-exported") == []
