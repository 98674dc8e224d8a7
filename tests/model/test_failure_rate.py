"""Rates against Garwood's limits as scipy and handbooks give them; `tests.proof` measures how often they cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assets.model.failure_rate import GARWOOD_UPPER_LIMIT, NO_EXPOSURE, garwood_interval


def test_golden_of_garwood_90_without_events_is_a_one_sided_limit():
    rate = garwood_interval(0, 1.0)
    assert (rate.value, rate.low) == (0.0, 0.0)
    assert rate.high == pytest.approx(2.996, abs=5e-4)
    assert rate.high == pytest.approx(-np.log(0.05))
    assert rate.method == GARWOOD_UPPER_LIMIT


def test_garwood_95_agrees_with_the_limits_of_a_poisson_count_printed_in_handbooks():
    rate = garwood_interval([1, 2, 10, 20], 1.0, confidence_level=0.95)
    assert rate.low == pytest.approx([0.0253, 0.2422, 4.7954, 12.2165], abs=5e-4)
    assert rate.high == pytest.approx([5.5716, 7.2247, 18.3904, 30.8884], abs=5e-4)


@given(st.integers(1, 5000), st.floats(1e-3, 1e6), st.floats(0.5, 0.999))
def test_garwood_agrees_with_the_chi_square_of_scipy(count, exposure, level):
    rate, tail = garwood_interval(count, exposure, level), (1 - level) / 2
    assert rate.low == pytest.approx(stats.chi2.ppf(tail, 2 * count) / (2 * exposure), rel=1e-9)
    assert rate.high == pytest.approx(stats.chi2.ppf(1 - tail, 2 * count + 2) / (2 * exposure), rel=1e-9)
    assert rate.low < rate.value < rate.high


def test_per_thousand_node_days_is_a_thousandth_per_node_day():
    """A public calculator took 6.5 failures per 1,000 node-days as 0.0065 per 1,000: 1,000 times too good."""
    rate = garwood_interval(65, 10_000.0)
    assert rate.value == pytest.approx(0.0065)
    assert rate.value * 1000 == pytest.approx(6.5)


def test_nothing_is_said_without_exposure():
    rate = garwood_interval([0, 3, np.nan, 2], [0.0, 0.0, 5.0, np.nan])
    assert np.isnan([rate.value, rate.low, rate.high]).all()
    assert (rate.method == NO_EXPOSURE).all()


@pytest.mark.parametrize(
    ("count", "exposure", "level"), [(-1, 1, 0.9), (1.5, 1, 0.9), (1, -1, 0.9), (1, np.inf, 0.9), (1, 1, 0), (1, 1, 90)]
)
def test_impossible_inputs_are_refused(count, exposure, level):
    with pytest.raises(ValueError):
        garwood_interval(count, exposure, level)
