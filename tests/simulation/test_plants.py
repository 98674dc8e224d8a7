"""Everything in a profile happens, at the planted rates. Preemption and faults end only what they may end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from assets.simulation.causes import BY_CATEGORY
from assets.simulation.clusters import read_cluster
from assets.simulation.engine import simulate_cluster
from assets.simulation.ledger import Ledger
from assets.simulation.profiles import DAY
from assets.simulation.states import ALARM, CRASH, DRAIN, FAILED, NODE_FAIL, PREEMPTED, QOS_SCAVENGER

DEMO_LLM = read_cluster("demo-llm")
STEADY = replace(DEMO_LLM, bursts=(), crash_loops=(), checks_introduced=())
"""The cluster with its steady faults only, so that counts are comparable with rates."""
SEEDS = (5, 6, 7)
"""Bursts and lost mounts are few in one season of a small cluster."""


@pytest.fixture(scope="module")
def ledgers() -> list[Ledger]:
    return [simulate_cluster(DEMO_LLM, np.random.default_rng(seed), lambda share: None) for seed in SEEDS]


def alone(ledger: Ledger, category: str) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Return days and nodes of a category's faults that end jobs and strike a single node."""
    faults = ledger.faults
    rows = (faults["cause"] == BY_CATEGORY[category]) & ~np.isin(faults["mechanism"], (ALARM, DRAIN))
    rows &= ~faults["is_shared"]
    return faults["at"][rows] / DAY, faults["node"][rows]


def test_a_burst_is_where_and_when_it_was_planted(ledgers: list[Ledger]) -> None:
    for burst in DEMO_LLM.bursts:
        days, nodes = (
            np.concatenate(parts)
            for parts in zip(*(alone(cluster_ledger, burst.category) for cluster_ledger in ledgers), strict=True)
        )
        struck = [DEMO_LLM.node_at(position) for position in burst.positions] or list(range(DEMO_LLM.node_count))
        is_there = np.isin(nodes, struck)
        inside = (days >= burst.first_day) & (days < burst.last_day)
        length = burst.last_day - burst.first_day
        # One of the nodes may be a lemon that fails in the same way all the time, but less often.
        assert (inside & is_there).sum() / length > 3 * (~inside & is_there).sum() / (DEMO_LLM.days - length)
        if burst.positions:
            assert is_there[inside].mean() > 10 * len(struck) / DEMO_LLM.node_count
        expected = burst.rate * len(struck) * length * len(ledgers)
        assert (inside & is_there).sum() > expected - 3 * np.sqrt(expected)


def test_a_crash_loop_fails_as_often_as_planted_and_then_ends(ledgers: list[Ledger]) -> None:
    (loop,) = DEMO_LLM.crash_loops
    ends = 0
    for ledger in ledgers:
        attempts, jobs = ledger.attempts, ledger.jobs
        run, start = jobs["run"][attempts["job"]], attempts["start"]
        counts = np.bincount(run[ledger.failures["attempt"]], minlength=len(ledger.runs))
        first = np.full(len(ledger.runs), DEMO_LLM.horizon)
        np.minimum.at(first, run[start >= 0], start[start >= 0])
        is_due = (ledger.runs["gpus"] == loop.gpus) & (np.abs(first - loop.day * DAY) < DAY)
        looping = np.flatnonzero(is_due & (counts >= loop.failures))
        assert len(looping) == 1
        rows = np.flatnonzero((run == looping[0]) & (start >= 0))
        # Another fault may strike in between. A job that Slurm restarts keeps its id.
        assert np.isin(rows, ledger.failures["attempt"]).tolist() == [True] * loop.failures + [False]
        states = attempts["state"][rows].tolist()
        ends += states.count(NODE_FAIL)
        assert len(set(attempts["job"][rows].tolist())) == 1 + states.count(FAILED)
    assert ends > 0.8 * loop.failures * len(ledgers)


