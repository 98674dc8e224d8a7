"""How far evidence reaches, computed by hand. `tests/proof/reach.py` compares it with simulated fleets."""

import math

import pytest

from assets.model.evidence_reach import (
    Count,
    Sources,
    TwoSources,
    evidence_reach,
    late_excess,
    two_sources,
    unexplained_bound,
)

NOTHING_LATE = Count(0.0, 0.0, 0.0)
NO_SOURCES = TwoSources(None, 0.0, 0.0, ())


def test_two_sources_as_chapman_reckons_them():
    unseen = two_sources([Sources("pcie", 36.0, 24.0, 24.0)]).unseen
    variance = 61 * 61 * 24 * 24 / (37**2 * 38)
    factor = math.exp(1.6448536 * math.sqrt(math.log(1 + variance / (24 * 24 / 37) ** 2)))
    assert unseen.value == pytest.approx(24 * 24 / 37)
    assert (unseen.low, unseen.high) == pytest.approx((24 * 24 / 37 / factor, 24 * 24 / 37 * factor))


def test_what_one_source_never_missed_it_may_still_miss():
    unseen = two_sources([Sources("pcie", 12.0, 8.0, 0.0)]).unseen
    # A source that misses 22% would see all twelve once in twenty times.
    assert (unseen.value, unseen.low) == (0.0, 0.0)
    assert unseen.high == pytest.approx(8 * (0.05 ** (-1 / 12) - 1))


def test_categories_with_few_in_common_are_pooled():
    apart = two_sources([Sources("a", 4.0, 2.0, 1.0), Sources("b", 3.0, 1.0, 2.0)])
    assert apart.unseen.value == pytest.approx(3 * 3 / 8)
    assert (apart.compared, apart.common) == (13.0, 7.0)
    assert two_sources([Sources("a", 4.0, 2.0, 1.0), Sources("b", 2.0, 1.0, 2.0)]).unseen is None
    assert two_sources([Sources("a", 6.9999, 2.0, 1.0)]).unseen is not None, "seven nearly certain failures"


def test_what_one_source_alone_can_show_enters_neither_side_and_is_named():
    seen = Sources("pcie", 20.0, 4.0, 4.0)
    found = two_sources([seen, Sources("driver", 0, 9.0, 0, is_shown_by_both=False)])
    assert found.unseen == two_sources([seen]).unseen
    assert (found.compared, found.one_sided) == (28.0, ("driver",))
    above_half = two_sources([seen, Sources("driver", 0, 29.0, 0, is_shown_by_both=False)])
    assert (above_half.unseen, above_half.one_sided) == (None, ("driver",))
    assert two_sources([seen, Sources("pcie", 0, 0, 0, uncompared=29.0)]).unseen is None
    assert two_sources([]).unseen is None


def test_late_evidence_beyond_chance():
    late = late_excess([1, 4], [100, 50], 20, control_hits=50, control_onsets=50, control_windows=5000)
    expected = 100 * 0.01 + 50 * (1 - 0.99**4)
    assert late.value == pytest.approx(20 - expected)
    assert 0 < late.low < late.value < late.high <= 20


def test_an_onset_that_many_ends_share_widens_what_chance_brings():
    ends = ([1], [300], 9)
    alone = late_excess(*ends, control_hits=100, control_onsets=100, control_windows=10_000)
    shared = late_excess(*ends, control_hits=100, control_onsets=20, control_windows=10_000)
    assert shared.value == alone.value == pytest.approx(6)
    assert shared.low < alone.low


def test_without_completed_attempts_all_may_be_chance():
    late = late_excess([1], [10], 4, control_hits=0, control_onsets=0, control_windows=0)
    assert (late.value, late.low, late.high) == (0, 0, 4)


def test_the_reach_is_what_leaves_less():
    late, unseen = Count(40.0, 30.0, 48.0), Count(10.0, 5.0, 20.0)
    reach = evidence_reach(60.0, late, TwoSources(unseen, 50.0, 30.0, ()))
    assert (reach.value, reach.low, reach.high) == pytest.approx((60 / 100, 60 / 108, 60 / 90))
    reach = evidence_reach(60.0, NOTHING_LATE, TwoSources(unseen, 50.0, 30.0, ()))
    assert (reach.value, reach.low, reach.high) == pytest.approx((50 / 60, 50 / 70, 50 / 55))
    assert not reach.is_at_most


def test_unexplained_ends_lower_the_limit_of_two_sources_where_they_leave_room():
    sources = TwoSources(Count(0.0, 0.0, 0.4), 41.0, 40.0, ())
    reach = evidence_reach(44.0, NOTHING_LATE, sources, unexplained_high=59.0)
    assert (reach.value, reach.low) == (1.0, pytest.approx(44 / 103))
    habits = evidence_reach(44.0, NOTHING_LATE, sources, unexplained_high=16.0)
    assert habits.low == pytest.approx(41 / 41.4)
    few = evidence_reach(8.0, NOTHING_LATE, TwoSources(Count(0.0, 0.0, 0.4), 8.0, 8.0, ()), unexplained_high=10.0)
    assert few.low == pytest.approx(8 / 8.4), "of few failures chance leaves as much"


def test_with_one_source_late_evidence_gives_the_most_it_can_be():
    reach = evidence_reach(60.0, Count(40.0, 30.0, 48.0), NO_SOURCES, unexplained_high=90.0)
    assert reach.is_at_most
    assert (reach.value, reach.low, reach.high) == pytest.approx((60 / 100, 60 / 150, 60 / 90))
    assert math.isnan(evidence_reach(60.0, Count(40.0, 30.0, 48.0), NO_SOURCES).low)
    assert math.isnan(evidence_reach(60.0, Count(2.0, 0.0, 5.0), NO_SOURCES, 3.0).value), "chance explains it"
    assert evidence_reach(0.0, Count(4.0, 2.0, 5.0), NO_SOURCES).value == 0


def test_unexplained_ends_need_users_with_jobs_of_two_sizes():
    cells = {"runtime_classes": [9] * 8, "failed": [2] * 8, "days": [1.0] * 8}
    four = unexplained_bound(users=[0, 0, 1, 1, 2, 2, 3, 3], node_counts=[1, 4] * 4, **cells)
    assert math.isnan(four)
    empty = dict.fromkeys(("users", "runtime_classes", "node_counts", "failed", "days"), ())
    assert math.isnan(unexplained_bound(**empty))
