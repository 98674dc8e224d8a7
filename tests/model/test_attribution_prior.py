"""Strata are shrunk towards their exposure, as far as the data agree with it."""

import numpy as np
import pytest

from assets.model.attribution.evidence import Strata, Suspects
from assets.model.attribution.prior import Prior


def shares(failed, exposures, attempts=1000.0):
    """Return shares of strata of one state with these numbers of causes."""
    stratum = np.repeat(np.arange(len(failed)), failed)
    count = len(stratum)
    suspects = Suspects(stratum, np.ones(count), np.ones(count), np.zeros(count), np.zeros(count))
    strata = Strata(np.full(len(failed), attempts), np.array(exposures, dtype=float), np.zeros(len(failed), dtype=int))
    found = Prior.of(suspects, np.arange(count), strata).shares(np.ones((1, count)), np.ones((1, count)))[0]
    return [found[stratum == number][0] for number in range(len(failed))]


def test_one_failure_of_a_stratum_of_little_exposure_says_little():
    """Forty failures in proportion to exposure, and one where a fifth of a failure was expected."""
    *_, brief = shares([20, 20, 1], [1e6, 1e6, 1e4])
    assert brief < 0.4 / 1000


def test_a_stratum_that_is_struck_otherwise_is_believed():
    """Jobs of the first minutes fail as often as all others of a hundred times their exposure: the spread is large."""
    *_, brief = shares([20, 20, 40], [1e6, 1e6, 2e4])
    assert brief == pytest.approx(40 / 1000, rel=0.25)


def test_little_exposure_alone_makes_no_failure_one_of_a_program():
    """Infrastructure ended all three: a stratum of little exposure has few expected failures of programs, too."""
    _, brief = shares([1, 2], [1e6, 1e3], attempts=[1, 2])
    assert brief > 3.1 / 8


@pytest.mark.parametrize("exposure", [1.0, 1e3, 1e5])
def test_failures_without_a_cause_count_however_little_their_exposure(exposure):
    *_, brief = shares([20, 1], [1e6, exposure], attempts=[1000, 200])
    assert brief < 3 / 200
