"""Published limits hold the truth as often as promised, on clusters of an independent generator."""

from dataclasses import replace

import numpy as np
import pytest

from orchestration.settings.home import Home
from tests.coverage.checks import check_results, kernel_lines
from tests.coverage.claims import ATTRIBUTED, PROMISES
from tests.coverage.end_to_end import PROMISED, lines, promises_measured, sites_measured
from tests.coverage.happenings import live_through
from tests.coverage.logs import first_moment
from tests.coverage.sites import SITES
from tests.coverage.truth import expected_of, is_in_window, signs_of
from tests.truth.scorer import missed

SETS = 2000
SITE = replace(SITES[0], node_count=60, fault_rate=30.0, false_alarm_share=0.02, month_cv=0.3, switch_rate=40.0)


@pytest.mark.slow
def test_limits_of_two_thousand_clusters_hold_the_truth_as_often_as_they_promise():
    measures = promises_measured(SETS)
    assert not missed(PROMISED, measures), "\n".join(lines(PROMISED, measures))
    assert all(any(m.planted for claim in promise.claims() for m in measures[claim.item]) for promise in PROMISES)


@pytest.mark.slow
def test_failures_of_sixteen_unlike_sites_are_attributed(tmp_path):
    measures = sites_measured(Home.at(tmp_path), 60, 71)
    assert not missed(ATTRIBUTED, measures), "\n".join(lines(ATTRIBUTED, measures))


@pytest.fixture(scope="module")
def lived():
    return [live_through(SITE, 25, seed, first_moment(2)) for seed in range(6)]


@pytest.mark.parametrize("more_than_gpus", [0, 128])
def test_failures_come_at_the_planted_rate(lived, more_than_gpus):
    expected = count = 0.0
    for happenings in lived:
        rows = expected_of("", happenings).attempts
        expected += rows[rows["gpu_count"] > more_than_gpus]["expected"].sum()
        count += sum(
            attempt.fault is not None
            and attempt.job.gpus > more_than_gpus
            and happenings.first <= attempt.ended < happenings.last
            for attempt in happenings.attempts
        )
    assert expected > 50
    assert abs(count - expected) < 4 * np.sqrt(3 * expected), "an incident ends up to about three attempts"


def test_false_alarms_stand_in_the_windows_of_so_many_completed_attempts(lived):
    seen = []
    for happenings in lived:
        rng = np.random.default_rng(1)
        signs = signs_of(happenings, check_results(happenings, rng), kernel_lines(happenings, rng))
        seen += [
            is_in_window(a, a.nodes, signs, since=a.started)
            for a in happenings.attempts
            if a.state == "COMPLETED" and happenings.first <= a.ended < happenings.last
        ]
    assert 0.012 < np.mean(seen) < 0.03
