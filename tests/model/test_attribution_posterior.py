"""Causes and coincidences: planted ones are separated, and their number has the right uncertainty."""

from dataclasses import fields
from functools import cache

import numpy as np
import pytest

from assets.model.attribution import posterior
from assets.model.attribution.evidence import (
    FAMILIES,
    PERSISTENCE,
    Controls,
    Episodes,
    Strata,
    Suspects,
    lag_class,
    seconds_by_lag_class,
)
from assets.model.attribution.posterior import attribute

NODES, BEFORE, AFTER = 50, 600.0, 300.0
CHECK = FAMILIES.index("check")
CLEARED, LASTING = PERSISTENCE.index("cleared"), PERSISTENCE.index("lasting")


def episodes_of(rows):
    """Return `Episodes` of rows in the order of its fields."""
    kinds = [np.int64] * 4 + [float, bool, bool, np.int64, float, bool]
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(kinds)
    return Episodes(**{f.name: np.array(c, dtype=k) for f, c, k in zip(fields(Episodes), columns, kinds, strict=True)})


def coincidence(rng, attempt, at, node=None):
    """An event at any time in the window, mostly cleared soon."""
    lag = rng.uniform(-BEFORE, AFTER)
    node = rng.integers(NODES) if node is None else node
    return (attempt, rng.integers(3), CHECK, LASTING if rng.random() < 0.3 else CLEARED, lag, rng.random() < 0.03,
            rng.random() < 0.1, node, at + lag, False)  # fmt: skip


def cause(rng, attempt, at):
    """An event near the end that mostly goes on."""
    lag = rng.normal(30, 60)
    return (attempt, rng.integers(3), CHECK, LASTING if rng.random() < 0.8 else CLEARED, lag, rng.random() < 0.4,
            rng.random() < 0.6, rng.integers(NODES), at + lag, False)  # fmt: skip


NEVER_AT_REST = ((), (), ())


@cache
def planted(seed, failed=4000, causes=40, hit_share=0.01, completed=20000, at_rest=NEVER_AT_REST):
    """One-node attempts of two hours: all meet coincidences at one rate, some failed by a cause."""
    rng = np.random.default_rng(seed)
    moments = np.arange(failed + completed) * 10_000.0
    struck = rng.random(failed + completed) < hit_share
    is_cause = np.arange(failed) < causes
    suspects, rows, truth = [], [], []
    for number in np.flatnonzero(struck[:failed] | is_cause):
        suspects.append(number)
        if struck[number]:
            rows.append(coincidence(rng, len(suspects) - 1, moments[number]))
            truth.append(False)
        if is_cause[number]:
            rows.append(cause(rng, len(suspects) - 1, moments[number]))
            truth.append(True)
    control = [coincidence(rng, 0, moments[failed + n]) for n in np.flatnonzero(struck[failed:])]
    ends = moments[suspects]
    found = attribute(
        suspects=Suspects(
            np.zeros(len(suspects), dtype=np.int64),
            np.ones(len(suspects)),
            np.full(len(suspects), 7200.0),
            ends - 7200,
            ends,
        ),
        episodes=episodes_of(rows),
        strata=Strata(np.array([float(failed)]), np.array([failed * 7200.0]), np.array([0])),
        controls=Controls(
            np.full(NODES, completed * (BEFORE + AFTER) / NODES),
            np.zeros(NODES, dtype=np.int64),
            completed * seconds_by_lag_class(np.array([BEFORE]), BEFORE, AFTER)[0],
            *map(np.array, at_rest, (np.int64, np.int64, np.float64)),
        ),
        control_episodes=episodes_of(control),
        before_seconds=BEFORE,
        after_seconds=AFTER,
        generator=np.random.default_rng(1),
    )
    return found, np.array(truth)


def test_causes_are_told_from_as_many_coincidences():
    found, truth = (
        np.concatenate(parts) for parts in zip(*[(f.probability, t) for f, t in map(planted, range(5))], strict=True)
    )
    named = found >= 0.5
    assert truth[named].mean() >= 0.85
    assert named[truth].mean() >= 0.85


def test_a_check_that_fails_only_far_from_any_end_is_one_of_the_checks():
    """Checks are numbered over all events: the last may never have failed near an attempt."""
    found, truth = planted(0, at_rest=((7,), (9,), (3.0,)))
    assert found.probability.shape == truth.shape and np.isfinite(found.probability).all()


def test_probabilities_are_those_of_being_right():
    found, truth = (
        np.concatenate(parts) for parts in zip(*[(f.probability, t) for f, t in map(planted, range(10))], strict=True)
    )
    for low, high in ((0.0, 0.2), (0.2, 0.8), (0.8, 1.0)):
        among = (found >= low) & (found <= high)
        error = 2.6 * np.sqrt((found[among] * (1 - found[among])).sum()) / among.sum()
        assert abs(truth[among].mean() - found[among].mean()) <= error + 0.03


def test_the_probability_is_the_mean_over_the_parameters_that_the_data_allow():
    """The best single fit assumes that its parameters are known, and is too confident."""
    found, _ = planted(0)
    assert found.draws.std(axis=0).max() > 0.05
    np.testing.assert_allclose(found.probability, found.draws.mean(axis=0))


@pytest.mark.slow
def test_sums_of_probabilities_give_the_number_of_causes_within_their_uncertainty():
    misses = []
    for seed in range(100, 120):
        found, truth = planted(seed, causes=30)
        spread = np.hypot(found.draws.sum(axis=1).std(), np.sqrt((found.probability * (1 - found.probability)).sum()))
        misses.append((found.probability.sum() - truth.sum()) / spread)
    assert abs(np.mean(misses)) < 0.5
    assert np.mean(np.abs(misses) < 1.645) >= 0.8


