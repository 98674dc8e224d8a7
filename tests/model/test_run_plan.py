"""Plans against golden values, with the uncertainty of a rate, and without any known value."""

import numpy as np
import pytest

from assets.model.checkpoint import optimal_minutes
from assets.model.ettr import expected_ettr_exact
from assets.model.failure_rate import garwood_interval
from assets.model.run_outlook import run_outlook
from assets.model.run_plan import assumed_rate, plan_checkpoints, predict_interruptions, probability_uninterrupted

FIVE = {"restart_minutes": 5.0, "write_minutes": 5.0}


def outlook(rate, nodes=512, checkpoint=60.0, days=30.0, target=0.9, runs=4000, **costs):
    return run_outlook(
        rate,
        nodes,
        checkpoint,
        **({"restart_minutes": 5.0, "write_minutes": 0.0} | costs),
        scheduled_days=days,
        target=target,
        run_count=runs,
    )


def test_limits_of_the_rate_become_limits_of_interval_and_ettr():
    rate = garwood_interval(65, 10_000.0)
    plan = plan_checkpoints(rate, 1500, **FIVE)
    assert plan.optimal_low == optimal_minutes(1500 * rate.high, 5)
    assert plan.optimal_low < plan.optimal < plan.optimal_high
    assert plan.ettr_optimal_low < plan.ettr_optimal < plan.ettr_optimal_high


def test_without_failures_there_are_bounds_and_no_values():
    rate = garwood_interval(0, 10_000.0)
    plan = plan_checkpoints(rate, 1500, **FIVE)
    assert np.isnan([plan.young, plan.daly, plan.optimal, plan.ettr_young, plan.ettr_optimal]).all()
    assert plan.optimal_low == optimal_minutes(1500 * rate.high, 5)
    assert (plan.optimal_high, plan.ettr_optimal_high) == (np.inf, 1.0)
    assert 0.8 < plan.ettr_optimal_low < 1
    assert np.isnan(outlook(rate).probability)
    assert np.isnan(probability_uninterrupted(rate, 100.0))


def test_unknown_rates_and_nodes_stay_unknown():
    for rate, nodes in [(garwood_interval(0, 0.0), 8.0), (garwood_interval(5, 100.0), np.nan)]:
        plan = plan_checkpoints(rate, nodes, **FIVE)
        assert all(np.isnan(getattr(plan, name)) for name in vars(plan))
        assert np.isnan(outlook(rate, nodes).probability)


def test_writes_that_cost_nothing_are_done_all_the_time():
    plan = plan_checkpoints(assumed_rate(0.0065), 2000, restart_minutes=5, write_minutes=0)
    assert [plan.young, plan.optimal] == [0.0, 0.0]
    assert plan.ettr_optimal == pytest.approx(np.exp(-13 * 5 / 1440), abs=1e-5)
    assert outlook(assumed_rate(0.0065), 2000, 0.0, target=0.95).probability > 0.9


def test_interruptions_of_a_counted_and_of_a_known_rate():
    known = predict_interruptions(assumed_rate(0.0065), 2048 * 30)
    counted = predict_interruptions(garwood_interval(65, 10_000.0), 2048 * 30)
    assert [known.value, counted.value] == pytest.approx([399.36, 399.36])
    assert counted.low < known.low < known.high < counted.high


def test_to_be_left_alone_is_the_chance_of_no_failure_at_all():
    """The mean of exp(-r t) over the posterior, by a million draws."""
    draws = np.random.default_rng(1).gamma(3.5, 1 / 100, 1_000_000)
    rate = garwood_interval(3, 100.0)
    assert probability_uninterrupted(rate, 40.0) == pytest.approx(np.exp(-draws * 40).mean(), abs=1e-3)


def test_doubt_about_the_rate_widens_what_a_run_may_bring():
    few, many, known = (outlook(rate) for rate in (
        garwood_interval(2, 2 / 0.0065), garwood_interval(6500, 1e6), assumed_rate(0.0065)
    ))  # fmt: skip
    assert few.ettr_high - few.ettr_low > 2 * (known.ettr_high - known.ettr_low)
    assert (many.ettr_low, many.ettr_high) == pytest.approx((known.ettr_low, known.ettr_high), abs=0.003)
    assert few.probability < many.probability
    assert many.probability == pytest.approx(known.probability, abs=0.03)


def test_a_target_at_the_expectation_is_reached_by_about_half():
    per_day = 512 * 0.0065
    target = float(expected_ettr_exact(per_day, 60, restart_minutes=5))
    assert outlook(assumed_rate(0.0065), target=target).probability == pytest.approx(0.5, abs=0.06)


def test_a_run_of_countless_failures_is_followed_for_a_part_only():
    """A million failures a day would take hours to simulate."""
    hopeless = outlook(assumed_rate(10.0), nodes=100_000)
    assert (hopeless.probability, hopeless.ettr_high) == (0.0, 0.0)
