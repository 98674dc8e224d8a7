"""Slope of the rate over job size against statsmodels, its verdicts, and limits of failures that come together."""

import numpy as np
import pytest
from scipy import stats

from assets.model.scale.dependence import scale_test

NODE_DAYS = np.array([6000.0, 12_500.0, 25_000.0, 50_000.0, 9000.0])
NODES = np.array([1.0, 4.0, 16.0, 64.0, 256.0])

# Sizes and exposures of a cluster like RSC-1 above one node.
FLEET_NODES = 2.0 ** np.arange(9)
FLEET_DAYS = np.array([30.0, 30.0, 40.0, 50.0, 60.0, 80.0, 100.0, 120.0, 70.0]) * 1000


def test_slope_dispersion_and_likelihood_ratio_agree_with_statsmodels():
    """GLM(Poisson, offset=log T), statsmodels 0.15.0: slope 0.06256451, phi 1.82933, likelihood ratio 4.973090."""
    test = scale_test([30, 85, 155, 330, 81], NODE_DAYS, NODES)
    assert test.beta == pytest.approx(0.06256451, abs=5e-9)
    assert test.dispersion == pytest.approx(1.8293309130290567)
    assert test.method == "quasi_poisson"
    assert test.p_value == pytest.approx(stats.f.sf(4.973090187387896 / 1.8293309130290567, 1, 3), rel=1e-6)


def test_limits_are_where_the_likelihood_of_both_parameters_falls_to_the_quantile():
    counts = np.array([40, 90, 150, 330, 60])
    test = scale_test(counts, NODE_DAYS, NODES)
    assert (test.method, test.dispersion < 1) == ("poisson_profile", True)

    def highest(beta):
        shape = NODE_DAYS * NODES**beta
        return stats.poisson.logpmf(counts, shape * counts.sum() / shape.sum()).sum()

    for limit in (test.low, test.high):
        assert 2 * (highest(test.beta) - highest(limit)) == pytest.approx(2.705543, abs=1e-4)
    assert test.p_value == pytest.approx(stats.chi2.sf(2 * (highest(test.beta) - highest(0.0)), 1), rel=1e-6)


def test_a_scattered_series_has_wider_limits_than_its_poisson_likelihood_gives():
    wide, narrow = (scale_test(counts, NODE_DAYS, NODES) for counts in ([30, 85, 155, 330, 81], [36, 78, 163, 342, 64]))
    assert wide.dispersion > 1.5 > 1 > narrow.dispersion
    assert wide.high - wide.low > 1.5 * (narrow.high - narrow.low)


@pytest.mark.parametrize(("beta", "verdict"), [(0.0, "constant"), (0.25, "grows"), (-0.25, "falls")])
def test_ten_thousand_failures_give_a_verdict(beta, verdict):
    expected = FLEET_DAYS * FLEET_NODES**beta
    counts = np.random.default_rng(41).poisson(10_000 * expected / expected.sum())
    test = scale_test(counts, FLEET_DAYS, FLEET_NODES)
    assert test.verdict == verdict
    assert test.is_equivalent == (verdict == "constant")
    assert test.low <= beta <= test.high


def test_a_hundred_failures_cannot_tell():
    counts = np.random.default_rng(42).poisson(100 * FLEET_DAYS / FLEET_DAYS.sum())
    test = scale_test(counts, FLEET_DAYS, FLEET_NODES)
    assert (test.verdict, test.is_equivalent) == ("cannot tell", False)
    assert test.p_value > 0.05


def test_failures_at_one_end_only_have_a_bound_and_no_value():
    """All 5 at the larger of two equal sizes: 5 log(1 + 2^-beta) = 1.3528, so beta = 1.6864 at least."""
    grows, falls = scale_test([0, 5], [1.0, 1.0], [1, 2]), scale_test([5, 0], [1.0, 1.0], [1, 2])
    assert np.isnan(grows.beta) and grows.high == np.inf and grows.verdict == "grows"
    assert grows.low == pytest.approx(-np.log2(np.exp(2.705543 / 2 / 5) - 1), abs=1e-4)
    assert (falls.low, falls.high, falls.verdict) == (-np.inf, pytest.approx(-grows.low), "falls")


def test_two_sizes_have_a_slope_and_no_dispersion():
    test = scale_test([10, 40], [1000.0, 1000.0], [1, 4])
    assert test.beta == pytest.approx(1.0)
    assert np.isnan(test.dispersion) and test.method == "poisson_profile"


@pytest.mark.parametrize(
    ("counts", "days", "nodes", "method"),
    [
        ([3], [10.0], [4], "one_size"),
        ([0, 0], [10.0, 5.0], [1, 2], "no_events"),
        ([], [], [], "no_exposure"),
        ([0, 0], [0.0, 0.0], [1, 2], "no_exposure"),
    ],
)
def test_where_nothing_can_be_said_the_verdict_says_so(counts, days, nodes, method):
    test = scale_test(counts, days, nodes)
    assert (test.verdict, test.is_equivalent, test.method) == ("cannot tell", None, method)
    assert np.isnan([test.beta, test.p_value, test.dispersion]).all()
    assert test.event_count == sum(counts)


def test_failures_that_come_three_at_a_time_keep_the_limits_honest():
    """Incidents of three attempts: Poisson limits contain the slope in seven of ten, limits with V in nine."""
    rng, held = np.random.default_rng(48), []
    for _ in range(150):
        counts = 3.0 * rng.poisson(40 * FLEET_DAYS[:2] / FLEET_DAYS[:2].sum())
        tests = [scale_test(counts, FLEET_DAYS[:2], [1.0, 64.0], event_variance=v) for v in (3.0 * counts, counts)]
        held.append([test.low <= 0 <= test.high for test in tests])
    known, blind = np.mean(held, axis=0)
    assert known == pytest.approx(0.90, abs=0.08)
    assert blind < 0.80
