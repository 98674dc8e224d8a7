"""Holding simulated clusters against the paper: the measures in ledgers made by hand, then a part and the whole."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from assets.simulation import states
from assets.simulation.clusters import read_cluster
from assets.simulation.ledger import Symptoms
from assets.simulation.profiles import DAY, HOUR, Lemon
from tests.calibration import figures
from tests.calibration.figures import (
    DAYS,
    ROOT_CAUSES,
    calibrate,
    calibrate_clusters,
    calibrate_profile,
    compare,
    total,
)
from tests.calibration.observed import Observed
from tests.calibration.rows import (
    SCALE,
    Estimate,
    Part,
    about,
    above,
    below,
    between,
    exactly,
    judged,
    near,
    rate,
    ratio,
    share,
)
from tests.simulation.small_ledger import SmallLedger, site

LINK_CHECK = Symptoms(checks=[("check ibstat", "ib link mlx5_0 is down.")])
FLAPPING = Symptoms(checks=[("link flaps", "ib link flap detected.\n")])
XID = "NVRM: Xid (PCI:0000:07:00): {}, text"


def observe(made: SmallLedger, **changes: object) -> Observed:
    return Observed(site(**changes), made.frozen())


def values(seen: Observed) -> dict[str, float]:
    """Give the values of a cluster by quantity; the first, where the paper has two of a name."""
    return {row.quantity: row.seen.value for row in reversed(calibrate(seen))}


def test_failures_are_what_the_logs_show() -> None:
    made, end = SmallLedger(), 10_000
    run = made.run()

    def attempt(node: int, state: int, ended: int = end) -> int:
        return made.attempt(run, 100, ended, state, nodes=(node,))

    lost, crashed, silent, remedied = (
        attempt(n, s) for n, s in enumerate((states.NODE_FAIL, states.FAILED, states.FAILED, states.REQUEUED))
    )
    made.failed(lost, made.fault(0, end, states.LOST, "main_memory", has_evidence=False, symptoms=Symptoms()))
    made.failed(crashed, made.fault(1, end - 60, states.CRASH, "pcie"))
    made.failed(silent, made.fault(2, end - 60, states.CRASH, "pcie", has_evidence=False, symptoms=Symptoms()))
    made.failed(remedied, made.fault(3, end - 200, states.REQUEUE))
    for node, lag in ((4, 300), (5, -600)):  # by chance, at both edges of the window
        made.fault(node, end + lag, states.ALARM, "pcie", symptoms=LINK_CHECK)
    chance = [attempt(4, states.FAILED), attempt(5, states.REQUEUED)]
    # Too late, too early, not critical, low severity, a good end, before the attempt, another node.
    for node, at, mechanism, symptoms in (
        (6, end + 301, states.ALARM, LINK_CHECK),
        (7, end - 601, states.ALARM, LINK_CHECK),
        (8, end, states.ALARM, FLAPPING),
        (9, end, states.DRAIN, LINK_CHECK),
        (10, end, states.ALARM, LINK_CHECK),
        (11, 50, states.ALARM, LINK_CHECK),
    ):
        made.fault(node, at, mechanism, symptoms=symptoms)
    for node in (6, 7, 8, 9, 12):
        attempt(node, states.FAILED)
    attempt(10, states.COMPLETED)
    attempt(11, states.FAILED, ended=150)
    seen = observe(made)
    found = dict(zip(seen.failures.attempt.tolist(), seen.failures.category.tolist(), strict=True))
    named = {lost: "node_fail_unattributed", crashed: "pcie", remedied: "ib_link"}
    assert found == named | dict.fromkeys(chance, "ib_link")
    assert seen.failures.is_chance.tolist() == [False, False, False, True, True]
    assert seen.failures.node.tolist() == [0, 1, 3, 4, 5]
    assert np.flatnonzero(seen.is_failed).tolist() == sorted(found)


def test_states_load_and_sizes_are_those_of_the_attempts() -> None:
    made = SmallLedger()
    small, large = made.run(gpus=1), made.run(gpus=4096)
    for number, state in enumerate([states.COMPLETED] * 6 + [states.FAILED] * 2 + [states.TIMEOUT, states.CANCELLED]):
        made.attempt(small, 1000 + number, 1000 + number + HOUR, state)
    failed = made.attempt(large, DAY + DAY // 2, 2 * DAY, states.NODE_FAIL, nodes=tuple(range(512)))
    made.failed(failed, made.fault(0, 2 * DAY - 300, states.EVICT))
    made.attempt(large, 9 * DAY, -1, states.RUNNING, nodes=tuple(range(512)))
    made.attempt(small, -1, -1, 1, nodes=())
    made.attempt(small, -1, 500, states.CANCELLED, nodes=())
    seen = observe(made)
    used, large_time = 10 * HOUR + 4096 * (DAY // 2 + DAY), 4096 * DAY / 2
    expected = {
        "attempts COMPLETED": 100 * 6 / 12,
        "attempts CANCELLED": 100 * 2 / 12,
        "attempts failed by infrastructure": 100 / 12,
        "jobs of 1 GPU": 100 * 10 / 11,
        "jobs per day": 13 / 10,
        "utilization": 100 * used / (600 * 8 * 10 * DAY),
        "longest attempt": 24,
        "GPU time of jobs of 256 GPUs and more": 100 * large_time / (10 * HOUR + large_time),
        "failure rate r_f of jobs over 128 GPUs": 1000 / (512 * 1.5),
    }
    assert {name: values(seen)[name] for name in expected} == pytest.approx(expected)
    of_days = [10 * HOUR, 4096 * DAY / 2, 0, 0, 0, 0, 0, 0, 0, 4096 * DAY]
    assert figures.daily_gpu_seconds(seen).tolist() == of_days


def test_symptoms_that_come_together_are_counted_by_fault() -> None:
    made, xid = SmallLedger(), (0.1, XID.format(79))
    run, interrupt = made.run(), ("ipmitool sel", "Detected error: Critical Interrupt #0x90, Bus Fatal Error")
    checks = [("xid errors", "XID error: 79, XID causes: x. "), interrupt]
    shown = {
        "pcie": [
            Symptoms([(0.0, "AER")]),
            Symptoms([(0.0, "AER"), xid], others=("gpu_unavailable",)),
            Symptoms([(0.0, "AER"), xid], [interrupt], others=("gpu_unavailable", "pcie")),
            Symptoms([(0.0, "AER")], checks, others=("gpu_memory",)),
        ],
        "ib_link": [Symptoms([(0.0, "Link down")], others=("gpu_nvlink",)), *[LINK_CHECK] * 3],
        "eth_link": [Symptoms([(0.0, "Link down")], others=("system_services",))],
        "filesystem_mount": [Symptoms([(0.0, "nfs")], others=("ib_link",))],
    }
    for category, all_symptoms in shown.items():
        for node, symptoms in enumerate(all_symptoms):
            fault = made.fault(node, 800, states.EVICT, category, symptoms=symptoms)
            for _ in range(2):
                made.failed(made.attempt(run, 0, 900, states.NODE_FAIL, nodes=(node,)), fault)
    seen = observe(made)
    together = {row.quantity: row.seen.value for row in calibrate(seen) if row.figure == "4"}
    assert list(together.values())[2:] == pytest.approx([75, 50, 25, 100 * 3 / 9])  # the mount is no hardware


def test_losses_crash_loops_and_ettr_of_large_runs() -> None:
    made, nodes = SmallLedger(), tuple(range(256))
    large, loop, small = made.run(gpus=2048, qos=2), made.run(gpus=1024), made.run(gpus=16)
    failed = made.attempt(large, 600, 600 + 12 * HOUR, states.NODE_FAIL, nodes=nodes, eligible=0)
    made.failed(failed, made.fault(0, 600 + 12 * HOUR - 30, states.EVICT))
    made.attempt(large, 14 * HOUR, 14 * HOUR + 200, states.PREEMPTED, nodes=nodes, eligible=14 * HOUR)
    made.attempt(large, 15 * HOUR, 28 * HOUR, states.FAILED, nodes=nodes, eligible=15 * HOUR - 100)
    for number in range(5):
        attempt = made.attempt(
            loop, number * HOUR, number * HOUR + HOUR // 2, states.COMPLETED if number == 4 else states.NODE_FAIL
        )
        if number < 4:
            made.failed(attempt, made.fault(300, number * HOUR + HOUR // 2 - 60, states.EVICT))
        victim = made.attempt(small, 0, 3 * HOUR, states.PREEMPTED, nodes=(400, 401))
        made.preempted(victim, attempt, number > 0)
    for gpus, qos, hours in ((2048, 1, 30), (1024, 2, 30), (4096, 2, 23)):
        made.attempt(made.run(gpus=gpus, qos=qos), 0, hours * HOUR, nodes=nodes)
    seen = observe(made)
    productive = (12 * HOUR - 300 - 1800) + 0 + (13 * HOUR - 300)
    wallclock = (600 + 12 * HOUR) + 200 + (100 + 13 * HOUR)
    assert figures.run_ettr(seen).tolist() == pytest.approx([productive / wallclock])
    first, second = 1024 + 4 * 512, 4 * 16 / 2
    assert figures.second_order_loss(seen).value == pytest.approx(100 * second / (first + second))
    assert figures.loss_of_large_jobs(seen).value == pytest.approx(100 * 1024 / (first + second))
    assert figures.crash_loop(seen) == (4, 5)


def test_lemons_and_bursts() -> None:
    made = SmallLedger()
    lemons = (Lemon(0.0, "GPU", 0.2), Lemon(0.5, "DIMM", 0.2), Lemon(0.5001, "DIMM", 0.2))
    small, large = made.run(gpus=8), made.run(gpus=512)
    for node in range(4):
        made.attempt(small, 100, 200, nodes=(node,))
    for start, culprit in ((10, 300), (200, 1)):
        failed = made.attempt(large, DAY, DAY + 900, states.NODE_FAIL, nodes=tuple(range(start, start + 64)))
        made.failed(failed, made.fault(culprit, DAY + 800, states.EVICT))
    seen = observe(made, lemons=lemons)
    assert [row.seen.value for row in calibrate(seen) if row.figure == "11"] == pytest.approx([2, 1 / 3, 12.5, 100, 50])
    steady = np.arange(300)
    assert figures.peak(np.concatenate([steady, np.repeat(np.arange(120, 150), 2)]), 300) == (3.0, 120)
    assert figures.peak(np.full(12, 200), 300)[0] == math.inf
    assert math.isnan(figures.peak(np.arange(40), 40)[0]) and math.isnan(figures.peak(np.arange(9), 300)[0])


def test_errors_and_ranges() -> None:
    assert share(np.arange(100) < 20).error == pytest.approx(100 * math.sqrt(0.2 * 0.8 / 100), rel=0.01)
    # Agresti and Coull: as if one more of either had been seen.
    assert share(np.zeros(4, np.bool_)).error == pytest.approx(100 * math.sqrt(5 / 36 / 6))
    found = ratio(np.array([97.0, 0, 0, 0]), np.array([97.0, 1, 1, 1]), 100)
    assert (found.value, found.error) == pytest.approx((97, math.sqrt((97 * 0.03) ** 2 + 3 * 0.97**2)))
    assert (rate(np.arange(9), 10.0, 1000).error, rate(np.zeros(9, np.int64), 10.0, 1000).error) == (300, 900)
    for band, inside, outside in (
        (near(60, 0.5), 59.5, 59.4),
        (about(6.5, 5), 6.18, 6.17),
        (above(40), 40, math.nan),
        (below(1), 1, 1.1),
        (between(2, 4, "about three"), 4, 4.1),
    ):
        assert band.low <= inside <= band.high and not band.low <= outside <= band.high
    for part, verdicts in ((Part(True, True), ["no", "no", "no"]), (Part(False, True), ["yes"] + ["not judged"] * 2)):
        rows = [
            judged(("3", "share", "rsc1"), Estimate(61, 0.5), near(60, 0.5), "%", (), part),
            judged(("3", "nodes", "rsc1"), 250, exactly(2000), "", (SCALE,), part),
            judged(("3", "nothing", "rsc1"), math.nan, near(1, 1), "%", (), part),
        ]
        assert [row.verdict for row in rows] == verdicts


def test_each_cluster_has_every_value_the_paper_gives_of_it_and_an_empty_one_none() -> None:
    empty = {
        name: observe(SmallLedger(), cluster_id=name, node_count=n, days=DAYS) for name, n in figures.NODES.items()
    }
    rows = {name: calibrate(seen) for name, seen in empty.items()}
    counts = {name: Counter(row.figure for row in found) for name, found in rows.items()}
    assert counts["rsc1"] == {"": 10, "3": 11, "4": 6, "5": 6, "6": 6, "7": 1, "8": 4, "9": 1, "11": 5}
    assert counts["rsc2"] == {"": 10, "3": 1, "4": 4, "6": 1, "7": 1, "11": 2}
    inside = {row.quantity for row in rows["rsc1"] if row.is_judged and row.is_inside}
    assert inside == {"nodes", "GPUs", "GPUs per node", "period", "longest attempt", "time between health checks"}
    assert sum(ROOT_CAUSES.values()) == 39
    assert not any(row.is_inside for row in compare(total(empty["rsc1"]), total(empty["rsc2"])) if row.figure != "3")


PART_DIFFERS: dict[str, dict[str, tuple[float, float]]] = {
    "rsc1": {
        # Half of all preemptions make room for jobs of 1,024 GPUs and more, and 250 nodes have none of these.
        "attempts PREEMPTED": (3.0, 9.0),
        "attempts COMPLETED": (61.0, 65.0),
        "attempts FAILED": (23.5, 26.5),
        # The crash loop is later, and the three lemons of the part (GPU, PCIe, EUD) fail with a trace each time.
        "failures without a cause": (0.0, 10.0),
    },
    "rsc2": {},
}
"""Limits of quantities that an eighth of the nodes over 40 days must show otherwise than the whole."""


@pytest.mark.parametrize("cluster", [pytest.param("rsc1", marks=pytest.mark.slow), "rsc2"])
def test_a_part_of_the_clusters_is_like_the_paper(cluster: str) -> None:
    rows, _ = calibrate_profile(1, read_cluster(cluster).resized(40, 1 / 8))
    judged_rows = [row for row in rows if row.is_judged]
    limits = {row.quantity: (row.band.low, row.band.high) for row in judged_rows} | PART_DIFFERS[cluster]
    assert len(judged_rows) >= 10 and limits.keys() == {row.quantity for row in judged_rows}
    for row in judged_rows:
        low, high = limits[row.quantity]
        assert low <= row.seen.value <= high, row


@pytest.mark.slow
def test_the_whole_clusters_are_like_the_paper() -> None:
    rows = calibrate_clusters(1.0, None, 1)
    assert all(row.is_judged for row in rows)
    outside = {(row.figure, row.quantity, row.cluster): row.seen.value for row in rows if not row.is_inside}
    # 17.9% of GPU time instead of 18.2 to 19.2, as the page says; runs of other seeds lie on both sides.
    assert outside == {("3", "their GPU time", "rsc1"): pytest.approx(17.9, abs=0.05)}
