"""ETTR and lost work: a time limit or a failure loses the work since the last checkpoint."""

import pytest
from pytest import approx

from tests.logs import Cluster, at
from tests.minimal.reading import ask


def runs_cut_off(cluster):
    """63 runs end at their time limit, after 24 hours and one minute more each: a cycle of work and write in all."""
    for number in range(63):
        start = 27 * number
        cluster.job(number + 1, "n1", at(start), at(start + 24, minutes=number), "TIMEOUT")
    return cluster


FAILED_AFTER_TEN_HOURS = (1, "n1", at(0), at(10), "NODE_FAIL")
CLUSTERS = {
    # The time from which it could have started is unknown.
    "eligible-not-exported": Cluster()
    .job(99, "n9", at(0), at(0), Eligible="Unknown")
    .job(1, "n[1-4]", at(1), at(49), submit=at(0), Eligible="Unknown"),
    "checkpoints-every-ten-minutes": Cluster("[ettr]\ncheckpoint_minutes = 10\n").job(*FAILED_AFTER_TEN_HOURS),
    "checkpoints-unknown": Cluster().job(*FAILED_AFTER_TEN_HOURS),
    "three-failures-of-a-second-each": Cluster()
    .job(1, "n1", at(0), at(seconds=1), "NODE_FAIL")
    .job(1, "n1", at(seconds=2), at(seconds=3), "NODE_FAIL")
    .job(1, "n1", at(seconds=4), at(seconds=5), "NODE_FAIL"),
    "time-limits": runs_cut_off(Cluster("[ettr]\ncheckpoint_minutes = 60\nrestart_minutes = 5\nwrite_minutes = 3\n")),
}


TRUTHS = {
    "the ETTR of a run is unknown if its queue time is unknown": (
        "eligible-not-exported",
        "queue_hours, scheduled_hours, productive_hours, ettr, gpu_hours from marts.fct_job_runs where node_count = 4",
        [(None, 48, approx(48 - 5 / 60), None, 48 * 32)],
    ),
    "8 GPUs lose half of the configured time between checkpoints": (
        "checkpoints-every-ten-minutes",
        "lost_gpu_hours from marts.fct_failures",
        [(8 * 5 / 60,)],
    ),
    "and half an hour without a setting": (
        "checkpoints-unknown",
        "lost_gpu_hours from marts.fct_failures",
        [(4.0,)],
    ),
    "an incident loses what its failures lose, 8 GPUs x 3 seconds": (
        "three-failures-of-a-second-each",
        "lost_gpu_hours from marts.fct_incidents",
        [(approx(8 * 3 / 3600, rel=1e-9),)],
    ),
}


@pytest.mark.parametrize(("cluster", "query", "expected"), TRUTHS.values(), ids=TRUTHS)
def test_truth(minimal, cluster, query, expected):
    assert ask(minimal, cluster, query) == expected


def test_the_bounds_hold_what_a_time_limit_left(minimal):
    """After five minutes, an hour of work and three minutes of writing alternate. Completed checkpoints are saved."""
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
