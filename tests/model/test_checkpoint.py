"""Checkpoint intervals against Young's rule as the paper uses it, a numeric optimum, and each other."""

import numpy as np
import pytest
from scipy import optimize

from assets.model.checkpoint import daly_minutes, optimal_minutes, young_minutes
from assets.model.ettr import expected_ettr_exact


def test_golden_intervals_of_young_at_12000_gpus():
    assert young_minutes(1500 * 0.0065, [5, 10 / 60]) == pytest.approx([38.4, 7.02], rel=2e-3)


@pytest.mark.parametrize("per_day", [0.1, 2.0, 9.75, 100.0])
@pytest.mark.parametrize("write", [1 / 6, 5.0, 20.0])
def test_the_optimum_agrees_with_a_search_by_scipy(per_day, write):
    found = optimize.minimize_scalar(
        lambda dt: -float(expected_ettr_exact(per_day, dt, restart_minutes=5, write_minutes=write)),
        bounds=(0.01, 1440 / per_day),
        method="bounded",
        options={"xatol": 1e-6},
    )
    assert optimal_minutes(per_day, write) == pytest.approx(found.x, rel=1e-3)


def test_daly_follows_the_optimum_closely_and_young_overshoots():
    mean_minutes = 1440.0
    write = np.array([0.001, 0.01, 0.1, 0.25]) * mean_minutes
    assert daly_minutes(1.0, write) == pytest.approx(optimal_minutes(1.0, write), rel=2e-3)
    assert (young_minutes(1.0, write) > optimal_minutes(1.0, write)).all()


def test_daly_takes_the_time_between_failures_once_writes_are_longer_than_twice_that():
    assert daly_minutes(1440.0, 3.0) == 1.0


def test_free_writes_may_be_done_all_the_time():
    assert [form(1.0, 0.0).item() for form in (young_minutes, daly_minutes, optimal_minutes)] == [0.0, 0.0, 0.0]


def test_impossible_inputs_are_refused():
    for form in (young_minutes, daly_minutes, optimal_minutes):
        with pytest.raises(ValueError, match="without failures"):
            form(0.0, 5)
        with pytest.raises(ValueError, match="write_minutes"):
            form(1.0, -5)
