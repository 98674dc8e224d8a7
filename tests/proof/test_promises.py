"""Where nothing is planted, an estimate gives a wrong verdict in at most one of twenty clusters."""

from __future__ import annotations

import pytest

from tests.proof.promises import CLUSTERS, MOST_WRONG, PROMISES, Promise


def test_a_verdict_that_is_wrong_in_a_tenth_of_the_clusters_would_be_seen():
    assert not Promise("", lambda clusters: clusters // 10 - 2, "").holds
    assert Promise("", lambda clusters: MOST_WRONG, "").holds


@pytest.mark.slow
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.table)
def test_the_promise_holds(promise):
    assert promise.wrong <= MOST_WRONG, f"{promise.wrong} of {CLUSTERS}"
