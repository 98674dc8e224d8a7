"""Odds ratios within strata: figures of R and of textbooks, exact tails, and few false alarms in bursts."""

import numpy as np
import pytest
from scipy import stats

from assets.model.power import detectable_effect
from assets.model.stratified_odds import stratified_odds

# Men and women, admitted and rejected, in the six largest departments of Berkeley in 1973 (R's UCBAdmissions).
ADMISSIONS = np.array(
    [
        (512, 313, 89, 19), (353, 207, 17, 8), (120, 205, 202, 391),
        (138, 279, 131, 244), (53, 138, 94, 299), (22, 351, 24, 317),
    ]
).T  # fmt: skip


def test_admissions_agree_with_r():
    """`mantelhaen.test(UCBAdmissions)` prints 0.9046968 [0.7719074, 1.0603298]."""
    admitted, rejected, others, others_rejected = ADMISSIONS
    odds = stratified_odds(
        np.zeros(6), admitted, admitted + rejected, others, others + others_rejected, 1, confidence_level=0.95
    )
    assert odds.value[0] == pytest.approx(0.9046968, abs=1e-7)
    assert (odds.low[0], odds.high[0]) == pytest.approx((0.7719074, 1.0603298), abs=1e-7)
    assert (odds.method[0], odds.dispersion, odds.event_count[0]) == ("mantel_haenszel", 1.0, 1198)
    assert odds.p_value[0] == pytest.approx(0.89, abs=0.01)


@pytest.mark.parametrize(("events", "count", "share"), [(4, 20, 0.05), (9, 200, 0.01), (14, 40, 0.15)])
def test_p_value_is_that_of_the_binomial_where_elsewhere_is_large(events, count, share):
    odds = stratified_odds([0], [events], [count], [share * 1e7], [1e7], 1)
    assert odds.p_value[0] == pytest.approx(stats.binom.sf(events - 1, count, share), rel=0.03)


@pytest.mark.parametrize(("events", "count", "others", "other_count"), [(5, 40, 1, 60), (4, 12, 2, 50), (9, 30, 9, 90)])
def test_p_value_comes_near_the_exact_one_of_small_strata_and_is_never_much_below(events, count, others, other_count):
    odds = stratified_odds([0], [events], [count], [others], [other_count], 1)
    exact = stats.hypergeom.sf(events - 1, count + other_count, events + others, count)
    assert 0.95 * exact < odds.p_value[0] < 2 * exact


def test_where_none_or_all_have_it_there_is_one_limit():
    """None of 20 at share s has probability 0.1 at s = 1 - 0.1 ** (1 / 20); all of 5 at s = 0.1 ** (1 / 5)."""
    odds = stratified_odds([0, 1], [0, 5], [20, 5], [5e5, 5e5], [1e7, 1e7], 2, confidence_level=0.9)
    at_most, at_least = 1 - 0.1 ** (1 / 20), 0.1 ** (1 / 5)
    assert odds.high[0] == pytest.approx(at_most / (1 - at_most) * 19, rel=1e-3)
    assert odds.low[1] == pytest.approx(at_least / (1 - at_least) * 19, rel=1e-3)
    assert np.isnan(odds.value[1])
    assert odds.high[1] == np.inf
    assert odds.p_value[1] == pytest.approx(0.05**5, rel=1e-3)
    assert set(odds.method) == {"one_sided_limit"}


def test_events_of_the_group_alone_have_a_lower_limit():
    """All 3 of 3 events on a group with a tenth of the ends, each with odds r / 9."""
    odds = stratified_odds([0], [3], [100], [0], [900], 1, confidence_level=0.9)
    share = 0.1 ** (1 / 3)
    assert odds.low[0] == pytest.approx(9 * share / (1 - share), rel=1e-6)


def test_strata_without_a_comparison_say_nothing():
    odds = stratified_odds([0, 0, 1], [3, 0, 2], [3, 5, 4], [0, 0, 0], [0, 7, 0], 2)
    assert set(odds.method) == {"not_compared"}
    assert np.isnan([odds.value, odds.low, odds.high]).all()
    assert odds.p_value.tolist() == [1.0, 1.0]


def simulated(rng, bad_ratio=1.0, in_bursts=False, nodes=60, users=40):
    """Draw how users' jobs end on nodes; the first node may be bad, and a user may have bad days on a node."""
    jobs = rng.poisson(rng.gamma(0.5, 6, (users, nodes)))
    share = np.broadcast_to(rng.beta(0.6, 8, (users, 1)), jobs.shape).copy()
    share[:, 0] *= bad_ratio / (1 - share[:, 0] + share[:, 0] * bad_ratio)
    if in_bursts:
        share = np.clip(share * rng.choice([0.3, 3.0], share.shape, p=[0.74, 0.26]), 0, 1)
    ended = rng.binomial(jobs, share)
    others, others_ended = (x.sum(1, keepdims=True) - x for x in (jobs, ended))
    node = np.broadcast_to(np.arange(nodes), jobs.shape)
    return stratified_odds(*(x.ravel() for x in (node, ended, jobs, others_ended, others)), nodes)


def found(odds):
    return stats.false_discovery_control(odds.p_value) <= 0.05


@pytest.mark.parametrize("in_bursts", [False, True])
def test_few_fleets_of_good_nodes_show_a_bad_one(in_bursts):
    rng = np.random.default_rng(7)
    fleets = [simulated(rng, in_bursts=in_bursts) for _ in range(300)]
    assert np.mean([found(odds).any() for odds in fleets]) <= 0.1
    assert np.mean([odds.dispersion for odds in fleets]) == pytest.approx(2.9 if in_bursts else 1.1, abs=0.3)


def test_limits_hold_the_truth_and_a_bad_node_is_found():
    rng = np.random.default_rng(8)
    fleets = [simulated(rng, bad_ratio=8.0) for _ in range(200)]
    assert np.mean([odds.low[0] <= 8 <= odds.high[0] for odds in fleets]) == pytest.approx(0.9, abs=0.05)
    assert np.mean([found(odds)[0] for odds in fleets]) >= 0.95
    assert np.mean([found(odds)[1:].any() for odds in fleets]) <= 0.1


def test_what_would_have_been_found_follows_from_the_margins_alone():
    """A node with 8 jobs of 80, 8 with a bad end: V is 8 x 8 x 72 x 72 / (80^2 x 79), whatever its own ends."""
    variance = 8 * 8 * 72 * 72 / (80**2 * 79)
    for own in (0, 3):
        odds = stratified_odds([0], [own], [8], [8 - own], [72], 1)
        assert odds.information == pytest.approx([variance])
    # z(1 - 0.05 / 120 / 2) + z(0.8) = 3.529 + 0.842, for 60 nodes and two kinds of ends
    assert detectable_effect(variance, 120) == pytest.approx(np.exp((3.529 + 0.842) / np.sqrt(variance)), rel=0.01)
    assert detectable_effect(variance, 120) > 200
