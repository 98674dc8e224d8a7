"""Places: false findings, detected bad places, and the coverage of the limits, over many machines."""

import numpy as np
import pytest

from assets.model.common_causes import bursts_of, common_causes, mttf_of_job
from assets.model.false_discovery import FALSE_DISCOVERIES
from assets.model.place_rates import place_rates

# Nodes, nodes of a place, days, failures per node-day, spread of nodes (shape), lemons, events that take six nodes.
MACHINES = [(64, 8, 90, 0.012, None, 3, 0), (64, 4, 120, 0.02, 4, 3, 3), (400, 16, 60, 0.006, 4, 5, 3)]
ROUNDS = 150


def machine(nodes, size, days, rate, shape, lemons, events, *, seed, factor=1.0):
    """Draw the failures of a machine whose place 1 fails `factor` times as often; nodes, bursts, lemons, days."""
    generator = np.random.default_rng(seed)
    time = days * generator.uniform(0.6, 1.0, nodes)
    rates = np.full(nodes, rate) if shape is None else rate * generator.gamma(shape, 1 / shape, nodes)
    rates[size : 2 * size] *= factor
    is_lemon = np.zeros(nodes, dtype=bool)
    is_lemon[generator.choice(nodes, lemons, replace=False)] = True
    rates[is_lemon] = 0.2
    struck = [generator.choice(nodes, 6, replace=False) for _ in range(events)]
    alone = np.repeat(np.arange(nodes), generator.poisson(rates * time))
    node = np.concatenate([alone, *struck])
    burst = np.concatenate([np.arange(len(alone)), np.repeat(len(alone) + np.arange(events), 6)])
    return node, burst, is_lemon, time, rates


def rates_of(case, seed, factor=1.0):
    node, burst, is_lemon, time, rates = machine(*case, seed=seed, factor=factor)
    place = np.arange(case[0]) // case[1]
    return place_rates(place, time, node, burst, np.ones(len(node)), is_lemon), place, rates, time


@pytest.mark.parametrize("case", MACHINES)
def test_machines_without_a_bad_place_seldom_have_one(case):
    found = [(rates_of(case, seed)[0].q_value <= FALSE_DISCOVERIES).any() for seed in range(ROUNDS)]
    assert np.mean(found) <= 0.05


@pytest.mark.parametrize(("case", "at_least"), zip(MACHINES, (0.85, 0.6, 0.8), strict=True))
def test_a_place_that_fails_six_times_as_often_is_found_and_no_other(case, at_least):
    hits = np.array([rates_of(case, seed, factor=6)[0].q_value <= FALSE_DISCOVERIES for seed in range(60)])
    assert hits[:, 1].mean() >= at_least
    assert np.delete(hits, 1, axis=1).sum() <= 0.1 * hits.sum()


def test_limits_of_places_cover_their_rates():
    covered = []
    for seed in range(ROUNDS):
        found, place, rates, time = rates_of((64, 8, 90, 0.03, 4, 0, 0), seed)
        truth = np.bincount(place, rates * time) / np.bincount(place, time)
        covered += list((found.rate.low <= truth) & (truth <= found.rate.high))
    assert 0.88 <= np.mean(covered) <= 0.97


def together_of(case, seed, planted=0):
    """Draw failures at random times, and `planted` bursts of three nodes of place 1."""
    nodes, size, days, rate = case
    generator = np.random.default_rng(seed)
    count = generator.poisson(nodes * days * rate)
    at = generator.uniform(0, 86_400 * days, count + planted)
    times = np.concatenate([at[:count], np.repeat(at[count:], 3)])
    at_once = [size + generator.choice(size, 3, replace=False) for _ in range(planted)]
    node = np.concatenate([generator.integers(0, nodes, count), *at_once])[order := np.argsort(times)]
    burst = bursts_of(times[order])
    first = np.unique(burst * nodes + node, return_index=True)[1]
    chances = np.full((1, nodes // size), size / nodes)
    return common_causes(burst[first], node[first] // size, np.zeros(len(first), int), chances)


# In the last machine 25 nodes fail a day, and a quarter of all failures have another within ten minutes.
@pytest.mark.parametrize("case", [(64, 8, 90, 0.012), (400, 16, 120, 0.01), (500, 20, 60, 0.05)])
def test_chance_is_no_common_cause_and_four_bursts_are_one(case):
    by_chance = [(together_of(case, seed).q_value <= FALSE_DISCOVERIES).any() for seed in range(ROUNDS)]
    assert np.mean(by_chance) <= 0.05
    planted = [together_of(case, seed, planted=4) for seed in range(40)]
    assert np.mean([found.q_value[1] <= FALSE_DISCOVERIES for found in planted]) >= 0.9
    assert np.mean([(np.delete(found.q_value, [1, -1]) <= FALSE_DISCOVERIES).any() for found in planted]) <= 0.05


def test_the_share_beyond_chance_is_covered():
    # Twelve of 69 + 12 expected failures come with others.
    found = [together_of((64, 8, 90, 0.012), seed, planted=4) for seed in range(ROUNDS)]
    assert np.mean([each.low[-1] <= 12 / 81 <= each.high[-1] for each in found]) >= 0.85
    assert np.mean([each.share[-1] for each in found]) == pytest.approx(12 / 81, abs=0.03)


def test_without_bursts_the_mttf_is_that_of_independent_nodes():
    found = mttf_of_job(np.ones(20), np.ones(20), 16, 64, 3200.0)
    assert found.hours == pytest.approx(24 / (16 * 20 / 3200))
    assert np.isnan(mttf_of_job(np.ones(20), np.ones(20), np.nan, 64, 3200.0).hours)
    nothing = mttf_of_job([], [], 16, 64, 3200.0)
    assert np.isinf(nothing.high) and nothing.low == pytest.approx(24 / (2.996 / 50), rel=1e-3)
