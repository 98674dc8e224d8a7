"""Chance coincidence against published limits; `tests.proof` measures how often its limits cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.model.coincidence import (
    CONTROLLED,
    NO_CONTROL,
    NO_FAILURES,
    binomial_share,
    chance_of_coincidence,
    standardised_rate,
)
from assets.model.failure_rate import garwood_interval


@given(st.integers(0, 500), st.integers(501, 10**6))
def test_one_stratum_has_the_limits_of_a_poisson_count(events, exposure):
    rate, garwood = standardised_rate([events], [exposure], [1.0]), garwood_interval(events, exposure)
    assert (rate.value, rate.low, rate.high) == pytest.approx((garwood.value, garwood.low, garwood.high))


def test_exact_shares_as_handbooks_print_them():
    share = binomial_share(10, 100, 0.95)
    assert (share.value, share.low, share.high) == pytest.approx((0.1, 0.0490, 0.1762), abs=5e-5)
    assert binomial_share(0, 20, 0.95).high == pytest.approx(1 - 0.025 ** (1 / 20))
    assert (binomial_share(20, 20).high, binomial_share(0, 20).low) == (1.0, 0.0)


def test_the_control_is_weighted_to_the_sizes_that_fail():
    """1% of small and 20% of large ones coincide; all failed ones were large."""
    found = chance_of_coincidence([0, 50], [0, 100], [10, 20], [1000, 100])
    assert found.chance.value == pytest.approx(0.2)
    assert found.corrected.value == pytest.approx((0.5 - 0.2) / (1 - 0.2))
    assert (found.method, found.covered_ratio, found.event_count, found.exposure) == (CONTROLLED, 1.0, 50, 100)


def test_sizes_without_a_control_are_left_out_and_told():
    found = chance_of_coincidence([5, 5], [50, 150], [1, 0], [100, 0])
    assert found.chance.value == pytest.approx(0.01)
    assert found.covered_ratio == pytest.approx(0.25)


def test_nothing_is_said_without_a_control_or_without_failures():
    alone = chance_of_coincidence([5], [50], [0], [0])
    assert alone.method == NO_CONTROL
    assert alone.attributed.value == pytest.approx(0.1)
    assert np.isnan([alone.chance.value, alone.corrected.value, alone.corrected.high]).all()
    idle = chance_of_coincidence([0], [0], [3], [100])
    assert idle.method == NO_FAILURES
    assert np.isnan([idle.attributed.value, idle.chance.value]).all()


def test_less_than_chance_is_corrected_to_nothing():
    found = chance_of_coincidence([3], [1000], [50], [10_000])
    assert (found.corrected.value, found.corrected.low) == (0.0, 0.0)
    assert found.corrected.high > 0
