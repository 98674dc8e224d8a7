"""What is planted for an estimate is found, with its limits; where nothing is planted little is."""

from __future__ import annotations

import pytest

from orchestration.settings.home import Home
from tests.recovery.planted import Line, planted_part, questions, recover_planted


def test_a_demand_on_nothing_is_not_met():
    assert not Line("found", 0, 0, at_least=0.9).holds
    assert Line("found", 0, 0).holds
    assert [Line("found", count, 10, at_least=0.9).holds for count in (8, 9)] == [False, True]
    assert [Line("found", count, 10, at_most=0.1).holds for count in (1, 2)] == [True, False]


def test_clusters_of_all_questions_have_names_of_their_own():
    names = [cluster.profile.cluster_id for question in questions() for cluster in question.clusters]
    assert len(names) == len(set(names))


@pytest.mark.slow
@pytest.mark.parametrize("name", [question.name for question in questions()])
def test_what_is_planted_is_found(name, tmp_path):
    asked = questions(name)
    lines = recover_planted(asked, Home.at(tmp_path))[name]
    assert any(line.at_least is not None or line.at_most is not None for line in lines)
    assert not [line for line in lines if not line.holds], "\n".join(planted_part(asked, {name: lines}))
