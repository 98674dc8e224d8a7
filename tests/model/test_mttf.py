"""MTTF by its arithmetic, its limits and its edges."""

import numpy as np
import pytest
from scipy import stats

from assets.model.failure_rate import garwood_interval
from assets.model.mttf import mttf_at_scale, mttf_from_runtime, nodes_of

RSC1 = garwood_interval(6500, 1_000_000.0)  # 6.5 per 1,000 node-days


def test_a_thousandfold_unit_error_would_show():
    """One node at 6.5 failures per 1,000 node-days has an MTTF of five months, neither hours nor centuries."""
    assert mttf_at_scale(RSC1, 1).hours / 24 == pytest.approx(1000 / 6.5)


def test_a_projection_carries_the_limits_of_the_rate_along():
    rate = garwood_interval(5, 1000.0)
    mttf = mttf_at_scale(rate, [10, 100])
    assert mttf.low == pytest.approx([24 / (10 * 0.010513), 24 / (100 * 0.010513)], rel=1e-4)
    assert mttf.high == pytest.approx([24 / (10 * 0.001970), 24 / (100 * 0.001970)], rel=1e-3)


def test_without_failures_there_is_a_lower_limit_and_no_mean():
    mttf = mttf_from_runtime(0, 299.6)
    assert np.isnan(mttf.hours)
    assert mttf.low == pytest.approx(100.0, rel=1e-3)
    assert mttf.high == np.inf


def test_a_started_node_is_a_whole_node():
    assert nodes_of([1, 8, 9, 16], 8).tolist() == [1, 1, 2, 2]
    assert np.isnan(nodes_of(8, np.nan))


def test_a_job_on_all_gpus_of_a_fleet_has_all_its_nodes():
    most_of_8, most_of_1 = (8, 640, 100), (1, 900, 201)
    assert nodes_of([1, 512, 639, 640, 641, 1280], *most_of_8).tolist() == [1, 64, 80, 100, 100, 160]
    assert nodes_of([1, 200, 512, 900, 9000], *most_of_1).tolist() == [1, 200, 201, 201, 9000]
    assert nodes_of([8, 64], 8, [0, np.nan], [0, 3]).tolist() == [1, 8]
    assert np.isnan(nodes_of(8, np.nan, 640, 100))


def test_an_mttf_of_failures_that_came_in_incidents_is_less_certain():
    """Four failures in two incidents of two: k = 4, V = 8, phi = 2."""
    apart, joined = mttf_from_runtime(4, 1000.0), mttf_from_runtime(4, 1000.0, failure_variance=8)
    assert joined.hours == apart.hours == 250.0
    assert 1 / joined.low == pytest.approx(stats.chi2.ppf(0.95, 2 * 3) / 1000.0)
    assert 1 / joined.high == pytest.approx(stats.chi2.ppf(0.05, 2 * 2) / 1000.0)
