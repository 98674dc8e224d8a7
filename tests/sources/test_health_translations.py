"""Results of DCGM, gpud, NVSentinel, Azure's NHC and event logs become the checks that they are."""

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


def quarantined(con: duckdb.DuckDBPyConnection) -> dict[int, str]:
    return {row["line_number"]: row["reason"] for row in rows(con, "select line_number, reason from ops.quarantine")}


def diagnosis(title: str, *tests: tuple[str, dict[str, Any]]) -> str:
    listed = [{"name": name, "results": [result]} for name, result in tests]
    return json.dumps(
        {title: {"version": "3.1", "test_categories": [{"category": "Hardware", "tests": listed}]}}, indent=2
    )


DIAGNOSES = {
    "DCGM 2 and 3": diagnosis(
        "DCGM GPU Diagnostic",
        ("GPU Memory", {"gpu_ids": "3", "status": "Fail", "warnings": "A DBE occurred"}),
        ("PCIe", {"gpu_ids": "0,1", "status": "Pass"}),
        ("Targeted Power", {"gpu_id": "0", "status": "Skip"}),
    ),
    "DCGM 4": diagnosis(
        "DCGM Diagnostic",
        ("memory", {"entity_group": "GPU", "entity_id": 3, "status": "Fail",
                    "warnings": [{"warning": "A DBE occurred", "error_id": 4, "error_severity": 1}]}),
        ("pcie", {"entity_group": "GPU", "entity_id": 0, "status": "Pass"}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("version", DIAGNOSES)
def test_a_diagnosis_names_the_tests_that_failed(version: str, tmp_path: Path) -> None:
    (found,) = checks(read(tmp_path, "node001/diag-20240501.json", DIAGNOSES[version]))
    shown = ("node_name", "check_name", "result", "result_quality", "observed_at")
    assert [found[name] for name in shown] == [
        "node001", "check dcgmi diag", "CRITICAL", "ran", datetime(2024, 5, 1),
    ]  # fmt: skip
    assert "emory failed on GPU 3: A DBE occurred" in found["message"]


@pytest.mark.parametrize(
    ("status", "result", "quality"),
    [("Pass", "OK", "ran"), ("Warn", "WARN", "ran"), ("Skip", "UNKNOWN", "could_not_run")],
)
def test_other_verdicts_of_a_diagnosis(status: str, result: str, quality: str, tmp_path: Path) -> None:
    text = diagnosis("DCGM Diagnostic", ("pcie", {"entity_id": 0, "status": status}))
    (found,) = checks(read(tmp_path, "node001.20240501.json", text))
    assert (found["node_name"], found["result"], found["result_quality"]) == ("node001", result, quality)


def test_a_diagnosis_of_nobody_is_quarantined(tmp_path: Path) -> None:
    assert quarantined(read(tmp_path, "diag.json", DIAGNOSES["DCGM 4"])) == {1: "missing_time_or_node"}


SEL = """   1 |  Pre-Init  |0000000089| Power Supply #0x51 | Presence detected | Asserted
   2 | 04/24/2024 | 13:58:36 | Critical Interrupt #0x90 | Bus Fatal Error | Asserted
  a1 | 03/04/24 | 23:09:44 CET | Critical Interrupt #0x90 | Bus Fatal Error | Asserted
   4 | 04/24/2024 | 11:09:44 PM CEST | Memory #0x53 | Uncorrectable ECC | Asserted | DIMM A1
   5 | 04/24/2024 | 13:59:00 | Power Supply #0x51 | Power Supply AC lost | Deasserted
   6 | OEM record c0 | 000137 | 000000000000
   7 | 04/24/2024 | 14:00:00 | Event Logging Disabled #0x10 | Log area reset/cleared | Asserted
   8 | 13/45/2024 | 14:00:00 | Memory | Uncorrectable ECC | Asserted
"""


def test_an_event_log_of_ipmitool(tmp_path: Path) -> None:
    con = read(tmp_path, "node001.sel.log", SEL, 'timezone = "UTC"')
    found = [(row["line_number"], row["node_name"], row["check_name"], row["observed_at"]) for row in checks(con)]
    assert found == [
        (2, "node001", "ipmitool sel", datetime(2024, 4, 24, 13, 58, 36)),
        (4, "node001", "ipmitool sel", datetime(2024, 4, 24, 21, 9, 44)),
    ]
    assert {row["result"] for row in checks(con)} == {"CRITICAL"}
    assert "Critical Interrupt #0x90, Bus Fatal Error, Asserted" in checks(con)[0]["message"]
    assert quarantined(con) == {1: "no_event_time", 3: "ambiguous_date", 8: "bad_timestamp"}
    assert rows(con, "select reason, line_count from ops.skips where path like '%sel%'") == [
        {"reason": "not_relevant", "line_count": 3}
    ]


def test_of_an_hour_that_comes_twice_the_order_of_an_event_log_tells_the_pass(tmp_path: Path) -> None:
    clocks = ("02:40:00", "02:10:00", "02:50:00", "03:10:00")
    text = "".join(
        f" {number} | 10/27/2024 | {clock} | Critical Interrupt #0x90 | Bus Fatal Error | Asserted\n"
        for number, clock in enumerate(clocks, 1)
    )
    found = checks(read(tmp_path, "node001.sel.log", text, 'timezone = "Europe/Berlin"'))
    assert [f"{row['observed_at']:%H:%M}" for row in found] == ["00:40", "01:10", "01:50", "02:10"]


def test_an_event_log_of_freeipmi_and_one_in_csv(tmp_path: Path) -> None:
    free = (
        "ID,Date,Time,Name,Type,Event\n1,Dec-24-2022,13:58:36,PSU1,Power Supply,Power Supply input lost (AC/DC)\n"
        "2,PostInit,PostInit,PSU1,Power Supply,Power Supply input lost (AC/DC)\n"
    )
    con = read(tmp_path / "f", "node001/sel.csv", free, 'timezone = "Europe/Berlin"')
    assert quarantined(con) == {3: "no_event_time"}
    (found,) = checks(con)
    assert found["observed_at"] == datetime(2022, 12, 24, 12, 58, 36)
    comma = "1,04/24/2024,13:58:36,Memory #0x53,Uncorrectable ECC,Asserted\n"
    (found,) = checks(read(tmp_path / "c", "node001/sel.csv", comma))
    assert "Uncorrectable ECC" in found["message"]


def test_events_and_states_of_gpud(tmp_path: Path) -> None:
    text = json.dumps([
        {"component": "accelerator-nvidia-error-xid", "events": [
            {"time": "2024-05-01T10:00:00.123456789Z", "name": "error_xid", "type": "Fatal",
             "message": "XID 79 (PCI:0000:9b:00) GPU has fallen off the bus"},
            {"time": "2024-05-01T10:00:01Z", "name": "reboot", "type": "Info", "message": "boot"},
        ]},
        {"component": "disk", "states": [{"time": "2024-05-01T10:00:02Z", "health": "Healthy", "reason": "ok"}]},
        {"component": "cpu", "events": []},
    ], indent=1)  # fmt: skip
    con = read(tmp_path, "node001/events.json", text)
    found = [(row["check_name"], row["result"], row["xid_codes"], row["observed_at"].second) for row in checks(con)]
    assert found == [("accelerator-nvidia-error-xid", "CRITICAL", [79], 0), ("disk", "OK", [], 2)]
    skips = rows(con, "select reason from ops.skips where path like '%events.json' order by reason")
    assert [row["reason"] for row in skips] == ["no_records", "not_relevant"]


def test_one_component_of_gpud(tmp_path: Path) -> None:
    text = json.dumps({"component": "accelerator-nvidia-infiniband", "states": [
        {"time": "2024-05-01T10:00:02Z", "health": "Unhealthy", "reason": "port 3 down"}]})  # fmt: skip
    (found,) = checks(read(tmp_path, "node001.json", text))
    assert (found["node_name"], found["result"], found["message"]) == ("node001", "CRITICAL", "port 3 down")


def test_events_and_states_of_gpud_under_info(tmp_path: Path) -> None:
    """`/v1/info` tells both of a component, with its metrics, in an object of their own."""
    info = {
        "states": [{"time": "2024-05-01T10:00:02Z", "health": "Degraded", "reason": "1 row pending"}],
        "events": [{"time": "2024-05-01T10:00:01Z", "name": "row_remapping", "type": "Warning", "message": "pending"}],
        "metrics": [{"unix_seconds": 1714557600, "name": "remapped_rows", "value": 1}],
    }
    text = json.dumps([
        {"component": "accelerator-nvidia-remapped-rows", "startTime": "2024-05-01T00:00:00Z", "info": info},
        {"component": "cpu", "info": {"states": None, "events": [], "metrics": []}},
    ])  # fmt: skip
    con = read(tmp_path, "node001/info.json", text)
    found = [(row["check_type"], row["result"], row["observed_at"].second) for row in checks(con)]
    assert found == [("event", "WARN", 1), ("periodic", "WARN", 2)]
    assert [row["reason"] for row in rows(con, "select reason from ops.skips where path like '%info.json'")] == [
        "no_records"
    ]


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


def test_the_table_of_azure_nhc(tmp_path: Path) -> None:
    text = (
        "Timestamp,JobName,Hostname,Healthy,RawResult\n"
        '2024-05-01T10:00:00Z,nhc-1,node001,false,"ERROR:  nhc:  Health check failed:  check_gpu_xid: GPU Xid errors '
        'detected: [Wed May 1] NVRM: Xid (PCI:0002:00:00): 119, FaultCode: NHC2010"\n'
        "2024-05-01T10:00:00Z,nhc-1,node001,true,Healthy\n"
        "2024-05-01T10:00:00Z,nhc-1,node001,false,No results reported\nx,y\n"
    )
    con = read(tmp_path, "nhc.csv", text)
    found = [(row["check_name"], row["result"], row["xid_codes"]) for row in checks(con)]
    assert found == [("check_gpu_xid", "CRITICAL", [119]), ("nhc", "OK", []), ("nhc", "UNKNOWN", [])]
    assert quarantined(con) == {5: "field_count"}


def test_the_table_of_azure_nhc_in_any_order_and_with_tabs(tmp_path: Path) -> None:
    text = (
        "Hostname\tHealthy\tRawResult\tTimestamp\nnode001\tFalse\tERROR:  nhc:  Health check failed:  check_hw_ib:  x"
    )
    con = read(tmp_path, "nhc.tsv", f"{text}\t2024-05-01T10:00:00Z\n")
    (found,) = checks(con)
    assert (found["node_name"], found["check_name"], found["observed_at"]) == (
        "node001",
        "check_hw_ib",
        datetime(2024, 5, 1, 10),
    )
    document = '[{"Timestamp": "2024-05-01T10:00:00Z", "Hostname": "node001", "Healthy": false}]\n'
    refused = rows(read(tmp_path / "j", "nhc.json", document), "select status from ops.files where kind = 'health'")
    assert refused == [{"status": "refused"}], "no line of it is a header"


def test_a_time_since_boot_is_no_xid(tmp_path: Path) -> None:
    """Azure's NHC quotes the kernel's line as it stands."""
    quoted = (
        "Health check failed:  check_gpu_xid:  GPU Xid errors detected: [   79.25] NVRM: Xid (PCI:0002:00:00): 48, x"
    )
    table = f'Timestamp,Hostname,Healthy,RawResult\n2024-05-01T10:00:00Z,node001,False,"ERROR:  nhc:  {quoted}"\n'
    (found,) = checks(read(tmp_path, "nhc.csv", table))
    assert found["xid_codes"] == [48]
    (found,) = checks(read(tmp_path / "n", "nhc.log", f"2024-05-01T10:00:00Z node001 nhc[42]: {quoted}. Xid 94.\n"))
    assert found["xid_codes"] == [48, 94]


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
    (found,) = checks(
        read(tmp_path / "d", f"node001/{diagnosis_name}", DIAGNOSES["DCGM 4"], 'timezone = "Europe/Berlin"')
    )
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
