"""Counts of attempts in incidents: by hand, Garwood's limits if nothing is shared or uncertain, and coverage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from assets.model.failure_rate import (
    CONFIDENCE_LEVEL,
    GARWOOD,
    GARWOOD_DISPERSED,
    GARWOOD_UPPER_LIMIT,
    NO_EXPOSURE,
    garwood_interval,
)
from assets.model.incident_counts import count_incidents, weighted_interval


def interval(w, m, exposure, parameter_variance=0.0, level=CONFIDENCE_LEVEL):
    """Return the limits of the rate of failed attempts of one population, incident by incident."""
    counts = count_incidents(np.zeros(len(w), dtype=int), w, m, group_count=1)
    return weighted_interval(counts.attempt_count[0], counts.attempt_variance[0] + parameter_variance, exposure, level)


@given(st.integers(0, 400), st.floats(1e-3, 1e6), st.floats(0.5, 0.999))
def test_certain_failures_one_by_one_have_garwoods_limits(count, exposure, level):
    found = interval(np.ones(count), np.ones(count), exposure, level=level)
    plain = garwood_interval(count, exposure, level)
    assert (found.value, found.low, found.high) == (plain.value, plain.low, plain.high)
    assert found.method == plain.method == (GARWOOD if count else GARWOOD_UPPER_LIMIT)


def test_certain_incidents_have_the_dispersion_of_a_compound_poisson_count():
    """Incidents of 1, 2 and 5 attempts: k = 8, sum m^2 = 30, phi = 3.75."""
    found = interval([1.0, 1.0, 1.0], [1, 2, 5], 100.0)
    assert found.dispersion == pytest.approx(30 / 8)
    assert found.value == pytest.approx(0.08)
    assert found.low == pytest.approx(stats.chi2.ppf(0.05, 2 * 8 / 3.75) / 2 * 3.75 / 100)
    assert found.high == pytest.approx(stats.chi2.ppf(0.95, 2 * (8 / 3.75 + 1)) / 2 * 3.75 / 100)
    assert found.method == GARWOOD_DISPERSED


def test_doubtful_incidents_count_with_their_probability_and_widen_the_limits():
    """Two certain ones and one of w = 0.5 with members of p = 0.5 and 0.25: m = 1.5.

    k = 2 + 0.75; V = 2 + 0.5 * 1.5^2 * 1.5 = 3.6875.
    """
    counts = count_incidents([0, 0, 0], [1.0, 1.0, 0.5], [1, 1, 1.5], group_count=1)
    assert counts.attempt_count[0] == pytest.approx(2.75)
    assert counts.attempt_variance[0] == pytest.approx(3.6875)
    assert counts.incident_count[0] == pytest.approx(2.5)
    assert counts.incident_variance[0] == pytest.approx(2.75)
    found = interval([1.0, 1.0, 0.5], [1, 1, 1.5], 10.0)
    assert found.event_count == pytest.approx(2.75)
    assert found.dispersion == pytest.approx(3.6875 / 2.75)


def test_the_variance_of_the_parameters_is_added():
    plain, wider = (interval(np.ones(12), np.ones(12), 1.0, variance) for variance in (0.0, 6.0))
    assert wider.dispersion == pytest.approx(1.5)
    assert wider.value == plain.value
    assert wider.low < plain.low and wider.high > plain.high


def test_groups_get_the_limits_that_each_would_get_alone():
    rng = np.random.default_rng(3)
    group, w, m = rng.integers(0, 5, 60), rng.uniform(0.1, 1, 60), 1 + rng.poisson(0.6, 60)
    node_days = np.array([10.0, 200.0, 0.0, 40.0, 5.0, 77.0])
    counts = count_incidents(group, w, m, group_count=6)
    found = weighted_interval(counts.attempt_count, counts.attempt_variance, node_days)
    for at in range(6):
        alone = interval(w[group == at], m[group == at], node_days[at])
        assert (found.low[at], found.high[at]) == pytest.approx((alone.low, alone.high), nan_ok=True)
    assert found.method.tolist()[2] == NO_EXPOSURE
    assert found.method.tolist()[5] == GARWOOD_UPPER_LIMIT
    assert found.high[5] == pytest.approx(-np.log(0.05) / 77)


def covered(rng, candidates, attempts, probabilities=(1.0,), rounds=4000):
    """Return the share of rounds in which the limits, and Garwood's own, contain the rate of failed attempts.

    Each candidate is an incident with one of the probabilities, of a geometric number of attempts.
    """
    group = np.repeat(np.arange(rounds), rng.poisson(candidates, rounds))
    w, m = rng.choice(probabilities, group.size), rng.geometric(1 / attempts, group.size)
    counts = count_incidents(group, w, m, rounds)
    found = weighted_interval(counts.attempt_count, counts.attempt_variance, 1.0)
    plain = garwood_interval(np.round(counts.attempt_count), 1.0)
    truth = candidates * np.mean(probabilities) * attempts
    return [float(((limits.low <= truth) & (truth <= limits.high)).mean()) for limits in (found, plain)]


@pytest.mark.parametrize(("attempts", "garwood"), [(1.0, 0.91), (1.15, 0.87), (1.5, 0.775), (3.0, 0.54)])
def test_limits_hold_the_rate_of_attempts_that_come_in_incidents(attempts, garwood):
    found, plain = covered(np.random.default_rng(11), 60, attempts)
    assert found == pytest.approx(0.91, abs=0.02)
    assert plain == pytest.approx(garwood, abs=0.03)


@pytest.mark.parametrize("attempts", [1.0, 1.15, 1.5, 3.0])
def test_ten_incidents_are_enough_to_hold_what_is_promised(attempts):
    found, _ = covered(np.random.default_rng(12), 10, attempts)
    assert 0.88 <= found <= 0.94


@pytest.mark.parametrize("attempts", [1.0, 1.5])
def test_limits_hold_the_rate_where_some_incidents_are_doubtful(attempts):
    found, _ = covered(np.random.default_rng(13), 60, attempts, (0.6, 0.8, 0.95, 1.0))
    assert 0.88 <= found <= 0.97
