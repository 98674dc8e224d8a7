"""ETTR: a run that goes on counts with its time so far, in which its last attempt works as the ended ones did.

A time limit loses what was done since the last checkpoint, and the bounds hold whatever that was.
"""

from pytest import approx

from tests.logs import Cluster, at


def runs_cut_off(cluster):
    """63 runs end at their time limit, after 24 hours and one minute more each: a cycle of work and write in all."""
    for number in range(63):
        start = 27 * number
        cluster.job(number + 1, "n1", at(start), at(start + 24, minutes=number), "TIMEOUT")
    return cluster


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
    "time-limits": runs_cut_off(Cluster("[ettr]\ncheckpoint_minutes = 60\nrestart_minutes = 5\nwrite_minutes = 3\n")),
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
    assert measured(minimal, "eligible-not-exported") == [(1, None, approx(48 - RESTART_HOURS))]


def test_the_bounds_hold_what_a_time_limit_left(minimal):
    """After five minutes, an hour of work and three minutes of writing in turn: what was written in time is saved."""
    runs = minimal.execute(
        """
        select
            scheduled_hours, productive_hours_low, productive_hours, productive_hours_high, progress_ratio_low,
            progress_ratio_high, interruption_count
        from marts.fct_job_runs where cluster_id = 'time-limits'
        """
    ).fetchall()
    saved = [(hours - 5 / 60) // (63 / 60) for hours, *_ in runs]
    for kept, (hours, low, _, high, ratio_low, ratio_high, interruptions) in zip(saved, runs, strict=True):
        assert low - 1e-9 <= kept <= high + 1e-9
        assert (ratio_low, ratio_high, interruptions) == (approx(low / hours), approx(high / hours), 0)
    assert len(runs) == 63
    assert sum(values[2] for values in runs) / 63 == approx(sum(saved) / 63, abs=0.02)
