"""Forecasts against scipy's distributions, and their coverage and scores on months that differ and that do not."""

import numpy as np
import pytest
from scipy import stats

from assets.model.forecast import forecast_count, naive_log_score
from assets.model.month_variation import MonthVariation, month_variation

WEIGHTS = np.empty(0)
ALIKE = MonthVariation(0.0, 0.0, 0.0, 0.25, WEIGHTS)


def test_a_forecast_is_scipys_negative_binomial():
    found = forecast_count(40, 40, 400.0, 100.0, ALIKE)
    p = 40.5 / (40.5 + 40.5 / 4)
    assert found.mean == pytest.approx(40.5 / 4)
    assert [found.low, found.high] == stats.nbinom.ppf([0.05, 0.95], 40.5, p).tolist()
    assert found.log_score([0, 7, 12]) == pytest.approx(stats.nbinom.logpmf([0, 7, 12], 40.5, p))
    assert found.holds([found.low - 1, found.low, found.high, found.high + 1]).tolist() == [False, True, True, False]


def test_incidents_months_and_an_unknown_exposure_each_widen_it():
    plain = forecast_count(40, 40, 400.0, 100.0, ALIKE)
    for wider in (
        forecast_count(40, 120, 400.0, 100.0, ALIKE),
        forecast_count(40, 40, 400.0, 100.0, MonthVariation(0.09, 0.0, 0.6, 0.25, WEIGHTS)),
        forecast_count(40, 40, 400.0, 100.0, ALIKE, exposure_variance=0.2),
    ):
        assert wider.low < plain.low and wider.high > plain.high


def test_the_variance_is_that_of_its_parts():
    """k = 40, phi = 3, a quarter of the exposure: mean 10.375; 1 / 13.833 + 0.1125 + 2 / 10.375 of it squared."""
    found = forecast_count(40, 120, 400.0, 100.0, MonthVariation(0.09, 0.0, 0.6, 0.25, WEIGHTS))
    assert found.mean == pytest.approx((40 / 3 + 0.5) * 3 / 4)
    assert 1 / found.shape == pytest.approx(1 / (40 / 3 + 0.5) + 0.09 * 1.25 + 2 / 10.375)


def test_months_without_failures_forecast_few():
    found = forecast_count(0, 0, 400.0, 100.0, month_variation([0, 0, 0, 0], [100.0] * 4))
    assert (found.low, found.high) == (0.0, 1.0)
    assert np.isfinite(found.log_score(3))
    nothing = forecast_count(3, 3, 400.0, 0.0, ALIKE)
    assert (nothing.mean, nothing.high, nothing.log_score(0)) == (0.0, 0.0, pytest.approx(0.0, abs=1e-8))


def test_the_naive_score_is_scipys_poisson():
    assert naive_log_score(8, 50.0, 100.0, 15) == pytest.approx(stats.poisson.logpmf(15, 17))


def test_sums_of_probabilities_are_scored_between_whole_counts():
    found = forecast_count(40, 40, 400.0, 100.0, ALIKE)
    low, middle, high = found.log_score([14.0, 13.5, 13.0])
    assert low < middle < high


@pytest.mark.parametrize(
    ("cv", "per_incident"),
    [(0.3, 1.5), *(pytest.param(*case, marks=pytest.mark.slow) for case in [(0.0, 1.0), (0.3, 1.0)])],
)
def test_forecasts_hold_the_next_month_and_beat_the_naive_one(cv, per_incident):
    rng, held, gain, rounds = np.random.default_rng(51), 0, 0.0, 250
    for _ in range(rounds):
        rates = rng.gamma(1 / cv**2, cv**2, 7) if cv else np.ones(7)
        incidents = [rng.geometric(1 / per_incident, rng.poisson(30 * rate)) for rate in rates]
        k, v = np.array([m.sum() for m in incidents]), np.array([(m**2).sum() for m in incidents])
        past = month_variation(k[:-1], np.ones(6), v[:-1].sum() / k[:-1].sum())
        found = forecast_count(k[:-1].sum(), v[:-1].sum(), 6.0, 1.0, past)
        held += bool(found.holds(k[-1]))
        gain += float(found.log_score(k[-1])) - naive_log_score(k[-2], 1.0, 1.0, k[-1])
    assert 0.86 <= held / rounds <= 0.985
    assert gain > 0
