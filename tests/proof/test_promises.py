"""Where nothing is planted, an estimate gives a wrong verdict in at most one of twenty clusters."""

from __future__ import annotations

import pytest

from tests.proof import change_verdicts, check_verdicts, hidden_verdicts, repair_verdicts
from tests.proof.promises import CLUSTERS, PROMISES


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.table)
def test_the_promise_holds(promise):
    assert promise.is_kept, f"{promise.wrong} of {CLUSTERS}"


@pytest.mark.slow
def test_effects_are_found_as_often_as_is_said():
    assert change_verdicts.found(40) >= 20, "a driver that cuts a cause to a fifth, where months differ"
    assert repair_verdicts.found(50) >= 14, "an exchange after which a node fails 0.3 times as often"
    assert min(check_verdicts.found(50)) >= 40, "checks of no use are dropped, and right ones kept"
    missed, of = hidden_verdicts.missed()
    assert missed <= 0.2 * of > 0, "a node with four times the odds, where these would be found"
