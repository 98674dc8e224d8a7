"""The simulated runs against the exact form, the published form, a run lived event by event, and plain arithmetic."""

import numpy as np
import pytest
from scipy import stats

from assets.model.ettr import expected_ettr_exact
from assets.model.ettr_simulation import simulate_runs
from tests.model.test_ettr import wall_minutes

RSC1 = 0.0065  # failures per node-day
SETTINGS = [(6.5, 30, 0, 1), (13.0, 60, 5, 0), (9.75, 38.43, 5, 0), (40.0, 60, 2, 15), (0.5, 120, 5, 30)]


def generator(seed=5):
    return np.random.default_rng(seed)


@pytest.mark.parametrize(("per_day", "checkpoint", "write", "queue"), SETTINGS)
def test_long_runs_of_given_days_agree_with_the_exact_form_within_their_standard_error(
    per_day, checkpoint, write, queue
):
    costs = {"restart_minutes": 5, "write_minutes": write, "queue_minutes": queue}
    runs = simulate_runs(per_day, checkpoint, **costs, scheduled_days=3000, run_count=100, generator=generator())
    assert runs.standard_error < 0.001
    assert abs(runs.value - expected_ettr_exact(per_day, checkpoint, **costs)) < 3 * runs.standard_error


def test_the_standard_error_is_what_seeds_scatter_by():
    runs = [
        simulate_runs(13.0, 60, restart_minutes=5, scheduled_days=10, run_count=200, generator=generator(seed))
        for seed in range(200)
    ]
    scatter = np.std([run.value for run in runs], ddof=1)
    assert scatter == pytest.approx(np.mean([run.standard_error for run in runs]), rel=0.15)


def test_the_distribution_is_that_of_runs_lived_event_by_event():
    """Kolmogorov and Smirnov: 1,500 runs of 24 hours of work, attempt by attempt in a plain loop."""
    lived = [wall_minutes(np.random.default_rng([11, i]), 13.0, 24, 5, 2) / 1440 for i in range(1500)]
    runs = simulate_runs(
        13.0, 60, restart_minutes=5, write_minutes=5, queue_minutes=2, productive_days=1, run_count=1500,
        generator=generator(),
    )  # fmt: skip
    assert stats.ks_2samp(lived, runs.wallclock_days).pvalue > 0.01
    assert runs.productive_days == pytest.approx(1)


def test_interruptions_are_poisson_over_the_scheduled_time():
    runs = simulate_runs(0.4, 60, restart_minutes=5, scheduled_days=30, run_count=20_000, generator=generator())
    assert runs.interruption_count.mean() == pytest.approx(12, abs=4 * (12 / 20_000) ** 0.5)
    assert runs.interruption_count.var() == pytest.approx(12, rel=0.05)


def test_a_run_without_failures_is_arithmetic():
    runs = simulate_runs(
        0.0, 50, restart_minutes=20, write_minutes=10, queue_minutes=60, productive_days=10 * 50 / 1440, run_count=3,
        generator=generator(),
    )  # fmt: skip
    assert runs.ettr == pytest.approx(500 / (60 + 20 + 600))
    runs = simulate_runs(
        0.0, 50, restart_minutes=20, write_minutes=10, queue_minutes=60, scheduled_days=1, run_count=3,
        generator=generator(),
    )  # fmt: skip
    # 1,420 minutes after the restart: 23 segments of an hour, and 40 minutes of work up to the end.
    assert runs.ettr == pytest.approx((23 * 50 + 40) / (1440 + 60))
    assert runs.interruption_count.tolist() == [0, 0, 0]


def test_each_run_may_have_its_own_rate_and_length():
    runs = simulate_runs(
        np.repeat([0.0, 200.0], 500), 60, restart_minutes=5, scheduled_days=np.repeat([1.0, 2.0], 500), run_count=1000,
        generator=generator(),
    )  # fmt: skip
    assert (runs.ettr[:500] > 0.99).all()
    assert (runs.ettr[500:] < 0.1).all()
    assert runs.wallclock_days.tolist() == [1.0] * 500 + [2.0] * 500


def test_batches_do_not_touch_each_other():
    """Two million failures need several batches; the runs of all of them agree with the exact form."""
    runs = simulate_runs(40.0, 60, restart_minutes=5, scheduled_days=500, run_count=100, generator=generator())
    exact = float(expected_ettr_exact(40.0, 60, restart_minutes=5))
    assert runs.interruption_count.sum() > 1_900_000
    assert runs.ettr == pytest.approx(exact, abs=0.02)


def test_nine_in_ten_runs_lie_between_the_limits():
    runs = simulate_runs(13.0, 60, restart_minutes=5, scheduled_days=30, run_count=4000, generator=generator())
    assert [np.mean(runs.ettr >= limit) for limit in (runs.low, runs.high)] == pytest.approx([0.95, 0.05], abs=0.001)


def test_the_same_generator_gives_the_same_runs():
    first, second = (
        simulate_runs(13.0, 60, restart_minutes=5, scheduled_days=30, run_count=50, generator=generator())
        for _ in range(2)
    )
    assert (first.ettr == second.ettr).all()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"checkpoint_minutes": 0}, "checkpoint interval above 0"),
        ({"restart_minutes": -1}, "nothing below 0"),
        ({"failures_per_day": -1.0}, "nothing below 0"),
        ({"failures_per_day": np.nan}, "nothing below 0"),
        ({"run_count": 0}, "needs runs"),
        ({"scheduled_days": 0}, "more than 0 scheduled days"),
        ({"scheduled_days": None}, "productive_days or scheduled_days"),
        ({"productive_days": 1}, "productive_days or scheduled_days"),
        ({"productive_days": 0, "scheduled_days": None}, "has work to do"),
        ({"failures_per_day": 1e6}, "simulate a shorter part"),
        ({"failures_per_day": 1e4, "productive_days": 1, "scheduled_days": None}, "simulate a shorter part"),
    ],
)
def test_impossible_inputs_are_refused(wrong, message):
    inputs = {
        "failures_per_day": 1.0, "checkpoint_minutes": 60, "restart_minutes": 5, "scheduled_days": 30, "run_count": 10,
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        simulate_runs(**(inputs | wrong), generator=generator())
