"""ETTR: a time limit loses what was done since the last checkpoint, and the bounds hold whatever that was."""

from pytest import approx

from tests.logs import Cluster, at


def runs_cut_off(cluster):
    """63 runs end at their time limit, after 24 hours and one minute more each: a cycle of work and write in all."""
    for number in range(63):
        start = 27 * number
        cluster.job(number + 1, "n1", at(start), at(start + 24, minutes=number), "TIMEOUT")
    return cluster


CLUSTERS = {
    # Nobody knows since when it could have started.
    "eligible-not-exported": Cluster()
    .job(99, "n9", at(0), at(0), Eligible="Unknown")
    .job(1, "n[1-4]", at(1), at(49), submit=at(0), Eligible="Unknown"),
    "time-limits": runs_cut_off(Cluster("[ettr]\ncheckpoint_minutes = 60\nrestart_minutes = 5\nwrite_minutes = 3\n")),
}


def test_where_nobody_knows_how_long_a_run_queued_nobody_knows_its_ettr(minimal):
    assert minimal.execute(
        "select queue_hours, scheduled_hours, productive_hours, ettr, gpu_hours from marts.fct_job_runs "
        "where cluster_id = 'eligible-not-exported' and node_count = 4"
    ).fetchall() == [(None, 48, approx(48 - 5 / 60), None, 48 * 32)]


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