def test_coincidences_alone_make_few_causes():
    """Of 42 coincidences in 4,000 attempts chance alone leaves six and a half unexplained in one of two cases."""
    sums = [planted(seed, causes=0)[0].probability.sum() for seed in range(6)]
    assert np.mean(sums) < 6.5


def test_coincidences_that_look_alike_do_not_become_a_kind_of_cause():
    """Of 240 coincidences 70 last: each is hardly a cause, but together they would make lasting typical of causes."""
    excess = [found.probability.sum() - truth.sum() for found, truth in (planted(s, 4000, 5, 0.06) for s in range(4))]
    assert np.mean(excess) < 3


def test_no_episode_gives_nothing():
    found, _ = planted(3, causes=0, hit_share=0.0)
    assert found.probability.shape == (0,)
    assert found.draws.shape[1] == 0


def test_the_same_logs_give_the_same_numbers():
    first, other = planted(2)[0], planted.__wrapped__(2)[0]
    assert (first.probability == other.probability).all()
    assert (first.draws == other.draws).all()


def test_windows_are_cut_where_the_attempt_began():
    assert seconds_by_lag_class(np.array([0.0, 1e9]), BEFORE, AFTER).tolist() == [
        [0, 0, 0, 0, 30, 90, 180],
        [300, 180, 90, 30, 30, 90, 180],
    ]
    assert lag_class(np.array([-600, -300, -299, 0, 0.5, 300])).tolist() == [0, 0, 1, 3, 4, 6]


def judged(rows, ends, control=(), seconds=7200.0, failed=50.0, nodes=1.0, at_rest=NEVER_AT_REST):
    """Return probabilities of episodes near attempts that ran for two hours, or the given time, until these ends."""
    ends = np.array(ends)
    return attribute(
        suspects=Suspects(
            np.zeros(len(ends), dtype=np.int64), np.full(len(ends), nodes), np.full(len(ends), seconds), ends - seconds,
            ends,
        ),
        episodes=episodes_of(rows),
        strata=Strata(np.array([failed]), np.array([1e6]), np.array([0])),
        controls=Controls(
            np.full(10, 1e5), np.zeros(10, dtype=np.int64),
            1000 * seconds_by_lag_class(np.array([BEFORE]), BEFORE, AFTER)[0],
            *map(np.array, at_rest, (np.int64, np.int64, np.float64)),
        ),
        control_episodes=episodes_of(control),
        before_seconds=BEFORE,
        after_seconds=AFTER,
        generator=np.random.default_rng(1),
    ).probability  # fmt: skip


def test_a_node_that_often_has_false_alarms_convinces_less():
    episode = [(0, 0, CHECK, CLEARED, -20.0, False, False, 0, 1000.0, False)]
    prone, calm = (judged(episode, [1020.0], at_rest=((0,), (0,), (events,)))[0] for events in (30.0, 0.0))
    assert prone / (1 - prone) < 0.2 * calm / (1 - calm)


def test_probabilities_of_one_attempt_add_up_to_one_at_most():
    lags = enumerate((-30.0, 0.0, 20.0))
    rows = [(0, 0, CHECK, LASTING, lag, True, True, node, 1000.0 + lag, False) for node, lag in lags]
    assert 0.9 < judged(rows, [1000.0], failed=10.0, nodes=8.0).sum() <= 1.0


def test_a_check_whose_false_alarms_last_convinces_less_than_one_whose_pass():
    """Twenty false alarms of check 0 lasted, twenty of check 1 were short: one that lasts says more for check 1."""
    control = [
        (0, check, CHECK, looks, -400.0, False, False, 5, -1e6 - n, False)
        for n in range(20)
        for check, looks in enumerate((LASTING, CLEARED))
    ]
    first, second = (
        judged([(0, check, CHECK, LASTING, -20.0, False, False, 0, 9980.0, False)], [10_000.0], control)[0]
        for check in (0, 1)
    )
    assert first / (1 - first) < 0.3 * second / (1 - second)


def test_of_jobs_that_share_a_node_the_fault_failed_the_one_that_ended_with_it():
    def rows(*lags):
        return [(n, 0, CHECK, LASTING, lag, True, True, 0, 9990.0, False) for n, lag in enumerate(lags)]

    near, earlier = judged(rows(-10.0, 200.0), [10_000.0, 9_790.0])
    assert near > 0.9 and earlier < 0.3
    together = judged(rows(-10.0, -5.0), [10_000.0, 9_995.0])
    assert together.min() > 0.9


def test_a_job_of_half_a_second_does_not_explain_itself(monkeypatch):
    """An episode that makes itself unlikely alternates between two probabilities."""
    rows = [(n, 0, CHECK, LASTING, 10.0, True, True, 0, 10_010.0, False) for n in range(2)]
    found = judged(rows, [10_000.0, 10_000.0], seconds=0.5)
    monkeypatch.setattr(posterior, "_MAX_STEPS", posterior._MAX_STEPS + 1)
    assert found.min() > 0.9
    assert judged(rows, [10_000.0, 10_000.0], seconds=0.5) == pytest.approx(found, abs=1e-6)


@pytest.mark.parametrize("seed", range(2))
def test_probabilities_converge(monkeypatch, seed):
    found = planted(seed, 4000, 20, 0.03)[0]
    monkeypatch.setattr(posterior, "_MAX_STEPS", posterior._MAX_STEPS + 1)
    assert planted.__wrapped__(seed, 4000, 20, 0.03)[0].draws == pytest.approx(found.draws, abs=1e-6)
