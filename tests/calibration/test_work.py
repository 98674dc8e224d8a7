"""Load, states, sizes, lost goodput, ETTR and lemons, each in a ledger with a known answer."""

from __future__ import annotations

import numpy as np
import pytest
from tests.calibration.judging import observe, values
from tests.calibration.losses import run_ettr, size_bins
from tests.calibration.work import daily_gpu_seconds

from assets.simulation.profiles import DAY, HOUR, Lemon
from assets.simulation.states import (
    CANCELLED,
    COMPLETED,
    EVICT,
    FAILED,
    NODE_FAIL,
    PENDING,
    PREEMPTED,
    REQUEUE,
    REQUEUED,
    RUNNING,
    TIMEOUT,
)
from tests.calibration import calibrate
from tests.simulation.small_ledger import SmallLedger, site


def test_states_and_the_load() -> None:
    made = SmallLedger()
    small, large = made.run(gpus=1), made.run(gpus=4096)
    for number, state in enumerate([COMPLETED] * 6 + [FAILED] * 2 + [TIMEOUT, CANCELLED]):
        made.attempt(small, 1000 + number, 1000 + number + HOUR, state)
    end = 2 * DAY
    failed = made.attempt(large, DAY + DAY // 2, end, NODE_FAIL, nodes=tuple(range(512)))
    made.failed(failed, made.fault(0, end - 300, EVICT))
    made.attempt(large, 9 * DAY, -1, RUNNING, nodes=tuple(range(512)))
    made.attempt(small, -1, -1, PENDING, nodes=())
    made.attempt(small, -1, 500, CANCELLED, nodes=())
    look = values(made)
    assert look("attempts COMPLETED") == pytest.approx(100 * 6 / 12)
    assert look("attempts CANCELLED") == pytest.approx(100 * 2 / 12)
    assert look("attempts NODE_FAIL") == look("attempts failed by infrastructure") == pytest.approx(100 / 12)
    assert look("jobs of 1 GPU") == pytest.approx(100 * 10 / 11)
    assert look("jobs per day") == pytest.approx(13 / 10)
    used = 10 * HOUR + 4096 * (DAY // 2 + DAY)
    assert look("utilization") == pytest.approx(100 * used / (600 * 8 * 10 * DAY))
    assert look("longest attempt") == 24
    assert look("GPU time of jobs of 256 GPUs and more") == pytest.approx(
        100 * 4096 * DAY / 2 / (10 * HOUR + 4096 * DAY / 2)
    )


def test_gpu_time_falls_on_its_days() -> None:
    made = SmallLedger()
    made.attempt(made.run(gpus=8), DAY - 100, DAY + 300)
    made.attempt(made.run(gpus=2), 3 * DAY, 5 * DAY)
    made.attempt(made.run(gpus=1), 9 * DAY + 10, -1, RUNNING)
    expected = [800, 2400, 0, 2 * DAY, 2 * DAY, 0, 0, 0, 0, DAY - 10]
    assert daily_gpu_seconds(observe(made)).tolist() == expected


def test_sizes_by_jobs_and_by_gpu_time() -> None:
    made = SmallLedger()
    for gpus, nodes in ((1, 1), (1, 1), (8, 1), (256, 32), (4096, 512)):
        made.attempt(made.run(gpus=gpus), 0, HOUR, nodes=tuple(range(nodes)))
    rows = calibrate(site(), made.frozen())
    whole = 1 + 1 + 8 + 256 + 4096
    of_figure = [round(row.value, 6) for row in rows if row.figure == "6"]
    expected = [40, 60, 100 * 10 / whole, 20, 100 * 4096 / whole, 100 * 4352 / whole]
    assert of_figure == [round(value, 6) for value in expected]


def test_preemption_and_requeue_rules() -> None:
    made = SmallLedger()
    run = made.run()
    made.attempt(run, 0, 2 * HOUR + 60, PREEMPTED)
    made.attempt(run, 0, 3 * HOUR, PREEMPTED)
    for requeued_at in (501, -1):
        attempt = made.attempt(run, 0, 500, REQUEUED, requeued_at=requeued_at)
        made.failed(attempt, made.fault(0, 400, REQUEUE))
    look = values(made)
    assert look("shortest run before a preemption") == pytest.approx(2 + 1 / 60)
    assert look("attempts ended by a check's remedy that are requeued under their id") == 50
    assert look("time between health checks") == 5


def test_lost_goodput_first_and_second_order() -> None:
    made = SmallLedger()
    large, small = made.run(gpus=2048), made.run(gpus=16)
    failed = made.attempt(large, 0, 5 * HOUR, NODE_FAIL, nodes=tuple(range(256)))
    made.failed(failed, made.fault(0, 5 * HOUR - 60, EVICT))
    early = made.attempt(small, 0, 900, NODE_FAIL, nodes=(300, 301))
    made.failed(early, made.fault(300, 800, EVICT))
    restart = made.attempt(large, 6 * HOUR, 9 * HOUR, nodes=tuple(range(256)))
    for is_second_order, run in ((True, small), (True, small), (False, large)):
        victim = made.attempt(run, 0, 3 * HOUR, PREEMPTED, nodes=(400, 401))
        made.preempted(victim, restart, is_second_order)
    look = values(made)
    first, second = 1024 + 16 / 4, 2 * 16 / 2
    assert look("lost goodput that is second order") == pytest.approx(100 * second / (first + second))
    assert look("lost goodput of jobs of 2,048 and 4,096 GPUs") == pytest.approx(100 * 1024 / (first + second))
    assert size_bins(np.array([1, 3, 8, 9, 2049], np.int32)).tolist() == [1, 4, 8, 16, 4096]


def test_the_crash_loop_is_the_worst_of_its_size() -> None:
    made = SmallLedger()
    loops = {made.run(gpus=1024): 4, made.run(gpus=1024): 6, made.run(gpus=512): 9}
    for run, count in loops.items():
        for number in range(count + 1):
            start = number * 1000
            attempt = made.attempt(run, start, start + 500, NODE_FAIL if number < count else COMPLETED)
            made.preempted(made.attempt(made.run(), 0, start, PREEMPTED), attempt, True)
            if number < count:
                made.failed(attempt, made.fault(0, start + 400, EVICT))
    look = values(made)
    assert look("crash loop of 1,024 GPUs: requeues") == 6
    assert look("crash loop of 1,024 GPUs: preemptions") == 7


def test_ettr_of_the_largest_runs() -> None:
    made = SmallLedger()
    nodes, top = tuple(range(256)), {"qos": 2}
    run = made.run(gpus=2048, **top)
    failed = made.attempt(run, 600, 600 + 12 * HOUR, NODE_FAIL, nodes=nodes, eligible=0)
    made.failed(failed, made.fault(0, 600 + 12 * HOUR - 30, EVICT))
    made.attempt(run, 14 * HOUR, 14 * HOUR + 200, PREEMPTED, nodes=nodes, eligible=14 * HOUR)
    made.attempt(run, 15 * HOUR, 28 * HOUR, FAILED, nodes=nodes, eligible=15 * HOUR - 100)
    made.attempt(made.run(gpus=4096, **top), 0, 30 * HOUR, TIMEOUT, nodes=nodes)
    for gpus, qos, hours in ((2048, 1, 30), (1024, 2, 30), (4096, 2, 23)):
        made.attempt(made.run(gpus=gpus, qos=qos), 0, hours * HOUR, nodes=nodes)
    productive = (12 * HOUR - 300 - 1800) + 0 + (13 * HOUR - 300)
    wallclock = (600 + 12 * HOUR) + 200 + (100 + 13 * HOUR)
    assert run_ettr(observe(made)).tolist() == pytest.approx(
        [productive / wallclock, (30 * HOUR - 300 - 1800) / (30 * HOUR)]
    )


def test_lemons_and_the_jobs_they_touch() -> None:
    made = SmallLedger()
    lemons = (Lemon(0.0, "GPU", 0.2), Lemon(0.5, "DIMM", 0.2), Lemon(0.5001, "DIMM", 0.2))
    small, large = made.run(gpus=8), made.run(gpus=512)
    for node in (0, 1, 2, 3):
        made.attempt(small, 100, 200, nodes=(node,))
    for first in (0, 100):
        made.attempt(large, DAY + 100, DAY + 500, nodes=tuple(range(first, first + 64)))
    for start, culprit in ((10, 300), (200, 1)):
        failed = made.attempt(large, 2 * DAY, 2 * DAY + 900, NODE_FAIL, nodes=tuple(range(start, start + 64)))
        made.failed(failed, made.fault(culprit, 2 * DAY + 800, EVICT))
    look = values(made, lemons=lemons)
    assert look("lemon nodes") == 2
    assert look("their share of the fleet") == pytest.approx(100 * 2 / 600)
    assert look("their share of daily jobs") == pytest.approx((25 + 50 + 0) / 3)
    large_jobs = "jobs of 512 GPUs and more that failed by infrastructure"
    assert (look(large_jobs), look(f"{large_jobs}, not by a lemon")) == (50, 25)
