"""Which failures the logs show, their causes, their course and their rate, each in a ledger with a known answer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from tests.calibration.failures import peak
from tests.calibration.judging import observe, row, values
from tests.calibration.paper import DAYS

from assets.simulation.ledger import Symptoms
from assets.simulation.profiles import DAY, HOUR
from assets.simulation.states import (
    ALARM,
    COMPLETED,
    CRASH,
    DRAIN,
    EVICT,
    FAILED,
    LOST,
    NODE_FAIL,
    REQUEUE,
    REQUEUED,
    RUNNING,
)
from tests.calibration import calibrate
from tests.simulation.small_ledger import SmallLedger, site

FLAPPING = Symptoms(checks=[("link flaps", "ib link flap detected.\n")])
LINK_CHECK = Symptoms(checks=[("check ibstat", "ib link mlx5_0 is down.")])
XID = "NVRM: Xid (PCI:0000:07:00): {code}, text"


def test_failures_are_what_the_logs_show() -> None:
    made = SmallLedger()
    run, end = made.run(), 10_000

    def attempt(node: int, state: int, ended: int = end) -> int:
        return made.attempt(run, 100, ended, state, nodes=(node,))

    lost = attempt(0, NODE_FAIL)
    made.failed(lost, made.fault(0, end, LOST, "main_memory", has_evidence=False, symptoms=Symptoms()))
    crashed = attempt(1, FAILED)
    made.failed(crashed, made.fault(1, end - 60, CRASH, "pcie"))
    silent = attempt(2, FAILED)
    made.failed(silent, made.fault(2, end - 60, CRASH, "pcie", has_evidence=False, symptoms=Symptoms()))
    remedied = attempt(3, REQUEUED)
    made.failed(remedied, made.fault(3, end - 200, REQUEUE))
    by_chance = {4: 300, 5: -600}
    for node, lag in by_chance.items():
        made.fault(node, end + lag, ALARM, "pcie", symptoms=LINK_CHECK)
    chance = [attempt(4, FAILED), attempt(5, REQUEUED)]
    # Too late, too early, not critical, low severity, a good end, before the attempt, another node.
    for node, at, mechanism, symptoms in (
        (6, end + 301, ALARM, LINK_CHECK),
        (7, end - 601, ALARM, LINK_CHECK),
        (8, end, ALARM, FLAPPING),
        (9, end, DRAIN, LINK_CHECK),
        (10, end, ALARM, LINK_CHECK),
        (11, 50, ALARM, LINK_CHECK),
    ):
        made.fault(node, at, mechanism, symptoms=symptoms)
    for node in (6, 7, 8, 9, 12):
        attempt(node, FAILED)
    attempt(10, COMPLETED)
    attempt(11, FAILED, ended=150)
    seen = observe(made)
    found = dict(zip(seen.failures.attempt.tolist(), seen.failures.category.tolist(), strict=True))
    assert found == {
        lost: "node_fail_unattributed",
        crashed: "pcie",
        remedied: "ib_link",
        chance[0]: "ib_link",
        chance[1]: "ib_link",
    }
    assert seen.failures.is_chance.tolist() == [False, False, False, True, True]
    assert seen.failures.node.tolist() == [0, 1, 3, 4, 5]
    assert np.flatnonzero(seen.is_failed).tolist() == sorted(found)


def test_completed_attempts_that_saw_a_failed_check() -> None:
    made = SmallLedger()
    run = made.run(gpus=16)
    made.fault(1, 5000, ALARM, symptoms=LINK_CHECK, cleared=5600)
    meets = [
        made.attempt(run, 100, 5200, nodes=(0, 1)),
        made.attempt(run, 5500, 9000, nodes=(1, 2)),
        made.attempt(run, 100, 4700, nodes=(1, 3)),
    ]
    made.attempt(run, 100, 4699, nodes=(1, 4))
    made.attempt(run, 5601, 9000, nodes=(1, 5))
    made.attempt(run, 100, 9000, FAILED, nodes=(1, 6))
    made.attempt(run, 100, 9000, nodes=(2, 6))
    seen = observe(made)
    assert np.flatnonzero(seen.saw_failed_check).tolist() == meets
    assert row(calibrate(seen.profile, seen.ledger), "COMPLETED attempts that saw a failed check").value == 50


def test_what_comes_together() -> None:
    made = SmallLedger()
    run = made.run()
    xid = (0.1, XID.format(code=79))
    interrupt = ("ipmitool sel", "Detected error: Critical Interrupt #0x90, Bus Fatal Error")
    shown = {
        "pcie": [
            Symptoms([(0.0, "AER")]),
            Symptoms([(0.0, "AER"), xid], others=("gpu_unavailable",)),
            Symptoms([(0.0, "AER"), xid], [interrupt], others=("gpu_unavailable", "pcie")),
            Symptoms(
                [(0.0, "AER")], [("xid errors", "XID error: 79, XID causes: x. "), interrupt], others=("gpu_memory",)
            ),
        ],
        "ib_link": [Symptoms([(0.0, "Link down")], others=("gpu_nvlink",)), *[LINK_CHECK] * 3],
        "eth_link": [Symptoms([(0.0, "Link down")], others=("system_services",))],
        "filesystem_mount": [Symptoms([(0.0, "nfs")], others=("ib_link",))],
    }
    for category, all_symptoms in shown.items():
        for node, symptoms in enumerate(all_symptoms):
            attempt = made.attempt(run, 0, 900, NODE_FAIL, nodes=(node,))
            made.failed(attempt, made.fault(node, 800, EVICT, category, symptoms=symptoms))
    look = values(made)
    assert look("PCIe errors with Xid 79") == 75
    assert look("with Xid 79 and a critical interrupt") == 50
    assert look("InfiniBand failures with a GPU failure") == 25
    # One PCIe error with a memory error, one InfiniBand failure, the Ethernet one; the mount is no hardware.
    assert look("hardware failures with a co-occurring event") == pytest.approx(100 * 3 / 9)


def failing(made: SmallLedger, counts: dict[str, int]) -> None:
    run = made.run()
    for category, count in counts.items():
        for _ in range(count):
            attempt = made.attempt(run, 0, 900, NODE_FAIL)
            mechanism = LOST if category == "node_fail_unattributed" else EVICT
            shown = Symptoms() if mechanism == LOST else LINK_CHECK
            evidence = mechanism != LOST
            fault = made.fault(0, 800, mechanism, category, symptoms=shown, has_evidence=evidence)
            made.failed(attempt, fault)


@pytest.mark.parametrize(("pcie", "leading"), [(5, 4), (1, 3)])
def test_leading_causes_and_failures_without_one(pcie: int, leading: int) -> None:
    made = SmallLedger()
    counts = {"ib_link": 9, "filesystem_mount": 8, "gpu_memory": 7, "pcie": pcie, "eth_link": 3}
    failing(made, counts | {"node_fail_unattributed": 20})
    rows = calibrate(site(), made.frozen())
    lead = next(row for row in rows if "four leading causes" in row.quantity)
    assert lead.value == leading
    assert lead.is_inside == (leading == 4)
    assert row(rows, "failures without a cause").value == pytest.approx(100 * 20 / (20 + 27 + pcie))


def test_a_peak_stands_out_over_the_usual_days() -> None:
    steady = np.arange(300)
    assert peak(steady, 300) == (1.0, 0)
    burst = np.concatenate([steady, np.repeat(np.arange(120, 150), 2)])
    height, first = peak(burst, 300)
    assert (height, first) == (3.0, 120)
    assert math.isnan(peak(np.arange(40), 40)[0])
    assert math.isnan(peak(np.arange(9), 300)[0])
    assert peak(np.full(12, 200), 300)[0] == math.inf


def test_bursts_come_from_a_few_nodes_and_a_check_begins_midway() -> None:
    made = SmallLedger()
    run = made.run()

    def fail(day: int, node: int, category: str, code: int | None = None) -> None:
        kernel = [(0.0, XID.format(code=code))] if code else [(0.0, "Link down")]
        at = day * DAY + HOUR
        fault = made.fault(node, at, EVICT, category, symptoms=Symptoms(kernel))
        for _ in range(2):  # a fault counts once, however many attempts it ends
            made.failed(made.attempt(run, at - HOUR, at, NODE_FAIL, nodes=(node,)), fault)

    for day in range(0, 330, 10):
        fail(day, day, "ib_link")
        fail(day, 5, "gpu_driver_firmware", 119 if day < 90 else 62)
    for day in range(240, 270):
        fail(day, day % 3, "ib_link")
    for day in (200, 210):
        fail(day, 9, "filesystem_mount")
    introduced: dict[str, Any] = {"days": DAYS, "checks_introduced": (("mounted directory", 210),)}
    rows = calibrate(site(**introduced), made.frozen())
    window = "strongest 30 days over the median 30 days"
    assert row(rows, f"InfiniBand failures: {window}").value == pytest.approx(33 / 3)
    assert row(rows, "InfiniBand faults of these 30 days on 5 nodes").value == pytest.approx(100 * 32 / 33)
    assert row(rows, f"Xid errors: {window}").verdict == "not judged"  # the cluster has 600 nodes of 2,000
    assert math.isnan(row(rows, f"GSP timeouts: {window}").value)  # nine faults make no burst
    assert row(rows, "mount faults before their check").value == 1
    assert not row(rows, "mount faults before their check").is_inside
    assert row(rows, "mount faults since their check").value == 1


def test_the_failure_rate_is_of_jobs_over_128_gpus() -> None:
    made = SmallLedger()
    large, limit = made.run(gpus=136), made.run(gpus=128)
    for run, nodes in ((large, 17), (limit, 16)):
        failed = made.attempt(run, 0, DAY, NODE_FAIL, nodes=tuple(range(nodes)))
        made.failed(failed, made.fault(0, DAY - 60, EVICT))
        made.attempt(run, 2 * DAY, 5 * DAY, nodes=tuple(range(nodes)))
    made.attempt(large, 9 * DAY, -1, RUNNING, nodes=tuple(range(17)))
    assert values(made)("failure rate r_f of jobs over 128 GPUs") == pytest.approx(1000 / (17 * 5))
