"""Two groups of nodes: the density against scipy, planted groups found again, limits that cover, valid lists."""

import numpy as np
import pytest
from scipy import optimize, stats

from assets.model.gamma_poisson import Group, Units, mixture_quantile
from assets.model.lemons.culprits import infer_culprits
from assets.model.lemons.node_rates import Draw, false_discovery_ratio, judge_nodes, posterior_rates
from assets.model.lemons.two_groups import SPREADS, TwoGroups, fit_two_groups, p_value_of, weigh_spreads

NORMAL, LEMON = Group(0.0065, 20.0), Group(0.08, 4.0)
FLEET = TwoGroups(NORMAL, LEMON, 0.02, NORMAL, -100.0, 10.0)


def draw(rng, count, fleet=FLEET, days=75.0):
    """Draw nodes from the two groups: rates, lemons, exposures, failures."""
    is_lemon = rng.random(count) < fleet.lemon_ratio
    shape = np.where(is_lemon, fleet.lemon.shape, fleet.normal.shape)
    mean = np.where(is_lemon, fleet.lemon.rate, fleet.normal.rate)
    rate = rng.gamma(shape, mean / shape)
    time = days * rng.uniform(0.5, 1.5, count)
    return rate, is_lemon, time, rng.poisson(rate * time).astype(float)


def test_the_density_is_scipys_negative_binomial():
    count, time = np.arange(12.0), np.linspace(10, 90, 12)
    inverse = NORMAL.shape / NORMAL.rate
    expected = stats.nbinom.logpmf(count, NORMAL.shape, inverse / (inverse + time))
    assert Units(count, time).log_density(NORMAL) == pytest.approx(expected, rel=1e-10)


def test_the_slopes_are_those_of_the_density():
    count, time = np.array([0.0, 2.5, 7.0]), np.array([20.0, 60.0, 90.0])
    for number, by in enumerate(Units(count, time).slopes(NORMAL)):
        for node in range(3):

            def density(x, node=node):
                return Units(count, time).log_density(Group(*np.exp(x)))[node]

            at = np.log([NORMAL.rate, NORMAL.shape])
            assert by[node] == pytest.approx(optimize.approx_fprime(at, density, 1e-7)[number], rel=1e-4, abs=1e-6)


def test_planted_groups_are_found_again():
    _, is_lemon, time, count = draw(np.random.default_rng(20241029), 20_000)
    fleet = fit_two_groups(count, time)
    assert fleet.normal.rate == pytest.approx(NORMAL.rate, rel=0.05)
    assert fleet.lemon.rate == pytest.approx(LEMON.rate, rel=0.2)
    assert fleet.lemon_ratio == pytest.approx(is_lemon.mean(), rel=0.25)
    assert p_value_of(fleet.log_likelihood_gain) < 1e-12


def test_a_start_near_the_end_gives_the_same_fit():
    _, _, time, count = draw(np.random.default_rng(7), 2000)
    fleet = fit_two_groups(count, time)
    again = fit_two_groups(count, time, start=fleet)
    assert again.log_likelihood_gain == pytest.approx(fleet.log_likelihood_gain, abs=1e-3)
    assert posterior_rates(again, count, time) == pytest.approx(posterior_rates(fleet, count, time), rel=0.02)


def test_probabilities_are_calibrated_and_limits_cover():
    """A share p of nodes with probability p are lemons; with known groups 90% limits contain 90% of the rates."""
    rate, is_lemon, time, count = draw(np.random.default_rng(3), 200_000)
    nodes = judge_nodes([Draw(FLEET, count)], time)
    for low, high in ((0.05, 0.2), (0.2, 0.5), (0.5, 0.8), (0.8, 0.99)):
        inside = (nodes.posterior_probability >= low) & (nodes.posterior_probability < high)
        assert is_lemon[inside].mean() == pytest.approx(nodes.posterior_probability[inside].mean(), abs=0.06)
    assert ((nodes.low <= rate) & (rate <= nodes.high)).mean() == pytest.approx(0.90, abs=0.005)
    assert nodes.value.mean() == pytest.approx(rate.mean(), rel=0.01)
    assert np.all((nodes.low <= nodes.value) & (nodes.value < nodes.high))
    assert nodes.posterior_probability + nodes.local_fdr == pytest.approx(np.ones(len(rate)))


@pytest.mark.parametrize("shape", [4.0, *(pytest.param(shape, marks=pytest.mark.slow) for shape in (20.0, 100.0))])
def test_limits_cover_with_fitted_groups(shape):
    """The data hardly show whether normal nodes spread by 50%, 22% or 10% of their mean; limits assume the most."""
    rng, inside = np.random.default_rng(11), []
    fleet = TwoGroups(Group(0.0065, shape), LEMON, 0.02, NORMAL, -100.0, 10.0)
    for _ in range(5):
        rate, _, time, count = draw(rng, 2000, fleet)
        failed = np.repeat(np.arange(2000), count.astype(int))
        nodes = infer_culprits(np.arange(len(failed)), failed, time, rng).nodes
        inside.append(((nodes.low <= rate) & (rate <= nodes.high)).mean())
    assert np.mean(inside) >= 0.88


