"""Predicted counts against scipy's distributions, and their coverage, computed exactly instead of simulated."""

import numpy as np
import pytest
from scipy import stats

from assets.model.failure_rate import garwood_interval
from assets.model.prediction import prediction_at_known_rate, prediction_interval


@pytest.mark.parametrize(
    ("count", "past", "future"),
    [(0, 100, 50), (3, 10, 1000), (65, 10_000, 61_440), (10_000, 1e6, 1e7), (419, 110_592, 2048)],
)
def test_limits_are_those_of_scipys_negative_binomial(count, past, future):
    found = prediction_interval(count, past, future)
    expected = stats.nbinom.ppf([0.05, 0.95], count + 0.5, past / (past + future))
    assert [found.low, found.high] == expected.tolist()


@pytest.mark.parametrize("mean", [0.0, 1.0, 3.0, 399.36, 1e6])
def test_limits_at_a_known_rate_are_those_of_scipys_poisson(mean):
    found = prediction_at_known_rate(mean)
    assert [found.low, found.high] == stats.poisson.ppf([0.05, 0.95], mean).clip(0).tolist()
    assert (found.value, found.method) == (mean, "poisson")


@pytest.mark.parametrize("mean", [1e15, 1e20, 1e100])
def test_counts_too_large_to_count_one_by_one_have_limits_all_the_same(mean):
    for found in (prediction_at_known_rate(mean), prediction_interval(1e6, 1e6, mean)):
        assert 0 < found.low <= found.value <= found.high < 1.1 * mean


def test_limits_hold_the_expectation_also_where_nothing_is_likely_to_happen():
    """The chance of any failure is below 5%, so the quantile is 0."""
    for found in (prediction_interval(40, 1000.0, 1.0), prediction_at_known_rate(0.04)):
        assert (float(found.value), float(found.low), float(found.high)) == (pytest.approx(0.04), 0.0, 1.0)


def coverage(mean, ratio, limits):
    """Sum over all pasts the probability that the future is within their limits."""
    counts = np.arange(int(mean + 12 * mean**0.5 + 30))
    low, high = limits(counts, ratio)
    inside = stats.poisson.cdf(high, mean * ratio) - stats.poisson.cdf(np.ceil(low) - 1, mean * ratio)
    return float(stats.poisson.pmf(counts, mean) @ inside)


def predicted(counts, ratio):
    found = prediction_interval(counts, 1.0, ratio)
    return found.low, found.high


@pytest.mark.parametrize("mean", [0.5, 1, 3, 10, 50])
@pytest.mark.parametrize("ratio", [0.1, 0.3, 1, 3, 10, 30])
def test_it_covers_at_least_what_it_promises(mean, ratio):
    assert coverage(mean, ratio, predicted) >= 0.9 - 0.005


def test_the_limits_of_the_rate_alone_would_miss_most_futures():
    def of_the_rate(counts, ratio):
        rate = garwood_interval(counts, 1.0)
        return rate.low * ratio, rate.high * ratio

    assert coverage(50, 0.3, of_the_rate) < 0.7


def test_the_month_to_come_differs_from_the_months_before():
    """Months that differ by 30%: the future is negative binomial, the rate of the past well known."""
    mean, variance = 300, 0.09
    counts = np.arange(mean + 200)
    futures = stats.nbinom(1 / variance, 1 / (1 + variance * mean))

    def covered(**options):
        found = prediction_interval(counts, 1.0, 1.0, **options)
        inside = futures.cdf(found.high) - futures.cdf(np.ceil(found.low) - 1)
        return float(stats.poisson.pmf(counts, mean) @ inside)

    assert covered(relative_variance=variance) == pytest.approx(0.9, abs=0.02)
    assert covered() < 0.5


def test_without_events_only_the_limits_are_known_and_without_exposure_nothing():
    found = prediction_interval([0, 3, np.nan], [100.0, 0.0, 10.0], 50.0)
    assert np.isnan(found.value).all()
    assert found.low.tolist()[0] == 0.0
    assert found.high.tolist()[0] == 1.0
    assert np.isnan(found.high[1:]).all()
    assert found.method.tolist() == ["negative_binomial", "no_exposure", "no_exposure"]


def test_nothing_happens_in_no_time():
    found = prediction_interval(65, 10_000.0, 0.0)
    assert (found.value, found.low, found.high) == (0.0, 0.0, 0.0)
