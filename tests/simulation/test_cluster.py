"""The simulated cluster is like the paper's in states, sizes, utilization and preemption, and has the planted rates."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from assets.simulation.clusters import read_cluster
from assets.simulation.engine import simulate_cluster
from assets.simulation.ledger import Ledger
from assets.simulation.logs.record import Record
from assets.simulation.profiles import DAY
from assets.simulation.states import ALARM, CRASH, DRAIN, NODE_FAIL, PREEMPTED, QOS_SCAVENGER, STATES
from assets.simulation.truth import planted

SEEDS = (1, 2, 3)
DEMO = replace(read_cluster("demo-llm"), bursts=(), crash_loops=(), checks_introduced=())
"""The cluster with its steady faults only, so that counting can be compared with rates."""


@pytest.fixture(scope="module")
def ledgers() -> list[Ledger]:
    return [simulate_cluster(DEMO, np.random.default_rng(seed), lambda share: None) for seed in SEEDS]


@pytest.mark.parametrize(
    ("state", "percent", "tolerance"),
    [
        ("COMPLETED", 60, 4),
        ("FAILED", 24, 3),
        ("PREEMPTED", 10, 3),
        ("REQUEUED", 2, 1),
        ("CANCELLED", 3.2, 1),
        ("TIMEOUT", 0.6, 0.5),
        ("OUT_OF_MEMORY", 0.1, 0.3),
        ("NODE_FAIL", 0.5, 0.5),
    ],
)
def test_states_have_the_papers_shares(ledgers: list[Ledger], state: str, percent: float, tolerance: float) -> None:
    counts = Counter(STATES[number] for ledger in ledgers for number in ledger.attempts["state"].tolist())
    assert 100 * counts[state] / sum(counts.values()) == pytest.approx(percent, abs=tolerance)


def test_utilization_attempts_and_failures_lie_in_their_ranges(ledgers: list[Ledger]) -> None:
    for ledger, seed in zip(ledgers, SEEDS, strict=True):
        numbers = planted(Record(DEMO, ledger, seed))
        assert 0.74 < numbers["utilization"] < 0.86
        assert 10_000 < numbers["attempt_count"] < 14_000
        assert numbers["attempt_node_days_gt_128"] > 0.3 * numbers["attempt_node_days"]
        assert 60 < numbers["failed_attempt_count"] < 180


def test_small_jobs_are_many_and_large_jobs_have_the_time(ledgers: list[Ledger]) -> None:
    for ledger in ledgers:
        attempts = ledger.attempts
        gpus = ledger.jobs["gpus"][attempts["job"]]
        ends = np.where(attempts["end"] >= 0, attempts["end"], DEMO.horizon)
        hours = gpus * np.where(attempts["start"] >= 0, ends - attempts["start"], 0)
        assert (gpus == 1).mean() > 0.33
        assert (gpus <= 8).mean() > 0.8
        assert hours[gpus <= 8].sum() / hours.sum() < 0.2
        assert hours[gpus > 128].sum() / hours.sum() > 0.3


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


def test_faults_over_days_in_service_are_the_planted_rates(ledgers: list[Ledger]) -> None:
    lemons = {DEMO.node_at(lemon.position): lemon.rate for lemon in DEMO.lemons}
    expected, counted = {False: 0.0, True: 0.0}, {False: 0, True: 0}
    for ledger in ledgers:
        outages, faults = ledger.outages, ledger.faults
        ends = np.where(outages["end"] >= 0, outages["end"], DEMO.horizon)
        out = np.bincount(outages["node"], ends - outages["start"], minlength=DEMO.node_count)
        for node in range(DEMO.node_count):
            expected[node in lemons] += lemons.get(node, DEMO.fault_rate) * (DEMO.horizon - out[node]) / DAY
        alone = ~np.isin(faults["mechanism"], (DRAIN, ALARM)) & ~faults["is_shared"]
        for node in faults["node"][alone].tolist():
            counted[node in lemons] += 1
    for kind in (False, True):
        assert abs(counted[kind] - expected[kind]) < 3 * np.sqrt(expected[kind]), (kind, counted, expected)


def test_failed_attempts_per_node_day_follow_the_planted_rate(ledgers: list[Ledger]) -> None:
    failed, node_days = 0, 0.0
    for ledger, seed in zip(ledgers, SEEDS, strict=True):
        numbers = planted(Record(DEMO, ledger, seed))
        failed += numbers["failed_attempt_count"] - numbers["failed_attempt_count_shared_faults"]
        node_days += numbers["attempt_node_days"]
    # Lemons are out of service more than others, and work is not spread evenly: the fleet's mean is met only roughly.
    assert 1000 * failed / node_days == pytest.approx(1000 * DEMO.mean_fault_rate, rel=0.25)


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
        assert (delay[lost] >= DEMO.heartbeat_seconds).all()
