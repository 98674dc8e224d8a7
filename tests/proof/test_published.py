"""Figures that others published come out again, and those that do not follow are known and explained."""

from __future__ import annotations

import pytest

from tests.proof.published import SECTIONS, Figure

FIGURES = [figure for figures in SECTIONS.values() for figure in figures]


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: f"{figure.source}: {figure.quantity}")
def test_the_figure_follows_or_is_known_not_to(figure):
    assert figure.agrees == figure.follows, figure.ours
    assert bool(figure.note) != figure.follows


@pytest.mark.parametrize(
    ("printed", "ours", "agrees"),
    [
        ("4.195", 4.1954, True),
        ("4.195", 4.1956, False),
        ("88,768", 88_768.4, True),
        ("88,768", 88_769.0, False),
        (">0.9", 0.91, True),
        (">0.9", 0.90, False),
        ("<60", 59.0, True),
        ("<60", 60.0, False),
        ("0.7", 0.684, True),
        ("0.70", 0.684, False),
    ],
)
def test_ours_is_rounded_as_theirs_was_printed(printed, ours, agrees):
    assert Figure("", "", printed, ours, "").agrees is agrees


def test_a_rate_per_thousand_node_hours_would_be_seen():
    figure = FIGURES[0]
    assert not Figure(figure.source, figure.quantity, figure.printed, figure.ours / 24, figure.function).agrees
