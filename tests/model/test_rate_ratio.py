"""Ratios of rates against scipy, at their borders, and the coverage of attempts that come in incidents."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assets.model.rate_ratio import (
    CONDITIONAL_BETA,
    CONDITIONAL_BINOMIAL,
    NO_EVENTS,
    common_dispersion,
    rate_ratio,
)


@given(st.integers(0, 500), st.integers(0, 500), st.floats(0.1, 1e5), st.floats(0.1, 1e5))
def test_limits_and_p_value_are_those_of_scipys_binomial_test(k1, k2, t1, t2):
    ratio = rate_ratio(k1, t1, k2, t2)
    if k1 + k2 == 0:
        assert (ratio.low, ratio.p_value, ratio.method) == (0.0, 1.0, NO_EVENTS)
        return
    share = stats.binomtest(k1, k1 + k2).proportion_ci(0.90, "exact")
    assert ratio.low == pytest.approx(share.low / (1 - share.low) * t2 / t1, rel=1e-8)
    high = np.inf if share.high == 1 else share.high / (1 - share.high) * t2 / t1
    assert ratio.high == pytest.approx(high, rel=1e-8)
    tails = [stats.binomtest(k1, k1 + k2, t1 / (t1 + t2), way).pvalue for way in ("less", "greater")]
    assert ratio.p_value == pytest.approx(min(1.0, 2 * min(tails)), rel=1e-6, abs=1e-300)


@given(st.integers(0, 60), st.integers(0, 60), st.floats(0.1, 10))
def test_the_p_value_is_small_exactly_where_the_limits_leave_1_out(k1, k2, t1):
    ratio = rate_ratio(k1, t1, k2, 1.0)
    if abs(float(ratio.p_value) - 0.1) > 1e-9:
        assert (ratio.p_value < 0.1) == bool(ratio.low > 1 or ratio.high < 1)


def test_swapping_the_rates_inverts_the_ratio():
    forth, back = rate_ratio(7, 40.0, 19, 25.0), rate_ratio(19, 25.0, 7, 40.0)
    assert np.divide(1, [back.value, back.high, back.low]) == pytest.approx(
        np.array([forth.value, forth.low, forth.high])
    )
    assert back.p_value == pytest.approx(forth.p_value)


def test_one_side_without_events_has_one_limit():
    ratio = rate_ratio([0, 4], 10.0, [4, 0], 10.0)
    assert ratio.value[0] == 0.0 and np.isnan(ratio.value[1])
    assert ratio.low.tolist()[0] == 0.0 and ratio.low[1] > 0
    assert ratio.high[0] == pytest.approx(1 / ratio.low[1]) and ratio.high[1] == np.inf
    assert (ratio.method == CONDITIONAL_BINOMIAL).all()
    assert ratio.p_value == pytest.approx([0.125, 0.125])


@given(st.integers(1, 300), st.integers(1, 300), st.sampled_from([1.5, 2.0, 3.75]))
def test_dispersed_counts_have_the_limits_of_as_many_events_as_they_stand_for(k1, k2, phi):
    ratio = rate_ratio(k1 * phi, 4.0, k2 * phi, 5.0, dispersion=phi)
    plain = rate_ratio(k1, 4.0, k2, 5.0)
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((plain.value, plain.low, plain.high))
    assert ratio.method == CONDITIONAL_BETA


def test_counts_that_are_not_whole_have_beta_limits():
    ratio = rate_ratio(2.75, 1.0, 6.5, 1.0)
    low, high = stats.beta.ppf(0.05, 2.75, 7.5), stats.beta.ppf(0.95, 3.75, 6.5)
    assert (ratio.low, ratio.high) == pytest.approx((low / (1 - low), high / (1 - high)))
    assert ratio.method == CONDITIONAL_BETA


def test_a_side_without_events_has_one_limit_also_where_counts_are_dispersed():
    ratio = rate_ratio([0, 4], 10.0, [4, 0], 10.0, dispersion=2)
    assert ratio.low.tolist()[0] == 0.0 and ratio.high[1] == np.inf
    assert ratio.high[0] == pytest.approx(1 / ratio.low[1]) == pytest.approx(0.05**-0.5 - 1)
    none = rate_ratio(0.0, 10.0, 0.0, 10.0, dispersion=2)
    assert (none.low, none.high, none.p_value, none.method) == (0.0, np.inf, 1.0, NO_EVENTS)


def test_the_dispersion_in_common_is_that_of_the_ratio():
    assert common_dispersion(40, 40, 7, 7) == 1.0
    assert common_dispersion(30, 60, 50, 100) == pytest.approx(2.0)
    assert common_dispersion(0, 0, 10, 30) == pytest.approx(3.0)
    assert common_dispersion(0, 0, 0, 0) == 1.0
    assert np.isnan(common_dispersion(np.nan, np.nan, 3, 3))


@pytest.mark.parametrize(("attempts", "other_attempts"), [(1.0, 3.0), (1.5, 1.5), (3.0, 3.0)])
def test_limits_hold_the_ratio_of_attempts_that_come_in_incidents(attempts, other_attempts):
    rng, rounds, incidents, truth = np.random.default_rng(33), 6000, np.array([40, 60]), 1.3

    def side(expected, per_incident):
        of = np.repeat(np.arange(rounds), rng.poisson(expected, rounds))
        m = rng.geometric(1 / per_incident, of.size)
        return np.bincount(of, m, rounds), np.bincount(of, m * m, rounds)

    (k1, v1), (k2, v2) = side(incidents[0], attempts), side(incidents[1], other_attempts)
    t1, t2 = incidents[0] * attempts / truth, incidents[1] * other_attempts
    found = rate_ratio(k1, t1, k2, t2, dispersion=common_dispersion(k1, v1, k2, v2))
    assert ((found.low <= truth) & (truth <= found.high)).mean() == pytest.approx(0.905, abs=0.025)
    plain = rate_ratio(k1, t1, k2, t2)
    assert ((plain.low <= truth) & (truth <= plain.high)).mean() < 0.87
