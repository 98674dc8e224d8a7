"""Dispersion: 1 for Poisson counts, the planted value for scattered ones, and no effect of rates that change."""

import numpy as np
import pytest

from assets.model.dispersion import neighbour_dispersion, pearson_dispersion


def test_pearson_is_chi_square_over_degrees_of_freedom():
    assert pearson_dispersion([4, 9, 2, 13], [7.0, 7.0, 7.0, 7.0], parameter_count=1) == pytest.approx(74 / 7 / 3)


def test_neighbours_of_unequal_exposure_are_compared_by_their_exposure():
    """4 events of 5 in 4 of 5 hours are as expected; 1 of 5 are 3 too few: 9 / (5 x 0.8 x 0.2)."""
    assert neighbour_dispersion([4, 1], [4.0, 1.0]) == pytest.approx(0.0)
    assert neighbour_dispersion([1, 4], [4.0, 1.0]) == pytest.approx(9 / 0.8)


def test_neighbours_are_1_for_poisson_counts_also_where_the_rate_changes():
    rng = np.random.default_rng(11)
    exposure = rng.uniform(5.0, 15.0, 4000)
    rate = np.where(np.arange(4000) < 2000, 0.2, 0.8)
    assert neighbour_dispersion(rng.poisson(rate * exposure), exposure) == pytest.approx(1.0, abs=0.06)


def test_neighbours_find_a_planted_scatter_of_3():
    counts = np.random.default_rng(12).negative_binomial(4.0, 1 / 3, 6000)  # mean 8, variance 24
    assert neighbour_dispersion(counts, np.ones(6000)) == pytest.approx(3.0, abs=0.2)
