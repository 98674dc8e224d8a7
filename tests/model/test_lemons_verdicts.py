"""Verdicts and refusals on planted truth; `tests.proof` measures how many names of a list are wrong.

With 90 days of use at 83% and lemons at ten times the normal rate, a normal node fails 0.49 times and a lemon 4.9
times: the groups overlap. With both rates and every culprit known, a list finds 62% of the lemons with 9% wrong names;
with the culprits of 15% of the failures unknown, 54% if these are left out. No list can be much better than that.
"""

from dataclasses import replace

import numpy as np
import pytest

from assets.model.lemons.culprits import infer_culprits as infer
from assets.model.lemons.verdicts import LEMON, NOT_ENOUGH_DATA, OK, WATCH, decide
from tests.model.planted_fleets import Setting, blame, plant, score

NOBODY = np.zeros(2000, dtype=bool)


def infer_culprits(failure, node, exposure):
    return infer(failure, node, exposure, np.random.default_rng(20241029))


@pytest.mark.parametrize("setting", [Setting(28, 5), pytest.param(Setting(90, 5), marks=pytest.mark.slow)])
def test_where_the_data_can_hardly_tell_hardly_anybody_is_named(setting):
    found = score(setting, range(4))
    assert found.listed <= 5
    assert found.listed * (1 - (found.precision if found.listed else 1)) <= 1


@pytest.mark.parametrize("days", [28, pytest.param(90, marks=pytest.mark.slow)])
def test_a_fleet_without_lemons_is_not_ranked(days):
    found = score(Setting(days, 1, lemon_count=0), range(6))
    assert found.refused >= 0.8
    assert found.listed <= 0.15


def test_ok_is_said_only_where_a_lemon_would_have_shown():
    fleet = plant(Setting(90, 20), np.random.default_rng(4))
    short = np.append(fleet.exposure, [1.0, 0.0])
    verdicts = decide(infer_culprits(fleet.failure, fleet.node, short), short, np.append(NOBODY, [False, False]))
    assert verdicts.verdict[-2:].tolist() == [NOT_ENOUGH_DATA, NOT_ENOUGH_DATA]
    assert (verdicts.verdict[:-2] == OK).mean() > 0.95
    assert verdicts.telling_count[0] == pytest.approx(10 * 0.0065 * fleet.exposure[0], rel=0.15)
    assert not (verdicts.verdict[:-2][fleet.is_lemon] == OK).any()


def test_after_28_days_nobody_is_called_ok():
    fleet = plant(Setting(28, 20), np.random.default_rng(4))
    verdicts = decide(blame(fleet), fleet.exposure, NOBODY)
    assert OK not in verdicts.verdict


def test_ranks_follow_the_probability_without_gaps():
    fleet = plant(Setting(90, 20), np.random.default_rng(4))
    found = blame(fleet)
    verdicts = decide(found, fleet.exposure, NOBODY)
    assert sorted(verdicts.rank) == list(range(1, 2001))
    assert (np.diff(found.nodes.posterior_probability[np.argsort(verdicts.rank)]) <= 1e-12).all()
    lemons = verdicts.verdict == LEMON
    assert verdicts.rank[lemons].max() == lemons.sum()


def test_signals_that_agree_make_a_node_one_to_watch():
    fleet = plant(Setting(90, 20), np.random.default_rng(4))
    quiet = int(np.flatnonzero(decide(blame(fleet), fleet.exposure, NOBODY).verdict == OK)[0])
    candidate = NOBODY.copy()
    candidate[quiet] = True
    assert decide(blame(fleet), fleet.exposure, candidate).verdict[quiet] == WATCH
    silent = infer_culprits([], [], [50.0] * 4)
    assert decide(silent, [50.0] * 4, [True, False, False, False]).verdict.tolist() == [WATCH, *[NOT_ENOUGH_DATA] * 3]


def test_a_little_less_than_ten_failures_do_not_read_as_ten():
    exposure = [70.0] * 30
    found = infer_culprits(range(9), range(9), exposure)
    nearly = replace(found, event_count=found.event_count + (9.998 - 9) / 30)
    assert "only 9.99 failures of nodes" in decide(nearly, exposure, [False] * 30).refusal


@pytest.mark.parametrize(
    ("nodes", "exposure", "reason"),
    [
        ([0, 0, 1], [70.0] * 30, "only 3 failures of nodes"),
        ([], [70.0] * 30, "only 0 failures of nodes"),
        ([0] * 12, [70.0], "fewer than two nodes were in use"),
        (list(range(20)), [70.0] * 60, "cannot tell lemons from bad luck"),
    ],
)
def test_refusals_say_why_and_rank_nobody(nodes, exposure, reason):
    verdicts = decide(infer_culprits(range(len(nodes)), nodes, exposure), exposure, [False] * len(exposure))
    assert reason in verdicts.refusal
    assert not verdicts.rank.any()
    assert LEMON not in verdicts.verdict


def test_a_node_whose_failures_are_of_a_burst_that_is_over_is_watched():
    """Nodes 0 and 1 fail eight times each among 200; all failures of node 0 are over."""
    failure, node = np.arange(48), np.repeat([0, 1], 8).tolist() + list(range(2, 34))
    found, is_over = infer_culprits(failure, node, [70.0] * 200), np.arange(200) == 0
    nobody = np.zeros(200, dtype=bool)
    assert decide(found, [70.0] * 200, nobody).verdict[:2].tolist() == [LEMON, LEMON]
    assert decide(found, [70.0] * 200, nobody, is_over).verdict[:2].tolist() == [WATCH, LEMON]