def test_before_its_check_exists_a_lost_mount_leaves_nothing_to_see(ledgers: list[Ledger]) -> None:
    ((_, day),) = DEMO_LLM.checks_introduced
    seen = {False: 0, True: 0}
    for ledger in ledgers:
        faults = ledger.faults
        mounts = (faults["cause"] == BY_CATEGORY["filesystem_mount"]) & ~np.isin(faults["mechanism"], (ALARM, DRAIN))
        before = mounts & (faults["at"] < day * DAY)
        assert not faults["has_evidence"][before].any()
        assert not any(ledger.symptoms[row].kernel or ledger.symptoms[row].checks for row in np.flatnonzero(before))
        seen[False] += int(before.sum())
        seen[True] += int(faults["has_evidence"][mounts & ~before].sum())
    assert min(seen.values()) > 5


def test_an_event_of_a_switch_strikes_neighbours_within_a_minute(ledgers: list[Ledger]) -> None:
    faults = ledgers[0].faults
    for incident in np.unique(faults["incident"][faults["is_shared"]]):
        rows = faults["incident"] == incident
        assert 2 <= rows.sum() <= 6
        assert np.ptp(faults["at"][rows]) <= 60
        assert np.ptp(faults["node"][rows]) <= 6


def test_only_scavengers_are_preempted_and_only_after_two_hours(ledgers: list[Ledger]) -> None:
    for ledger in ledgers:
        attempts, preemptions = ledger.attempts, ledger.preemptions
        victims = preemptions["victim"]
        assert sorted(victims.tolist()) == np.flatnonzero(attempts["state"] == PREEMPTED).tolist()
        assert (ledger.jobs["qos"][attempts["job"][victims]] == QOS_SCAVENGER).all()
        assert (attempts["end"][victims] - attempts["start"][victims] >= 2 * 3600).all()
        assert (ledger.jobs["qos"][attempts["job"][preemptions["instigator"]]] > QOS_SCAVENGER).all()
        assert (attempts["start"][preemptions["instigator"]] > preemptions["at"]).all()
        assert preemptions["is_second_order"].sum() > 0


def test_faults_over_days_in_service_are_the_planted_rates() -> None:
    lemons = {node: lemon.rate for node, lemon in STEADY.lemon_nodes.items()}
    expected, counted = {False: 0.0, True: 0.0}, {False: 0, True: 0}
    for seed in SEEDS[:2]:
        ledger = simulate_cluster(STEADY, np.random.default_rng(seed), lambda share: None)
        outages, faults = ledger.outages, ledger.faults
        ends = np.where(outages["end"] >= 0, outages["end"], STEADY.horizon)
        out = np.bincount(outages["node"], ends - outages["start"], minlength=STEADY.node_count)
        for node in range(STEADY.node_count):
            expected[node in lemons] += lemons.get(node, STEADY.fault_rate) * (STEADY.horizon - out[node]) / DAY
        alone = ~np.isin(faults["mechanism"], (DRAIN, ALARM)) & ~faults["is_shared"]
        for node in faults["node"][alone].tolist():
            counted[node in lemons] += 1
    for kind in (False, True):
        assert abs(counted[kind] - expected[kind]) < 3 * np.sqrt(expected[kind]), (kind, counted, expected)


def test_a_fault_ends_jobs_when_its_mechanism_says_so(ledgers: list[Ledger]) -> None:
    for ledger in ledgers:
        faults, failures, attempts = ledger.faults, ledger.failures, ledger.attempts
        delay = failures["at"] - faults["at"][failures["fault"]]
        assert (delay >= 0).all()
        mechanism = faults["mechanism"][failures["fault"]]
        assert not np.isin(mechanism, (DRAIN, ALARM)).any()
        state = attempts["state"][failures["attempt"]]
        assert (delay[(mechanism == CRASH) & (state != NODE_FAIL)] <= 76).all()
        silent = np.array([ledger.reasons[row] for row in range(len(ledger.reasons))]) == "Not responding"
        lost = np.isin(failures["fault"], ledger.outages["fault"][silent])
        assert (delay[lost] >= DEMO_LLM.heartbeat_seconds).all()
