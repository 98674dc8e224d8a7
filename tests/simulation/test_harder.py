"""The harder variants: false alarms, windows of exports, shared nodes, maintenance that kills, months that differ."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import numpy as np
import pytest

from assets.simulation import simulate
from assets.simulation.clusters import read_cluster
from assets.simulation.evidence import has_evidence
from assets.simulation.ledger import Symptoms
from assets.simulation.profiles import DAY, HOUR, Burst, Lemon
from assets.simulation.rates import Months, expected_faults, held_node_days, month_starts, rate_changes
from assets.simulation.states import ALARM, FAILED
from tests.recovery.harder import harder
from tests.simulation.simulated import Simulated, epoch
from tests.simulation.small_ledger import SmallLedger, site

DAYS = 65
DEMO = read_cluster("demo-llm")
HARD = harder(DEMO, "hard")


@pytest.fixture(scope="module")
def hard(tmp_path_factory: pytest.TempPathFactory) -> Simulated:
    return Simulated(simulate(HARD, tmp_path_factory.mktemp("hard"), days=DAYS).clusters[0])


def test_so_many_completed_attempts_have_evidence(hard: Simulated) -> None:
    # With 13,000 attempts the standard error is a tenth, and kernel lines before checks add some.
    assert hard.summary.planted["completed_share_with_evidence"] == pytest.approx(0.01, rel=0.3)


def test_false_alarms_last_as_long_as_planted_and_end_no_job(hard: Simulated) -> None:
    alarms = [row for row in hard.truth("faults") if row["is_false_alarm"]]
    assert len(alarms) > 1500
    seen = [row for row in alarms if row["detected_epoch"] and row["cleared_epoch"]]
    assert np.mean([row["is_drained"] for row in alarms]) == pytest.approx(0.1, abs=0.03)
    lasting = np.mean([row["is_drained"] or row["cleared_epoch"] - row["detected_epoch"] >= 900 for row in seen])
    assert lasting == pytest.approx(0.3, abs=0.04)
    assert all(row["failed_attempt_count"] == 0 for row in alarms)
    out = {(row["node"], row["requested_epoch"]) for row in hard.truth("outages") if row["reason"].startswith("HC: ")}
    assert len(out) >= sum(row["is_drained"] for row in seen)


def test_some_checks_log_only_failures(hard: Simulated) -> None:
    results: dict[str, set[int]] = defaultdict(set)
    for row in hard.health():
        results[row["health_check"]].add(row["result"])
    for check in HARD.logs.failure_only_checks:
        assert results[check] == {2}, check
    assert results["mounted directory"] >= {0, 2}


def test_the_export_begins_and_ends_in_the_middle_of_jobs(hard: Simulated) -> None:
    first = epoch("2026-01-10T00:00:00") or 0
    # 65 days after the first midnight, less 12 hours, with the change to summer time in between.
    last = epoch("2026-03-10T13:00:00") or 0
    rows = hard.attempts()
    assert all(row["End"] is None or first <= row["End"] < last for row in rows)
    assert all(row["Submit"] <= last for row in rows)
    survivors = [row for row in rows if row["Start"] is not None and row["Start"] < first]
    assert survivors and all(row["state"] == "RUNNING" or row["End"] >= first for row in survivors)
    running = [row for row in rows if row["state"] == "RUNNING"]
    assert running and all(int(row["ElapsedRaw"]) == last - row["Start"] for row in running)
    assert all(row["nodes"] == [] for row in rows if row["state"] == "PENDING")
    truth = hard.truth("attempts")
    assert len(rows) == sum(row["is_exported"] for row in truth) < len(truth)
    exported = Counter(row["exported_state"] for row in truth if row["is_exported"])
    assert exported == Counter(row["state"] for row in rows)


def test_jobs_of_one_gpu_share_a_node_and_are_charged_with_all_of_it(hard: Simulated) -> None:
    small = [row for row in hard.attempts() if row["gpus"] == 1 and row["nodes"]]
    assert len(small) > 3000
    for row in small:
        assert row["AllocTRES"] == "billing=128,cpu=128,gres/gpu:a100=1,gres/gpu=1,mem=960000M,node=1"
        assert row["ReqTRES"] == "billing=16,cpu=16,gres/gpu:a100=1,gres/gpu=1,mem=120000M,node=1"
    noon = epoch("2026-02-10T12:00:00") or 0
    held = Counter(row["nodes"][0] for row in small if row["Start"] <= noon < (row["End"] or noon + 1))
    assert max(held.values()) >= 4


def test_planned_maintenance_ends_jobs_and_is_no_fault(hard: Simulated) -> None:
    planned = {(row["job_id_raw"], row["submitted_epoch"]): row for row in hard.truth("planned_ends")}
    states = Counter(row["state"] for row in planned.values())
    assert states["NODE_FAIL"] > 0 and states["CANCELLED"] > 0
    failures = {(row["job_id_raw"], row["submitted_epoch"]) for row in hard.truth("failures")}
    assert not failures & planned.keys()
    rows = {(int(row["JobIDRaw"]), row["Submit"]): row for row in hard.attempts()}
    events = {
        (row["NodeName"], epoch(row["TimeStart"])): row
        for row in hard.psv("events/events.psv")
        if row["Reason"].startswith("maint: ")
    }
    killed = " ".join(hard.text("slurmctld/slurmctld.log"))
    for key, end in planned.items():
        event, state = events[end["node"], end["ended_epoch"]], end["state"]
        assert event["State"] == "DOWN" and event["User"].startswith("root")
        assert rows[key]["State"] == ("CANCELLED by 0" if state == "CANCELLED" else "NODE_FAIL")
        how = rf"JobId={key[0]} (on failed|due to failure of) node {end['node']}"
        assert state == "CANCELLED" or re.search(how, killed)
    ended_by = Counter(row["ended_by"] for row in hard.truth("attempts"))
    assert ended_by["maintenance"] == len(planned) and ended_by["fault"] == len(failures)


def test_the_truth_of_a_population_is_of_the_time_that_the_accounting_covers(hard: Simulated) -> None:
    rows = {row["population"]: row for row in hard.truth("populations")}
    assert rows["all"]["until_epoch"] - rows["all"]["from_epoch"] == (DAYS - 5) * DAY - 12 * HOUR
    assert rows["all"]["node_days"] < hard.summary.planted["attempt_node_days"]
    inside = [row for row in hard.truth("failures") if row["failed_epoch"] >= rows["all"]["from_epoch"]]
    inside = [row for row in inside if row["failed_epoch"] < rows["all"]["until_epoch"]]
    assert rows["all"]["failed_attempt_count"] == len(inside)
    assert rows["all"]["incident_count"] == len({row["incident_number"] for row in inside}) < len(inside)


@pytest.mark.parametrize(
    ("start", "offset", "is_evidence"), [(0, -601, 0), (0, -600, 1), (0, 300, 1), (0, 301, 0), (9_500, -550, 0)]
)
def test_evidence_counts_in_the_window_and_not_before_the_start(start: int, offset: int, is_evidence: int) -> None:
    made = SmallLedger()
    row = made.attempt(made.run(), start, 10_000, FAILED)
    shown = Symptoms(checks=[("check pci", "PCI device 0000:07:00.0: link width is x8, expected x16.")])
    made.fault(0, 9_000, ALARM, symptoms=shown, checks_from=10_000 + offset)
    assert has_evidence(made.frozen())[row] == is_evidence


def test_months_run_at_their_factor() -> None:
    # 5 January to 15 March: 27 days at half the rate, 28 at twice the rate, and the rest at the usual rate.
    assert month_starts(site(days=70)) == [0, 27 * DAY, 55 * DAY]
    months = Months(site(days=70), np.random.default_rng(1))
    assert months.after(7, 11) == 18
    months.factors = [(0, 0.5), (27 * DAY, 2.0), (55 * DAY, 1.0)]
    assert months.after(0, 10 * DAY) == 20 * DAY
    assert months.after(20 * DAY, 10 * DAY) == (27 + 6.5 / 2) * DAY
    assert months.after(0, (13.5 + 56 + 3) * DAY) == 58 * DAY
    factors = Months(site(days=334 * 40, month_variation=0.3), np.random.default_rng(1)).factors
    assert np.std([factor for _, factor in factors]) == pytest.approx(0.3, rel=0.2)


def test_expected_faults_on_the_nodes_of_attempts() -> None:
    profile = site(
        fault_rate=0.01,
        lemons=(Lemon(0.0, "GPU", 0.1),),
        bursts=(Burst(2, 4, "ib_link", 0.5, positions=(0.0,)),),
        days=10,
        month_variation=0.3,
    )
    made = SmallLedger()
    alone = made.attempt(made.run(), 0, 3 * DAY, nodes=(1,))
    lemon = made.attempt(made.run(), 1 * DAY, 3 * DAY, nodes=(0, 1))
    runs_on = made.attempt(made.run(), 9 * DAY, -1, nodes=(2,))
    made.ledger.month_factors = [(0, 2.0), (2 * DAY, 1.0)]
    ledger = made.frozen()
    expected = expected_faults(profile, ledger, 0, 9.5 * DAY)
    assert expected[alone] == pytest.approx(0.01 * (2 * 2 + 1))
    assert expected[lemon] == pytest.approx((0.1 + 0.01) * (2 + 1) + 0.5 * 1)
    assert expected[runs_on] == pytest.approx(0.01 * 0.5)
    assert held_node_days(ledger, DAY, 2 * DAY).tolist() == [1, 2, 0]


def test_changes_of_the_planted_rate_are_named() -> None:
    profile = site(
        node_count=4,
        fault_rate=0.01,
        lemons=(Lemon(0.0, "GPU", 0.05),),
        bursts=(Burst(2, 4, "ib_link", 0.5, positions=(0.0, 0.5)), Burst(8, 20, "gpu_memory", 0.02)),
        days=10,
    )
    made = SmallLedger()
    made.ledger.month_factors = [(0, 1.0), (6 * DAY, 2.0)]
    changes = rate_changes(profile, made.frozen())
    # (50 + 3 x 10) / 4 = 20 per 1,000 node-days; the first burst adds 500 on two nodes of four.
    expected = [(2, "ib_link"), (4, "ib_link"), (6, None), (8, "gpu_memory")]
    assert [(at // DAY, category) for at, category, _, _ in changes] == expected
    rates = [rate for change in changes for rate in change[2:]]
    assert rates == pytest.approx([20, 270, 270, 20, 20, 40, 40, 60])
