"""A list judged by the next window: by hand, and on planted fleets, where it must be far better than chance."""

import numpy as np
import pytest

from assets.model.lemons.evaluation import evaluate_forward
from assets.model.lemons.verdicts import LEMON, decide
from tests.model.planted_fleets import Setting, blame, plant


def test_by_hand():
    """At 0.0065 x 25 = 0.16 expected failures, two have a probability of 1.2% and three of 0.06%: three prove bad."""
    found = evaluate_forward(
        [True, True, True, False, False, False],
        [3, 2, 5, 4, 0, 1],
        [25, 25, 25, 25, 25, 0],
        [30.0, 20.0, 50.0, 40.0, 0.0, 10.0],
        normal_rate=0.0065,
    )
    assert (found.named_count, found.bad_count, found.judged_count) == (3, 3, 5)
    assert (found.precision.value, found.recall.value) == pytest.approx((2 / 3, 2 / 3))
    assert found.lift == pytest.approx((2 / 3) / (3 / 5))
    assert found.lift_low == pytest.approx(found.precision.low / (3 / 5))
    assert found.lost_gpu_hours_avoidable == pytest.approx(100 - 75 * 40 / 50)
    assert found.lost_gpu_hours_avoidable_low == pytest.approx(max(0, 100 * 5.425 / 10 - 60), abs=0.05)
    assert found.lost_gpu_hours_avoidable_high == pytest.approx(100 * 16.962 / 10 - 60, abs=0.05)
    assert (found.named_failure_count, found.named_node_days) == (10, 75.0)


def test_nobody_named_and_nobody_bad():
    found = evaluate_forward([False, False], [0, 0], [25, 25], [0, 0], normal_rate=0.0065)
    assert np.isnan([found.precision.value, found.recall.value, found.lift]).all()
    assert found.lost_gpu_hours_avoidable == 0
    assert np.isnan(found.lost_gpu_hours_avoidable_high)


def test_a_named_node_that_was_taken_out_is_not_judged():
    found = evaluate_forward([True, True], [0, 9], [0, 25], [0, 9], normal_rate=0.0065)
    assert (found.named_count, found.precision.value) == (1, 1.0)


def test_lists_of_planted_fleets_come_true():
    """Lemons of 20 times the rate, found in 90 days, judged by the next 28, in which 58% fail three times."""
    setting, named, hits, lifts = Setting(90, 20), 0, 0, []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        fleet = plant(setting, rng)
        found = blame(fleet)
        listed = decide(found, fleet.exposure, np.zeros(2000, dtype=bool)).verdict == LEMON
        time = 28 * 0.83 * np.ones(2000)
        later = rng.poisson(np.where(fleet.is_lemon, 0.13, 0.0065) * time)
        judged = evaluate_forward(listed, later, time, 4.0 * later, normal_rate=found.fleet.normal.rate)
        named, hits = named + judged.named_count, hits + round(judged.precision.value * judged.named_count)
        lifts.append(judged.lift)
        assert judged.lost_gpu_hours_avoidable == pytest.approx(4 * 23.24 * 0.13 * 23, rel=0.35)
    assert hits / named == pytest.approx(0.58 * 0.95, abs=0.1)
    assert min(lifts) > 20
