"""Relapses after repairs: by hand, against scipy, and how often clusters without a difference show one."""

import numpy as np
import pytest
from scipy import stats

from assets.model.repairs import (
    Spells,
    compare_with_rest,
    median_hours,
    relapse_share,
)


def test_relapses_among_repairs_that_were_all_watched_have_wilsons_limits():
    spells = Spells.of([1, 2, 3, 40, 40, 40, 40, 40, 40, 40], [1, 1, 1, 0, 0, 0, 0, 0, 0, 0], range(10))
    share = relapse_share(spells, 7.0, 0.95)
    expected = stats.binomtest(3, 10).proportion_ci(0.95, method="wilson")
    assert (share.value, share.low, share.high) == pytest.approx((0.3, expected.low, expected.high))


def test_a_repair_that_was_watched_for_less_counts_for_as_long():
    # Of four at risk one relapsed; of the two left on day 3, one more: 1 - 3/4 x 1/2.
    share = relapse_share(Spells.of([1, 2, 3, 9], [1, 0, 1, 0], range(4)), 7.0)
    assert share.value == pytest.approx(0.625)
    assert np.isnan(relapse_share(Spells.of([1, 2, 3], [1, 0, 0], range(3)), 7.0).value)


def test_no_relapse_says_less_the_fewer_were_watched():
    highs = [
        relapse_share(Spells.of(np.full(count, 40.0), np.zeros(count), range(count)), 7.0).high for count in (3, 30)
    ]
    assert highs == pytest.approx([stats.binomtest(0, n).proportion_ci(0.9, method="wilson").high for n in (3, 30)])


def test_relapses_of_one_node_say_less_than_those_of_many():
    days, is_relapse = [1] * 8 + [40] * 12, [1] * 8 + [0] * 12
    many = relapse_share(Spells.of(days, is_relapse, range(20)), 7.0)
    one = relapse_share(Spells.of(days, is_relapse, [0] * 8 + list(range(12))), 7.0)
    assert one.value == many.value
    assert one.low < many.low < many.high < one.high


def test_the_comparison_is_scipys_log_rank_where_nodes_do_not_repeat():
    rng = np.random.default_rng(7)
    days, ends = rng.exponential(20.0, 60).round(), rng.uniform(5, 60, 60).round()
    is_own = np.arange(60) % 3 == 0
    spells = Spells.of(np.minimum(days, ends), days <= ends, range(60))
    expected = stats.logrank(spells[is_own].censored, spells[~is_own].censored)
    found = compare_with_rest(spells, is_own, np.zeros(60))
    assert found.score == pytest.approx(expected.statistic)
    assert found.p_value >= expected.pvalue


def test_actions_are_compared_within_a_stratum_alone():
    # Faults of the second kind come back at once after any action, and most are rebooted.
    days = [30] * 10 + [2] * 10
    is_relapse, stratum = [0] * 10 + [1] * 10, [0] * 10 + [1] * 10
    is_reboot = np.array([1, 1] + [0] * 8 + [1] * 8 + [0, 0], dtype=bool)
    spells = Spells.of(days, is_relapse, range(20))
    assert compare_with_rest(spells, is_reboot, np.zeros(20)).score > 2
    assert np.isnan(compare_with_rest(spells, is_reboot, stratum).p_value)


@pytest.mark.parametrize(("own", "relapses"), [(4, 8), (8, 4)])
def test_too_few_are_not_compared(own, relapses):
    spells = Spells.of(np.arange(1, 21), np.arange(20) < relapses, range(20))
    assert np.isnan(compare_with_rest(spells, np.arange(20) < own, np.zeros(20)).p_value)


@pytest.mark.parametrize("count", [1, 4, 5, 8, 31])
def test_limits_of_a_median_are_scipys(count):
    hours = np.random.default_rng(count).exponential(5.0, count)
    found = median_hours(hours)
    expected = stats.quantile_test(hours, q=np.median(hours), p=0.5).confidence_interval(0.9)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), nan_ok=True)
