"""Limits of a sum of losses cover as often as they say, even if few jobs cost most."""

import numpy as np
import pytest
from scipy import stats

from assets.model.loss_limits import loss_interval


def covered(rng, mean_count, costs, rounds=3000):
    """Return how often the limits contain the expected loss of periods with a Poisson number of these events."""
    drawn = [rng.choice(costs, size) for size in rng.poisson(mean_count, rounds) if size]
    sums, squares, largest = (
        np.array([part(each) for each in drawn]) for part in (np.sum, lambda x: (x**2).sum(), np.max)
    )
    found = loss_interval(sums, squares, largest)
    expected = mean_count * np.mean(costs)
    return np.mean((found.low <= expected) & (expected <= found.high))


@pytest.mark.parametrize(
    ("mean_count", "at_least"), [(5, 0.72), (10, 0.81), (30, 0.90), (100, 0.89)]
)  # fmt: skip
def test_coverage_where_each_size_of_job_is_as_likely(mean_count, at_least):
    rate = covered(np.random.default_rng(mean_count), mean_count, 0.5 * 2.0 ** np.arange(10))
    assert at_least <= rate <= 0.95


def test_equal_costs_have_the_limits_of_their_count():
    """Garwood's limits of 12 events, to the accuracy of the quantiles in closed form."""
    found = loss_interval(12 * 4.0, 12 * 16.0, 4.0)
    assert float(found.low) == pytest.approx(4 * stats.chi2.ppf(0.05, 24) / 2, rel=1e-3)
    assert float(found.high) == pytest.approx(4 * stats.chi2.ppf(0.95, 26) / 2, rel=1e-3)


def test_a_coincidence_may_be_nothing_or_all_that_it_cost():
    found = loss_interval(0.02 * 500, 0.02 * 500**2 * 1.98, 500.0)
    assert float(found.low) == 0
    assert 500 < float(found.high) < 2000
