"""Figures that others published come out again, and those that do not follow are known and explained."""

from __future__ import annotations

import pytest

from tests.proof.published import FIGURES, Figure


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: f"{figure.source}: {figure.quantity}")
def test_the_figure_follows_or_is_known_not_to(figure):
    assert figure.agrees == figure.follows, figure.ours
    assert bool(figure.note) != figure.follows


@pytest.mark.parametrize(
    ("printed", "agreeing", "other"),
    [("4.195", 4.1954, 4.1956), ("88,768", 88_768.4, 88_769.0), (">0.9", 0.91, 0.90), ("<60", 59.0, 60.0),
     ("0.7", 0.684, 0.64), ("0.70", 0.704, 0.684)],
)  # fmt: skip
def test_ours_is_rounded_as_theirs_was_printed(printed, agreeing, other):
    assert Figure("", "", printed, agreeing, "").agrees
    assert not Figure("", "", printed, other, "").agrees
