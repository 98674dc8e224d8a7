"""Results of DCGM, NVSentinel, Azure's NHC and event logs become the checks that they are."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.sources.health import reader as health
from assets.sources.translations.result_lines import utc_of, xids_in
from tests.sources.folders import load, make, rows


def read(folder: Path, name: str, text: str, config: str = "") -> duckdb.DuckDBPyConnection:
    return load(make(folder, {f"c1/health/{name}": text, "c1/cluster.toml": config}), readers={"health": health})


def checks(con: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    return rows(con, "select * from raw.health_checks order by line_number")


DIAGNOSIS = """{"DCGM Diagnostic": {"test_categories": [{"category": "Hardware", "tests": [
    {"name": "memory", "results": [{"entity_group": "GPU", "entity_id": 3, "status": "Fail"}]}]}]}}"""
EVENT = {
    "version": 1, "agent": "syslog-health-monitor", "componentClass": "GPU", "checkName": "SysLogsXIDError",
    "isFatal": True, "isHealthy": False, "message": "XID error", "errorCode": ["79"], "nodeName": "node001",
    "entitiesImpacted": [{"entityType": "GPU", "entityValue": "3"}], "generatedTimestamp": "2024-05-01T10:00:00Z",
    "recommendedAction": "RESTART_BM",
}  # fmt: skip


@pytest.mark.parametrize(
    ("event", "result", "codes"),
    [
        (EVENT, "CRITICAL", [79]),
        (EVENT | {"isFatal": False, "errorCode": ["31"]}, "WARN", [31]),
        (EVENT | {"isFatal": False, "isHealthy": True}, "OK", []),
        (EVENT | {"checkName": "SysLogsSXIDError", "errorCode": ["20034"]}, "CRITICAL", []),
        (EVENT | {"checkName": "GpuMemWatch", "errorCode": ["DCGM_FR_VOLATILE_DBE_DETECTED"]}, "CRITICAL", []),
        (
            {"_id": {"$oid": "1"}, "createdAt": {"$date": "2024-05-01T10:00:01Z"}, "healthevent": {
                name.lower(): value for name, value in EVENT.items()
            } | {"generatedtimestamp": {"seconds": {"$numberLong": "1714557600"}}}},
            "CRITICAL", [79],
        ),
        # The event exporter sends CloudEvents.
        (
            {"specversion": "1.0", "type": "com.nvidia.nvsentinel.health.v1", "time": "2024-05-01T10:00:00Z", "data": {
                "metadata": {"cluster": "c1"}, "healthEvent": EVENT | {"recommendedAction": 15}
            }},
            "CRITICAL", [79],
        ),
        # JSON of protocol buffers leaves out what is false.
        ({name: value for name, value in EVENT.items() if name != "isHealthy"}, "CRITICAL", [79]),
    ],
)  # fmt: skip
def test_events_of_nvsentinel(event: dict[str, Any], result: str, codes: list[int], tmp_path: Path) -> None:
    (found,) = checks(read(tmp_path, "events.jsonl", json.dumps(event) + "\n"))
    assert (found["node_name"], found["result"], found["xid_codes"]) == ("node001", result, codes)
    assert found["observed_at"] == datetime(2024, 5, 1, 10)


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("distributed_nhc-17-2024-05-01_14-30-01.health.log", datetime(2024, 5, 1, 12, 30, 1)),
        ("nhc-20240501T143001Z.log", datetime(2024, 5, 1, 14, 30, 1)),
        ("nhc-20240501143001.log", datetime(2024, 5, 1, 12, 30, 1)),
        ("nhc-2024-05-01.log", datetime(2024, 5, 1)),
    ],
)
def test_a_run_of_distributed_nhc_is_as_old_as_the_time_in_its_name(
    name: str, moment: datetime, tmp_path: Path
) -> None:
    text = "node001 | ERROR:  nhc:  Health check failed:  check_gpu_count:  Expected to see 8 but found 7\n"
    (found,) = checks(read(tmp_path, name, text, config='timezone = "Europe/Berlin"'))
    assert (found["node_name"], found["observed_at"]) == ("node001", moment)
    diagnosis_name = name.replace(".health.log", ".json").replace(".log", ".json")
    (found,) = checks(read(tmp_path / "d", f"node001/{diagnosis_name}", DIAGNOSIS, 'timezone = "Europe/Berlin"'))
    assert found["observed_at"] == moment


def test_times_and_xids() -> None:
    moment = datetime(2024, 5, 1, 10)
    for written in (1714557600, 1714557600000, "1714557600", "2024-05-01T10:00:00Z", "2024-05-01T12:00:00+02:00",
                    {"$date": {"$numberLong": "1714557600000"}}):  # fmt: skip
        assert utc_of(written) == moment, written
    wrong: Any
    for wrong in (None, "", "yesterday", True, 1e30, {}, "9" * 18):
        assert utc_of(wrong) is None or utc_of(wrong) != moment
    assert xids_in("no xid here: PCI 0000:9b") == ()
    assert xids_in("Xid (PCI:0002:00:00): 119 and XID error: 79") == (119, 79)
