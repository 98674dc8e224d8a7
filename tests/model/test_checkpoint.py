"""Checkpoint intervals against Young's rule as the paper uses it, a numeric optimum, and each other."""

import numpy as np
import pytest
from scipy import optimize

from assets.model.checkpoint import daly_minutes, expected_ettr_v2, longest_minutes, optimal_minutes, young_minutes
from assets.model.ettr import expected_ettr_exact


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


def test_the_longest_interval_just_reaches_its_target():
    per_day, costs = np.array([0.5, 3.0, 6.5]), {"restart_minutes": 5, "write_minutes": 1, "queue_minutes": 2}
    found = longest_minutes(per_day, 0.85, **costs)
    assert (found > optimal_minutes(per_day, 1)).all()
    assert expected_ettr_exact(per_day, found, **costs) == pytest.approx(0.85)
    assert (expected_ettr_exact(per_day, found * 1.01, **costs) < 0.85).all()


def test_a_target_beyond_the_optimum_has_no_interval():
    """12,000 GPUs reach 0.9 with writes of seconds, not with writes of minutes."""
    found = longest_minutes(1500 * 0.0065, 0.9, restart_minutes=5, write_minutes=np.array([0, 10 / 60, 5]))
    assert found[0] > found[1] > 7
    assert np.isnan(found[2])
    assert np.isnan(longest_minutes(np.nan, 0.9, restart_minutes=5))


def test_the_form_of_the_papers_second_version_gives_its_curve():
    """u0 = w = 5 minutes and Young's interval, RSC-1 and RSC-2, as computed from the published form."""
    nodes = np.array([256, 512, 1024, 2048, 4096, 8192, 12_000, 16_384]) / 8
    rsc1 = [0.962, 0.946, 0.924, 0.893, 0.848, 0.785, 0.740, 0.696]
    rsc2 = [0.977, 0.968, 0.954, 0.936, 0.909, 0.871, 0.844, 0.818]
    assert expected_ettr_v2(nodes * 0.0065) == pytest.approx(rsc1, abs=6e-4)
    assert expected_ettr_v2(nodes * 0.00234) == pytest.approx(rsc2, abs=6e-4)


def test_the_second_versions_form_at_no_rate_and_at_none_that_is_known():
    assert expected_ettr_v2([0.0, np.nan]).tolist() == [1.0, pytest.approx(np.nan, nan_ok=True)]
