"""A measure is as a claim asks, or it is seen that it is not."""

from __future__ import annotations

import pytest

from tests.truth.scorer import Claim, Measure

ROWS = [
    (Claim("", "", recall=0.9), (9, 10), True),
    (Claim("", "", recall=0.9), (8, 10), False),
    (Claim("", "", at_most=0.1), (1, 10), True),
    (Claim("", "", at_most=0.1), (2, 10), False),
    (Claim("", "", precision=0.9), (9, 20, 10), True),
    (Claim("", "", precision=0.9), (9, 20, 11), False),
    (Claim("", "", precision=0.9), (0, 20, 0), False),
    # A demand on nothing is not met: it was not tried.
    (Claim("", "", recall=0.9), (0, 0), False),
    (Claim("", "", recall=0.9, least=11), (10, 10), False),
    (Claim("", ""), (0, 0), True),
    (Claim("", "", precision=0.9, recall=0.9, is_rare=True), (0, 0, 0), True),
    (Claim("", "", precision=0.9, recall=0.9, is_rare=True), (0, 0, 1), False),
    (Claim("", "", recall=0.9, by="category", least=5), (0, 4), True),
    (Claim("", "", recall=0.9, by="category", least=5, spare=1), (4, 5), True),
    (Claim("", "", recall=0.9, by="category", least=5, spare=1), (3, 5), False),
    # Three standard errors of a share of nine in ten of 200 are 6.4 points.
    (Claim("", "", recall=0.88, at_most=0.94, errors=3.0), (182, 200), True),
    (Claim("", "", recall=0.88, at_most=0.94, errors=3.0), (150, 200), False),
    (Claim("", "", recall=0.88, at_most=0.94, errors=3.0), (200, 200), False),
]


@pytest.mark.parametrize(("claim", "counts", "holds"), ROWS)
def test_a_claim_holds_if_what_it_asks_for_is_met(claim, counts, holds):
    recovered, planted, *published = counts
    assert claim.holds(Measure("", recovered, planted, *published)) is holds
