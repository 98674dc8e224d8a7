"""Blame: shares that sum to one, known culprits left alone, and a lemon found among the nodes of its jobs."""

import numpy as np
import pytest

from assets.model.lemons.culprits import draw_culprits
from assets.model.lemons.culprits import infer_culprits as infer
from tests.model.planted_fleets import Setting, blame, plant


def infer_culprits(failure, node, exposure, probability=1.0):
    return infer(failure, node, exposure, np.random.default_rng(20241029), probability)


def test_shares_of_a_failure_sum_to_one_and_known_ones_are_whole():
    fleet = plant(Setting(90, 10), np.random.default_rng(1))
    found = blame(fleet)
    assert np.bincount(fleet.failure, found.share) == pytest.approx(np.ones(fleet.failure.max() + 1))
    assert found.event_count.sum() == pytest.approx(fleet.failure.max() + 1)
    suspects = np.bincount(fleet.failure)[fleet.failure]
    assert found.share[suspects == 1] == pytest.approx(np.ones((suspects == 1).sum()))
    assert found.known_count.sum() == (np.bincount(fleet.failure) == 1).sum()
    assert np.all(found.event_count >= found.known_count - 1e-9)


def test_a_failure_of_many_nodes_blames_the_one_that_fails_anyway():
    """Node 0 failed eight times alone; it gets most of the blame for the failure that it shares with 9 others."""
    failure = [*range(8), *range(8, 14), *[14] * 10]
    node = [*[0] * 8, *range(10, 16), *range(10)]
    found = infer_culprits(failure, node, [70.0] * 200)
    assert found.share[-10] > 0.85
    assert found.share[-9:] == pytest.approx(np.full(9, found.share[-1]))


def test_equal_nodes_share_equally():
    found = infer_culprits([0] * 4, [0, 1, 2, 3], [70.0] * 40)
    assert found.share == pytest.approx(np.full(4, 0.25), abs=1e-3)


def test_blame_is_calibrated_where_the_truth_is_planted():
    """Over many fleets, lemons get as many of the failures with unknown culprit as they caused."""
    given = true = 0.0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        fleet = plant(Setting(90, 20, known_share=0.7), rng)
        found = blame(fleet)
        given += (found.event_count - found.known_count)[fleet.is_lemon].sum()
        true += 0.3 * 20 * 0.0065 * fleet.exposure[fleet.is_lemon].sum()
    assert given / true == pytest.approx(1.0, abs=0.12)


def test_drawn_culprits_are_suspects_as_often_as_their_shares_say():
    which, who = np.array([1, 0, 1, 2, 1]), np.array([4, 0, 5, 3, 6])
    share = np.array([0.5, 1.0, 0.25, 1.0, 0.25])
    rng = np.random.default_rng(5)
    counts = np.array([draw_culprits(which, who, share, 8, rng, probability=np.ones(3)) for _ in range(500)]).reshape(
        -1, 8
    )
    assert (counts.sum(axis=1) == 3).all()
    assert counts.mean(axis=0) == pytest.approx([1, 0, 0, 1, 0.5, 0.25, 0.25, 0], abs=0.03)


def test_failures_that_may_be_none_are_drawn_as_often_as_they_are_real():
    which, who, share = np.array([0, 1, 2, 2]), np.array([0, 1, 2, 3]), np.array([1.0, 1.0, 0.5, 0.5])
    rng, probability = np.random.default_rng(6), np.array([1.0, 0.3, 0.8])
    counts = np.array([draw_culprits(which, who, share, 4, rng, probability=probability) for _ in range(100)])
    assert counts.reshape(-1, 4).mean(axis=0) == pytest.approx([1.0, 0.3, 0.4, 0.4], abs=0.03)


def test_a_draw_in_which_no_failure_is_real_is_a_draw():
    """The only failure of a cluster is real in one draw of ten: the first draw mostly has none."""
    for seed in range(5):
        found = infer([0, 0], [0, 1], [20.0, 20.0, 20.0], np.random.default_rng(seed), [0.1])
        assert np.isfinite(found.nodes.posterior_probability).all()


def test_a_node_blamed_by_coincidences_is_no_lemon():
    """Eight failures of node 0 at 0.15 each are 1.2; eight of node 1 that are certain make it a lemon."""
    failure, node, probability = np.arange(48), np.repeat([0, 1], 8).tolist() + list(range(2, 34)), np.ones(48)
    probability[:8] = 0.15
    found = infer(failure, node, [70.0] * 200, np.random.default_rng(1), probability)
    assert found.event_count[:2].tolist() == pytest.approx([1.2, 8.0])
    assert found.known_count[:2].tolist() == pytest.approx([1.2, 8.0])
    assert found.nodes.posterior_probability[1] > 0.95
    assert found.nodes.posterior_probability[0] < 0.3


def test_the_same_randomness_gives_the_same_answer():
    fleet = plant(Setting(90, 10), np.random.default_rng(1))
    assert np.array_equal(blame(fleet).nodes.local_fdr, blame(fleet).nodes.local_fdr)


def test_without_failures_or_use_nothing_is_fitted():
    for found in (infer_culprits([], [], [10.0, 10.0]), infer_culprits([0, 0], [0, 1], [10.0, 10.0], 0.0)):
        assert found.fleet is None
        assert found.event_count.tolist() == [0.0, 0.0]
    unused = infer_culprits([0, 0], [0, 1], [0.0, 0.0])
    assert unused.nodes is None
    assert unused.share.tolist() == [0.5, 0.5]