def lemon_limits(setting, rounds):
    """Return for each node with a probability above 0.7 whether its limits contain its rate; every culprit is known."""
    nodes, days, normal_rate, lemons = setting
    rng, is_held = np.random.default_rng(20241029), []
    for _ in range(rounds):
        rate = np.full(nodes, normal_rate)
        rate[:lemons] = rng.uniform(0.05, 0.3, lemons) if lemons > 1 else 0.1
        failed = np.repeat(np.arange(nodes), rng.poisson(rate * days))
        found = infer_culprits(np.arange(len(failed)), failed, np.full(nodes, days), np.random.default_rng(1))
        if found.p_value <= 0.05:
            is_named = found.nodes.posterior_probability > 0.7
            is_held += list(((found.nodes.low <= rate) & (rate <= found.nodes.high))[is_named])
    return is_held


def test_limits_of_lemons_cover():
    """The group of lemons is fitted to the lemons alone: as a prior for them it covered 76 of 100 rates."""
    assert np.mean(lemon_limits((200, 82.0, 0.005, 4), 15)) >= 0.88


@pytest.mark.slow
@pytest.mark.parametrize(
    ("setting", "rounds"),
    [
        ((60, 82.0, 0.005, 1), 150),
        ((200, 82.0, 0.005, 4), 60),
        ((100, 40.0, 0.0065, 3), 150),
        ((1000, 28.0, 0.0065, 12), 30),
    ],
)
def test_limits_of_lemons_cover_in_fleets_of_many_kinds(setting, rounds):
    assert np.mean(lemon_limits(setting, rounds)) >= 0.88


def test_limits_of_a_lemon_are_those_of_its_own_count():
    """17 failures in 82.5 node-days: Garwood's limits are 131 and 309 per 1,000. Equal nodes do not narrow them."""
    sure = TwoGroups(NORMAL, Group(0.2, 20.0), 0.02, NORMAL, -100.0, 10.0)
    nodes = judge_nodes([Draw(sure, np.array([17.0]))], [82.5])
    assert nodes.low[0] == pytest.approx(0.131, rel=0.04)
    assert nodes.high[0] == pytest.approx(0.309, rel=0.04)


def test_a_value_that_a_small_chance_of_a_lemon_lifts_stays_below_its_limit():
    """A node with a probability of 3% has a mean above 95% of its rates; half of the rest are below the upper limit."""
    far = TwoGroups(NORMAL, Group(0.5, 4.0), 0.05, NORMAL, -100.0, 10.0)
    nodes = judge_nodes([Draw(far, np.array([0.0, 1.0]))], [1.0, 1.0])
    assert nodes.value[0] > stats.gamma.ppf(0.97, NORMAL.shape, scale=NORMAL.rate / NORMAL.shape)
    assert np.all((nodes.low < nodes.value) & (nodes.value < nodes.high))


def test_spreads_are_weighed_by_the_counts():
    rng = np.random.default_rng(2)
    for shape, low, high in ((1e6, 0.0, 0.2), (5.0, 0.3, 0.5)):
        _, _, time, count = draw(rng, 20_000, TwoGroups(Group(0.0065, shape), LEMON, 0.02, NORMAL, -1.0, 1.0))
        weights = weigh_spreads(count, time, fit_two_groups(count, time))
        assert weights.sum() == pytest.approx(1.0)
        assert low <= (weights * SPREADS).sum() <= high


def test_the_list_holds_its_share_of_wrong_names():
    _, is_lemon, time, count = draw(np.random.default_rng(5), 200_000)
    nodes = judge_nodes([Draw(FLEET, count)], time)
    for limit in (0.05, 0.1, 0.3):
        listed = nodes.false_discovery_ratio <= limit
        assert 1 - is_lemon[listed].mean() == pytest.approx(limit, abs=0.02)


def test_equal_probabilities_stand_or_fall_together():
    ratio = false_discovery_ratio([0.4, 0.1, 0.4, 0.1])
    assert ratio.tolist() == pytest.approx([0.25, 0.1, 0.25, 0.1])
    assert false_discovery_ratio([]).tolist() == []


def test_a_mixture_of_one_group_has_that_groups_quantiles():
    count, time, share = np.array([3.0]), np.array([50.0]), np.array([1.0])
    shape, inverse = NORMAL.shape + count, NORMAL.shape / NORMAL.rate + time
    found = mixture_quantile(0.95, [(share / 2, shape, inverse), (share / 2, shape, inverse)])
    assert found == pytest.approx(stats.gamma.ppf(0.95, shape, scale=1 / inverse), rel=1e-9)


def test_a_node_without_exposure_is_as_any_other():
    nodes = judge_nodes([Draw(FLEET, np.array([0.0]))], [0.0])
    assert nodes.posterior_probability == pytest.approx([FLEET.lemon_ratio])
    assert nodes.value == pytest.approx([0.98 * NORMAL.rate + 0.02 * LEMON.rate])
    with pytest.raises(ValueError, match="confidence level"):
        judge_nodes([Draw(FLEET, np.array([0.0]))], [0.0], confidence_level=0.0)


@pytest.mark.parametrize(("count", "time"), [([0, 0], [5, 5]), ([3], [5]), ([3, 1], [0, 0]), ([], [])])
def test_where_nothing_can_be_fitted_nothing_is(count, time):
    assert fit_two_groups(count, time) is None
