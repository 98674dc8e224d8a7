"""The prior of published fleets: their mean and spread, the conjugate arithmetic, and what it predicts."""

import numpy as np
import pytest
from scipy import stats

from assets.model.failure_rate import garwood_interval
from assets.model.fleet_prior import PRIOR_NODE_DAYS, PRIOR_SHAPE, PUBLISHED_FLEETS, has_few_failures, with_prior
from assets.model.incident_counts import weighted_interval
from assets.model.mttf import mttf_at_scale


def test_the_prior_has_the_mean_of_the_published_fleets_and_is_wider_than_they_are():
    rates = np.array(list(PUBLISHED_FLEETS.values()))
    assert rates.mean() == pytest.approx(3.8, abs=0.05)
    assert rates.std(ddof=1) / rates.mean() == pytest.approx(0.45, abs=0.005)
    assert pytest.approx(rates.mean(), rel=0.01) == 1000 * PRIOR_SHAPE / PRIOR_NODE_DAYS
    assert PRIOR_SHAPE**-0.5 > 0.45


def test_two_failures_in_a_thousand_node_days():
    """Gamma(4, 1,520): mean 2.632 per 1,000."""
    found = with_prior(garwood_interval(2, 1000.0))
    posterior = stats.gamma(4, scale=1 / 1520)
    assert found.value == pytest.approx(posterior.mean())
    assert (found.low, found.high) == pytest.approx(tuple(posterior.ppf([0.05, 0.95])))
    assert mttf_at_scale(found.as_rate(), 10).hours == pytest.approx(24 * 1520 / 4 / 10)


def test_failures_that_came_in_incidents_weigh_less():
    """Six attempts in two incidents of three: phi = 3, so Gamma(2 + 2, 520 + 1000 / 3)."""
    found = with_prior(weighted_interval(6, 18, 1000.0))
    assert (found.shape, found.node_days) == (pytest.approx(4.0), pytest.approx(520 + 1000 / 3))


def test_many_failures_hardly_feel_it():
    data = garwood_interval(6500, 1_000_000.0)
    found = with_prior(data)
    assert found.value == pytest.approx(data.value, rel=1e-3)
    assert not has_few_failures(data) and has_few_failures(garwood_interval(9, 1.0))


def test_the_prediction_is_scipys_negative_binomial():
    found = with_prior(garwood_interval(2, 1000.0)).predict(3000.0)
    assert [found.low, found.high] == stats.nbinom.ppf([0.05, 0.95], 4, 1520 / 4520).tolist()
    wider = with_prior(garwood_interval(2, 1000.0)).predict(3000.0, 0.3)
    assert wider.value == found.value and wider.high > found.high


def test_nothing_is_said_of_a_cluster_without_exposure():
    found = with_prior(garwood_interval(np.nan, 0.0))
    assert np.isnan([found.value, found.low, found.high]).all()
    assert np.isnan(found.predict(10.0).high)


def test_the_prior_holds_the_rate_of_fleets_like_those_published():
    rng, rounds = np.random.default_rng(71), 4000
    truth = rng.gamma(1 / 0.45**2, 0.0038 * 0.45**2, rounds)
    found = with_prior(garwood_interval(rng.poisson(truth * 300), 300.0))
    assert ((found.low <= truth) & (truth <= found.high)).mean() >= 0.9
