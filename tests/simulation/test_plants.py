"""Everything that a profile plants happens: bursts, crash loops, a late check, false alarms, lemons, shared events."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from assets.simulation.causes import BY_CATEGORY
from assets.simulation.clusters import read_cluster
from assets.simulation.engine import simulate_cluster
from assets.simulation.ledger import Ledger
from assets.simulation.profiles import DAY
from assets.simulation.states import ALARM, DRAIN, FAILED, NODE_FAIL

DEMO_LLM = read_cluster("demo-llm")
SEEDS = (5, 6, 7)
"""Bursts and lost mounts are few in one season of a small cluster."""


@pytest.fixture(scope="module")
def ledgers() -> list[Ledger]:
    return [simulate_cluster(DEMO_LLM, np.random.default_rng(seed), lambda share: None) for seed in SEEDS]


@pytest.fixture(scope="module")
def ledger(ledgers: list[Ledger]) -> Ledger:
    return ledgers[0]


def alone(ledger: Ledger, category: str) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Give the days and the nodes of the faults of a category that end jobs and were no event of several nodes."""
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


def test_the_faults_of_a_burst_show_its_code(ledgers: list[Ledger]) -> None:
    for burst in DEMO_LLM.bursts:
        if burst.code is None:
            continue
        for ledger in ledgers:
            faults = ledger.faults
            rows = (faults["cause"] == BY_CATEGORY[burst.category]) & faults["has_evidence"]
            days = faults["at"] / DAY
            shown = [
                any(f": {burst.code}, " in line for _, line in ledger.symptoms[row].kernel)
                for row in np.flatnonzero(rows & (days >= burst.first_day) & (days < burst.last_day))
            ]
            assert len(shown) > 3 and np.mean(shown) > 0.6  # the others are not of the burst


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
        # Another fault may strike in between; what Slurm restarts keeps its id.
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


def test_lemons_fail_at_least_five_times_as_often_as_others(ledger: Ledger) -> None:
    lemons = [DEMO_LLM.node_at(lemon.position) for lemon in DEMO_LLM.lemons]
    faults = ledger.faults
    alone = ~np.isin(faults["mechanism"], (ALARM, DRAIN)) & ~faults["is_shared"]
    counts = np.bincount(faults["node"][alone], minlength=DEMO_LLM.node_count)
    others = np.delete(counts, lemons)
    assert counts[lemons].mean() > 5 * others.mean()


def test_an_event_of_a_switch_strikes_neighbours_within_a_minute(ledger: Ledger) -> None:
    faults = ledger.faults
    for incident in np.unique(faults["incident"][faults["is_shared"]]):
        rows = faults["incident"] == incident
        assert 2 <= rows.sum() <= 6
        assert np.ptp(faults["at"][rows]) <= 60
        assert np.ptp(faults["node"][rows]) <= 6


def test_every_gpu_second_is_used_or_out_of_service_or_idle(ledger: Ledger) -> None:
    """Used, out-of-service and idle time of each node add up, and none is negative."""
    horizon, nodes = DEMO_LLM.horizon, DEMO_LLM.node_count
    attempts, outages = ledger.attempts, ledger.outages
    steps: list[list[tuple[int, int, int]]] = [[] for _ in range(nodes)]
    # What failed at once, as it was launched, held nothing.
    for row in np.flatnonzero((attempts["start"] >= 0) & (attempts["end"] != attempts["start"])).tolist():
        start = int(attempts["start"][row])
        end = int(attempts["end"][row]) if attempts["end"][row] >= 0 else horizon
        gpus = int(attempts["mask"][row]).bit_count()
        for node in ledger.nodes[row].tolist():
            steps[node] += [(start, gpus, 0), (end, -gpus, 0)]
    for row in range(len(outages)):
        end = int(outages["end"][row]) if outages["end"][row] >= 0 else horizon
        steps[int(outages["node"][row])] += [(int(outages["start"][row]), 0, 1), (end, 0, -1)]
    used = out = idle = 0
    for changes in steps:
        at = busy = away = 0
        for time, gpus, service in [*sorted(changes, key=lambda step: (step[0], step[1], step[2])), (horizon, 0, 0)]:
            assert 0 <= busy <= DEMO_LLM.gpus_per_node and away in (0, 1) and not (busy and away and time > at)
            used += busy * (time - at)
            out += away * DEMO_LLM.gpus_per_node * (time - at)
            idle += (0 if away else DEMO_LLM.gpus_per_node - busy) * (time - at)
            at, busy, away = time, busy + gpus, away + service
    assert used + out + idle == DEMO_LLM.gpu_seconds
    assert used == ledger.used_gpu_seconds(horizon)
    assert (
        ledger.attempts["productive"] <= np.where(attempts["end"] >= 0, attempts["end"], horizon) - attempts["start"]
    ).all()
