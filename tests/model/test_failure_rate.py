"""Rates against Garwood's limits from scipy and handbooks; `tests.proof` measures how often they cover."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assets.model.failure_rate import garwood_interval


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
