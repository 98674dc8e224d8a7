"""Effects of known changes: limits against R, limits that cover, few false verdicts, and the smallest effect shown."""

import numpy as np
import pytest
from scipy.stats import nchypergeom_fisher

from assets.model.change_effects import (
    judge,
    ratio_of_ratios,
    smallest_shown,
)
from assets.model.power import POWER
from assets.model.rate_ratio import rate_ratio
from assets.model.rollouts import compared_cells

CLUSTERS = 400


def test_limits_of_a_ratio_of_ratios_are_those_of_r_s_fisher_test():
    """fisher.test(matrix(c(3, 1, 1, 3), 2)): 0.2117329 to 621.9337505, to R's tolerance; one tail is 0.2428571."""
    found = ratio_of_ratios([3, 1, 1, 3], [1, 1, 1, 1], 0.95)
    assert (found.low, found.high) == pytest.approx((0.2117329, 621.9337505), rel=0.01)
    assert found.p_value == pytest.approx(2 * 0.2428571, rel=1e-6)
    tails = [1 - nchypergeom_fisher.cdf(2, 8, 4, 4, found.low), nchypergeom_fisher.cdf(3, 8, 4, 4, found.high)]
    assert tails == pytest.approx([0.025, 0.025], rel=1e-4)
    longer = ratio_of_ratios([3, 1, 1, 3], [2, 1, 1, 1], 0.95)
    assert (longer.value, longer.low) == pytest.approx((4.5, found.low / 2), rel=1e-6)


def test_limits_of_a_ratio_of_ratios_cover_the_truth():
    rng, times = np.random.default_rng(5), np.array([300.0, 400.0, 700.0, 900.0])
    rates = np.array([0.05 * 2.0 * 0.5, 0.05, 0.08 * 2.0, 0.08])
    covered = [
        low <= 0.5 <= high for low, high in (_limits(rng.poisson(rates * times), times) for _ in range(CLUSTERS))
    ]
    assert 0.88 <= np.mean(covered) <= 0.98


def _limits(counts, times):
    found = ratio_of_ratios(counts, times)
    return float(found.low), float(found.high)


def _verdicts(rng, rows, ratio_of_first=1.0, phi=1.0):
    """Draw a cluster of several rows of a few to many incidents; the first may have changed."""
    before = np.geomspace(3.0, 120.0, rows)[::-1]
    after = before * np.where(np.arange(rows) == 0, ratio_of_first, 1.0)
    k0, k1 = (phi * rng.poisson(mean / phi) for mean in (before, after))
    found = rate_ratio(k1, np.ones(rows), k0, np.ones(rows), dispersion=phi)
    half, infinite = np.full(rows, 0.5), np.full(rows, np.inf)
    return judge(found.p_value, found.value, (k0 + k1) / phi, half, infinite)


def test_a_halved_rate_helped_and_the_others_cannot_be_told_to_have_changed():
    rng = np.random.default_rng(3)
    found = [_verdicts(rng, 10, ratio_of_first=0.5).verdict for _ in range(200)]
    assert np.mean([verdict[0] == "helped" for verdict in found]) > 0.9
    wrong = np.array([np.isin(verdict[1:], ["helped", "hurt"]).sum() for verdict in found])
    shown = wrong + [verdict[0] == "helped" for verdict in found]
    assert np.mean(wrong / np.maximum(shown, 1)) <= 0.05


def test_the_smallest_ratio_is_shown_as_often_as_is_said():
    rng, level = np.random.default_rng(4), 0.05
    ratio = smallest_shown(200, 0.5, level)
    k0, k1 = rng.poisson(100, 4000), rng.poisson(100 * ratio, 4000)
    shown = rate_ratio(k1, 1.0, k0, 1.0).p_value <= level
    assert POWER - 0.06 <= shown.mean() <= POWER + 0.04


@pytest.mark.slow
def test_the_smallest_ratio_of_a_staged_roll_out_is_shown_as_often_as_is_said():
    rng, level = np.random.default_rng(6), 0.05
    ratio = smallest_shown(300, 0.5, level, control_count=300)
    drawn = rng.poisson(np.array([150 * ratio, 150, 150, 150]), (200, 4))
    shown = [float(ratio_of_ratios(counts, np.ones(4)).p_value) <= level for counts in drawn]
    assert POWER - 0.08 <= np.mean(shown) <= POWER + 0.06


def test_what_is_compared_of_a_roll_out_depends_on_who_had_changed():
    at_once = compared_cells([40], [80], 0, 100, 100)
    assert (at_once.is_staged, at_once.before.sum(), at_once.after.sum()) == (False, 40, 59)
    half = compared_cells([40, np.inf], [40, 40], 0, 100, 100)
    assert half.is_staged
    assert half.unchanged_before[1].sum() == 40
    assert half.after.sum() == half.unchanged_after.sum() == 59
    # a small pilot, then all others within days: each node is compared with itself
    pilot = compared_cells([20, 60, 63], [5, 50, 45], 0, 100, 100)
    assert not pilot.is_staged
    assert [side.sum() for side in (pilot.before[2], pilot.after[2])] == [63, 36]
    waves = compared_cells([20, 60], [40, 60], 10, 100, 100)
    assert waves.is_staged
    assert np.flatnonzero(waves.after.any(axis=0))[[0, -1]].tolist() == [21, 59]
    assert np.flatnonzero(waves.before.any(axis=0))[[0, -1]].tolist() == [10, 19]


def test_days_between_the_first_change_of_a_cohort_and_its_last_are_not_compared():
    two = compared_cells([40], [80], 0, 100, 100, settled_on=[43])
    assert [np.flatnonzero(side[0])[[0, -1]].tolist() for side in (two.before, two.after)] == [[0, 39], [44, 99]]
    staged = compared_cells([20, 60], [40, 40], 0, 100, 100, settled_on=[25, 60])
    assert [np.flatnonzero(staged.after[0])[[0, -1]].tolist(), staged.is_staged] == [[26, 59], True]
