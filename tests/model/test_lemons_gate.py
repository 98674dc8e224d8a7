"""The gate of the lemon list: its p-value is that of a bootstrap with whole fits; it names the count that would do."""

import numpy as np
import pytest

from assets.model.gamma_poisson import Group
from assets.model.lemons import gate
from assets.model.lemons.culprits import infer_culprits
from assets.model.lemons.gate import compare_with_even_fleets
from assets.model.lemons.two_groups import fit_two_groups
from assets.model.lemons.verdicts import decide

WORST_OF_FORTY = [6.0] + [1.0] * 29 + [0.0] * 10


def gate_of(count, time):
    return compare_with_even_fleets(count, time, fit_two_groups(count, time).single, np.random.default_rng(1))


def p_value_of_whole_fits(count, time, draws=200):
    """Compute the same bootstrap, with both families fitted to each fleet by maximum likelihood."""
    rng, fleet, larger = np.random.default_rng(7), fit_two_groups(count, time), 0
    group = fleet.single
    for _ in range(draws):
        drawn = rng.poisson(rng.gamma(group.shape, group.rate / group.shape, len(time)) * time)
        fit = fit_two_groups(drawn, time)
        larger += fit is not None and fit.log_likelihood_gain >= fleet.log_likelihood_gain
    return (1 + larger) / (1 + draws)


def test_the_p_value_is_that_of_whole_fits():
    """200 draws have a standard error of 0.02 where the p-value is 0.1."""
    count, time = np.array([5.0, *WORST_OF_FORTY[1:]]), np.linspace(60.0, 90.0, 40)
    assert gate_of(count, time).p_value == pytest.approx(p_value_of_whole_fits(count, time), abs=0.05)


def test_six_of_thirty_five_failures_on_one_of_forty_nodes_are_no_chance():
    """Chi-square says 0.05; simulations of such fleets, with equal and with unequal nodes, say 0.003 to 0.04."""
    assert 0.001 <= gate_of(WORST_OF_FORTY, [90.0] * 40).p_value <= 0.04


@pytest.mark.slow
def test_fleets_without_lemons_pass_as_often_as_the_level_says(monkeypatch):
    """Of 15 fleets 0.75 are expected at 0.05, however many are drawn; more than 3 have a probability of 0.6%."""
    monkeypatch.setattr(gate, "DRAWS", gate.CHUNK)
    rng, time = np.random.default_rng(5), np.full(60, 80.0)
    gates = [gate_of(rng.poisson(rng.gamma(4.0, 0.01 / 4.0, 60) * time).astype(float), time) for _ in range(15)]
    assert sum(gate.p_value <= 0.05 for gate in gates) <= 3
    assert np.mean([gate.p_value for gate in gates]) >= 0.3


def test_the_smallest_count_is_where_the_answer_turns():
    count, time = np.array([1.0] * 30 + [0.0] * 30), np.full(60, 80.0)
    gate = gate_of(count, time)
    assert gate.p_value > 0.05
    assert 2 < gate.smallest_count < 20
    node = int(np.argsort(time)[30])

    def p_value_with(failures):
        changed = count.copy()
        changed[node] = failures
        group = fit_two_groups(count, time).single
        return compare_with_even_fleets(changed, time, group, np.random.default_rng(1)).p_value

    assert p_value_with(gate.smallest_count) <= 0.06
    assert p_value_with(max(gate.usual_count, 1.0)) > 0.05


def test_what_cannot_be_told_is_said_with_what_would_have_told():
    time = [70.0] * 60
    blame = infer_culprits(range(20), list(range(20)), time, np.random.default_rng(1))
    refusal = decide(blame, time, [False] * 60, gate=gate_of(blame.event_count, time)).refusal
    assert refusal.startswith("cannot tell lemons from bad luck (p = ")
    assert "failures of one node would have shown one" in refusal


def test_shares_of_failures_that_make_no_whole_one_tell_nothing():
    gate = compare_with_even_fleets([0.3, 0.2, 0.0], [50.0] * 3, Group(0.003, 4.0), np.random.default_rng(1))
    assert (gate.p_value, gate.smallest_count) == (1.0, np.inf)
