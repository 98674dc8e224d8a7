"""The tables of the truth are complete, have the right types, and agree with the logs."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assets.simulation.clusters import read_cluster
from assets.simulation.logs.record import Record
from assets.simulation.profiles import HOUR, Burst, Lemon
from assets.simulation.states import ALARM, COMPLETED, CRASH, DRAIN, EVICT, NODE_FAIL, PREEMPTED, RUNNING
from assets.simulation.truth import TABLES, planted, write_truth
from tests.simulation.simulated import Row
from tests.simulation.small_ledger import SmallLedger

FIRST_DAY = replace(
    read_cluster("demo-llm"), first_day=date(2026, 1, 5), node_count=4, days=2, lemons=(), timezone="UTC"
)
EPOCH = 1_767_571_200


def record_of(made: SmallLedger) -> Record:
    return Record(FIRST_DAY, made.frozen(), 1)


def rows(record: Record, table: str) -> list[Row]:
    made: list[Row] = pa.table(TABLES[table](record)).to_pylist()
    return made


def test_false_alarms_and_findings_are_no_incidents() -> None:
    made = SmallLedger()
    made.run()
    failed = made.attempt(0, 100, 1000, NODE_FAIL, nodes=(1, 2))
    made.fault(0, 50, DRAIN)
    struck = made.fault(1, 900, EVICT, others=("gpu_memory",), incident=7, is_shared=True)
    made.fault(3, 920, CRASH, incident=7, is_shared=True, cleared=-1)
    made.fault(2, 950, ALARM)
    made.failed(failed, struck)
    record = record_of(made)
    faults = rows(record, "faults")
    assert [fault["is_false_alarm"] for fault in faults] == [False, False, False, True]
    assert [fault["co_occurring"] for fault in faults] == [[], ["gpu_memory"], [], []]
    assert [fault["failed_attempt_count"] for fault in faults] == [0, 1, 0, 0]
    assert rows(record, "incidents") == [
        {"incident_number": 7, "category": "ib_link", "started_epoch": EPOCH + 900, "ended_epoch": None}
        | {"fault_count": 2, "node_count": 2, "failed_attempt_count": 1, "is_shared": True}
    ]
    summary = planted(record)
    assert (summary["fault_count"], summary["drain_count"], summary["alarm_count"]) == (2, 1, 1)


def test_true_rates_are_failures_over_node_days() -> None:
    made = SmallLedger()
    small, large = made.run(gpus=8), made.run(gpus=256)
    attempt = made.attempt(small, 0, 6 * HOUR, NODE_FAIL, nodes=(0,))
    two = made.attempt(large, 0, 12 * HOUR, NODE_FAIL, nodes=tuple(range(32)))
    made.attempt(large, 36 * HOUR, -1, RUNNING, nodes=tuple(range(32)))
    fault = made.fault(0, 60, EVICT)
    made.failed(attempt, fault)
    made.failed(two, fault)
    summary = planted(record_of(made))
    assert summary["attempt_node_days"] == pytest.approx(0.25 + 16 + 16)
    assert summary["failures_per_1000_node_days_gt_128"] == pytest.approx(1000 / 32)
    assert summary["failures_per_1000_node_days"] == pytest.approx(2000 / 32.25, abs=1e-4)
    assert summary["incidents_per_1000_node_days"] == pytest.approx(1000 / 32.25, abs=1e-4)
    assert summary["failed_attempt_count_visible"] == 2


def test_wallclock_is_queue_and_run_and_the_checkpoints_are_the_runs_own() -> None:
    made = SmallLedger()
    run, waiting = made.run(checkpoint=1800), made.run(checkpoint=2700)
    made.attempt(run, 100, 1100, PREEMPTED, eligible=40, productive=600)
    made.attempt(run, 2000, 2500, COMPLETED, eligible=1950, productive=480)
    made.attempt(waiting, -1, -1, state=1, nodes=(), eligible=2 * 86400 - 500)
    first, second = rows(record_of(made), "runs")
    assert (first["true_productive_seconds"], first["wallclock_seconds"]) == (1080, 60 + 1000 + 50 + 500)
    assert (first["attempt_count"], second["attempt_count"]) == (2, 1)
    assert (first["checkpoint_seconds"], second["checkpoint_seconds"]) == (1800, 2700)
    assert (first["is_ended"], second["is_ended"]) == (True, False)
    assert (second["wallclock_seconds"], second["job_name"][-6:]) == (500, "-00abc")


def test_a_nodes_rate_is_its_mean_over_the_days_with_those_of_the_bursts() -> None:
    bursts = (
        Burst(0.5, 1.5, "gpu_memory", 0.03),
        Burst(1, 9, "ib_link", 0.2, positions=(0.0, 0.1, 0.8)),
        Burst(5, 9, "pcie", 7.0),
    )
    profile = replace(FIRST_DAY, fault_rate=0.01, lemons=(Lemon(0.3, "GPU", 0.5),), bursts=bursts)
    record = Record(profile, SmallLedger().frozen(), 1)
    # Two of the three positions are on the first of four nodes, one on the last. The third burst comes after the end.
    rates = [0.01 + 0.015 + 0.2, 0.5 + 0.015, 0.01 + 0.015, 0.01 + 0.015 + 0.1]
    found = [row["faults_per_1000_node_days"] for row in rows(record, "nodes")]
    assert found == pytest.approx([1000 * rate for rate in rates])
    assert planted(record)["faults_per_1000_node_days"] == pytest.approx(1000 * sum(rates) / 4)


def test_an_empty_cluster_has_all_its_tables(tmp_path: Any) -> None:
    record = record_of(SmallLedger())
    write_truth(record, tmp_path)
    counts = {name: pq.read_metadata(tmp_path / f"{name}.parquet").num_rows for name in TABLES}
    assert counts == dict.fromkeys(TABLES, 0) | {"nodes": 4, "months": 1, "populations": 2}
