"""Lemons of ten times the fleet's rate, found in a refresh of a quarter of the simulated rsc1."""

import pytest

from tests.proof.simulated_lemons import FLEET_RATE, RSC1, find_lemons, with_lemons


def test_the_fleets_mean_rate_is_the_papers_whatever_the_lemons():
    for factor in (5.0, 10.0, 20.0):
        profile = with_lemons(factor)
        rates = [profile.mean_rate_of(node) for node in range(profile.node_count)]
        assert sum(rates) / len(rates) == pytest.approx(FLEET_RATE)
        assert sorted(rates)[-len(RSC1.lemons)] == pytest.approx(factor * FLEET_RATE)


@pytest.mark.slow
def test_the_list_names_them_and_hardly_anybody_else(tmp_path):
    found = find_lemons(tmp_path, factor=10.0, days=90, seed=1)
    assert found.lemons == 24
    assert found.precision >= 0.9
    assert found.recall >= 0.6
