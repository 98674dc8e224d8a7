"""What is planted for an estimate is found, with its limits; where nothing is planted little is."""

from __future__ import annotations

import pytest

from orchestration.settings.home import Home
from tests.recovery.page import questions_part
from tests.recovery.planted import questions, recover_planted
from tests.truth.scorer import missed


@pytest.mark.slow
@pytest.mark.parametrize("name", [question.name for question in questions()])
def test_what_is_planted_is_found(name, tmp_path):
    ((question, measures),) = recover_planted(questions(name), Home.at(tmp_path))
    assert not missed(question.claims, measures), "\n".join(questions_part([(question, measures)]))
