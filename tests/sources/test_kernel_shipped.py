"""Kernel messages as log shippers give them: whatever the names, a message with its host and its time is read."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.sources.kernel import reader as kernel
from assets.sources.other_forms import SetAside, translations_of
from assets.sources.reader import SourceFile
from assets.sources.translations.shipped_logs import moment
from tests.sources.batches import cluster_of
from tests.sources.folders import load, make

FILE = SourceFile("c1", "kernel", "c1/kernel/k.jsonl", Path("k.jsonl"), 0, datetime(2026, 3, 3))
READERS = {"kernel": kernel}
XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid=1, name=python, GPU has fallen off the bus."
AT = datetime(2026, 3, 2, 10, 0, 0)
SECONDS = 1772445600
NANOSECONDS = f"{SECONDS}123456789"


def lines(*records: Any) -> str:
    return "".join(f"{json.dumps(record)}\n" for record in records)


def loki(*values: list[str], **labels: str) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": "streams", "result": [{"stream": labels, "values": [*values]}]}}


OTLP = {
    "resourceLogs": [
        {
            "resource": {"attributes": [{"key": "host.name", "value": {"stringValue": "gpu01"}}]},
            "scopeLogs": [{"logRecords": [
                {"timeUnixNano": NANOSECONDS, "severityText": "Error", "body": {"stringValue": XID}},
                {"timeUnixNano": NANOSECONDS, "body": {"stringValue": "usb 1-1: new device"}},
            ]}],
        }
    ]
}  # fmt: skip
JOURNAL = {
    "__REALTIME_TIMESTAMP": f"{SECONDS}123456", "_HOSTNAME": "gpu01", "_TRANSPORT": "kernel",
    "SYSLOG_IDENTIFIER": "kernel", "PRIORITY": "3", "MESSAGE": XID,
}  # fmt: skip
FORMS: dict[str, str] = {
    "logcli, jsonl": lines(
        {"labels": {"host": "gpu01"}, "line": f"kernel: {XID}", "timestamp": "2026-03-02T10:00:00Z"}
    ),
    "logcli, short names": lines(
        {"ts": "2026-03-02T10:00:00.123456789Z", "line": f"kernel: {XID}", "labels": {"host": "gpu01", "job": "syslog"}}
    ),
    "logcli, default": f'2026-03-02T11:00:00+01:00 {{host="gpu01", job="x\\"y"}} kernel: {XID}\n',
    "Loki": lines(loki([NANOSECONDS, f"Mar  2 10:00:00 other kernel: {XID}"], [NANOSECONDS, "x"], host="gpu01")),
    "Loki, indented": json.dumps(loki([NANOSECONDS, f"gpu01 kernel: [ 12.5] {XID}"], job="kern"), indent=2),
    "fluentd, file": f'2026-03-02T10:00:00+00:00\tkern.err\t{json.dumps({"host": "gpu01", "message": XID})}\n',
    "Kubernetes, containers": f"2026-03-02T10:00:00.123456789Z stdout F {json.dumps(JOURNAL)}\n",
    "fluent-bit": lines({"date": SECONDS + 0.5, "host": "gpu01", "ident": "kernel", "message": XID}),
    "fluent-bit, kmsg": lines({"date": SECONDS + 0.5, "priority": 3, "sec": 12, "msg": XID, "hostname": "gpu01"}),
    "Vector": lines({
        "_TRANSPORT": "kernel", "__REALTIME_TIMESTAMP": f"{SECONDS}000000", "host": "gpu01", "message": XID,
        "source_type": "journald", "timestamp": "2026-03-02T10:00:00.000000Z",
    }),
    "Vector, syslog": lines({"appname": "kernel", "facility": "kern", "severity": "err", "hostname": "gpu01",
        "message": XID, "timestamp": "2026-03-02T10:00:00Z", "host": "10.0.0.1"}),
    "Cloud Logging": lines({
        "insertId": "1", "jsonPayload": {"message": XID}, "labels": {"instance_name": "gpu01"},
        "timestamp": "2026-03-02T10:00:00Z", "logName": "projects/p/logs/kern",
    }),
    "Cloud Logging, gcloud": json.dumps([
        {"textPayload": f"Mar  2 10:00:00 gpu01 kernel: {XID}", "timestamp": "2026-03-02T10:00:00.5Z",
         "labels": {"compute.googleapis.com/resource_name": "gpu01"}, "receiveTimestamp": "2026-03-02T10:00:09Z"},
        {"textPayload": "nothing", "timestamp": "2026-03-02T10:00:00.5Z"},
    ], indent=2),
    "Filebeat": lines({
        "@timestamp": "2026-03-02T10:00:00.123Z", "message": f"[ 12.5] {XID}", "log": {"file": {"path": "/var/log/x"}},
        "host": {"name": "gpu01", "os": {"type": "linux"}}, "process": {"name": "kernel"},
    }),
    "Elastic, search": json.dumps({"took": 3, "hits": {"total": {"value": 1}, "hits": [
        {"_index": "logs", "_id": "1", "_source": {
            "@timestamp": "2026-03-02T10:00:00Z", "message": XID, "host.name": "gpu01"}},
    ]}}),
    "Kibana, fields": lines(
        {"fields": {"@timestamp": ["2026-03-02T10:00:00Z"], "message": [XID], "host.name": ["gpu01"]}}
    ),
    "Kubernetes": lines({
        "log": f"{XID}\n", "stream": "stderr", "time": "2026-03-02T10:00:00.123456789Z",
        "kubernetes": {"pod_name": "dmesg-7f", "host": "gpu01"},
    }),
    "Docker around journald": lines({"log": json.dumps(JOURNAL) + "\n", "stream": "stdout"}),
    "OpenTelemetry": lines(OTLP),
    "GELF": lines({"version": "1.1", "host": "gpu01", "short_message": XID, "timestamp": SECONDS + 0.25, "level": 3}),
    "VictoriaLogs": lines({"_time": "2026-03-02T10:00:00Z", "_stream": "{}", "_msg": XID, "hostname": "gpu01"}),
    "Splunk": lines({"preview": False, "result": {
        "_raw": f"Mar  2 10:00:00 x kernel: {XID}", "host": "gpu01", "_time": "2026-03-02T11:00:00.000+01:00"}}),
    "CloudWatch": json.dumps({"events": [{"logStreamName": "gpu01", "timestamp": SECONDS * 1000, "message": XID}]}),
    "Azure Monitor": lines({
        "TimeGenerated": "2026-03-02T10:00:00Z", "Computer": "gpu01", "Facility": "kern", "SeverityLevel": "err",
        "SyslogMessage": XID, "ProcessName": "kernel",
    }),
    "syslog-ng": lines({"PROGRAM": "kernel", "MESSAGE": XID, "HOST": "gpu01", "ISODATE": "2026-03-02T10:00:00+00:00"}),
    "syslog-ng, no year": lines({"PROGRAM": "kernel", "MESSAGE": XID, "HOST": "gpu01", "DATE": "Mar  2 10:00:00"}),
    "fluent-bit, file": f'kern: [{SECONDS}.000000, {json.dumps({"host": "gpu01", "message": XID})}]\n',
    "fluent-bit, stdout": f'[0] kern: [[{SECONDS}.5, {{}}], {{"host"=>"gpu01", "priority"=>3, "msg"=>"{XID}"}}]\n',
    "milliseconds as text": lines({"time": f"{SECONDS}999", "node": "gpu01", "msg": XID}),
    "a whole line and nothing else": lines({"message": f"2026-03-02T10:00:00+00:00 gpu01 kernel: {XID}"}),
    "a whole line without a year": lines({"log": f"Mar  2 10:00:00 gpu01 kernel: {XID}", "stream": "stdout"}),
    "a line of dmesg -T": lines({"msg": f"[Mon Mar  2 10:00:00 2026] {XID}", "hostname": "gpu01:9100"}),
    "a line with a level": lines({"line": f"<4>Mar  2 10:00:00 gpu01 kernel: {XID}"}),
    "bytes": lines({"MESSAGE": list(XID.encode()), "hostname": "gpu01", "timestamp": SECONDS}),
    "journalctl -o json-pretty": json.dumps(JOURNAL, indent=8),
    "journalctl -o json": lines(JOURNAL),
    "journalctl -o export": "".join(f"{name}={value}\n" for name, value in JOURNAL.items()) + "\n",
}  # fmt: skip


def read(tmp_path: Any, name: str, content: str | bytes, toml: str = "") -> duckdb.DuckDBPyConnection:
    files = {f"c1/kernel/{name}": content, "c1/cluster.toml": toml}
    return load(make(tmp_path, files), readers=READERS)


def found(con: duckdb.DuckDBPyConnection, path: str = "%") -> list[tuple[Any, ...]]:
    return con.execute(
        "select node_id, date_trunc('second', occurred_at), code, message from raw.kernel_messages "
        "where path like $1 order by all",
        [path],
    ).fetchall()


@pytest.fixture(scope="module")
def together(tmp_path_factory: pytest.TempPathFactory) -> duckdb.DuckDBPyConnection:
    """All forms as files of one folder, loaded at once."""
    files = {f"c1/kernel/{number}.json": text for number, text in enumerate(FORMS.values())}
    return load(make(tmp_path_factory.mktemp("forms"), files), readers=READERS)


@pytest.mark.parametrize(("number", "form"), enumerate(FORMS), ids=FORMS)
def test_the_message_its_host_and_its_time(number: int, form: str, together: duckdb.DuckDBPyConnection) -> None:
    path = f"c1/kernel/{number}.json"
    assert found(together, path) == [("gpu01", AT, 79, XID)], form
    account = together.execute("select status, quarantined from ops.files where path = $1", [path])
    assert account.fetchall() == [("read", 0)]


def test_fields_of_bytes_in_an_export(tmp_path: Any) -> None:
    long = XID + " x" * 200
    entries = b""
    for text in (XID, long):
        entries += (
            f"__REALTIME_TIMESTAMP={SECONDS}000000\n_HOSTNAME=gpu01\nSYSLOG_IDENTIFIER=kernel\nMESSAGE\n".encode()
        )
        entries += len(text).to_bytes(8, "little") + text.encode() + b"\n_TRANSPORT=kernel\n\n"
    con = read(tmp_path, "gpu01.export", entries)
    assert [row[:3] for row in found(con)] == [("gpu01", AT, 79)] * 2
    assert con.execute("select lines_in from ops.files where kind = 'kernel'").fetchall() == [(2,)]


def test_a_host_that_only_names_the_file(tmp_path: Any) -> None:
    assert found(read(tmp_path, "gpu07/kern.jsonl", lines({"message": XID, "ts": SECONDS})))[0][0] == "gpu07"


def test_local_time_is_that_of_the_cluster(tmp_path: Any) -> None:
    record = lines({"message": XID, "host": "gpu01", "time": "2026-03-02 11:00:00"})
    assert found(read(tmp_path, "k.jsonl", record, 'timezone = "Europe/Paris"')) == [("gpu01", AT, 79, XID)]


def test_programs_are_not_the_kernel(tmp_path: Any) -> None:
    good = {"host": "gpu01", "time": SECONDS, "message": XID}
    records = lines(
        good,
        {**good, "ident": "sshd"},
        {**good, "facility": "user"},
        {**good, "SYSLOG_IDENTIFIER": "a b"},
        {**good, "message": f"Mar  2 10:00:00 gpu01 sshd[12]: {XID}"},
        {"message": XID, "time": SECONDS, "ident": "x"},
    )
    con = read(tmp_path, "k.jsonl", records)
    assert len(found(con)) == 1
    assert con.execute("select reason, line_count from ops.skips where path like '%k.jsonl'").fetchall() == [
        ("untrusted_source", 5)
    ]


def test_odd_records_among_good_ones_are_quarantined(tmp_path: Any) -> None:
    good = {"host": "gpu01", "time": SECONDS, "message": XID}
    text = lines(good, {"host": "gpu01"}) + '{"host": "gpu01", "mess\n' + lines({**good, "time": "soon"}, good)
    con = read(tmp_path, "k.jsonl", text)
    assert len(found(con)) == 2
    quarantined = con.execute("select line_number, reason from ops.quarantine order by all").fetchall()
    assert quarantined == [(2, "missing_message"), (3, "bad_json"), (4, "missing_time_or_node")]


@pytest.mark.parametrize(
    ("records", "command"),
    [
        (lines({"when": "2026-03-02T10:00:00Z", "box": "gpu01", "what": XID}),
         "time: .TIME, host: .HOST, message: .MESSAGE"),
        (lines({"when": SECONDS, "hostname": "gpu01", "log": {"x@y": {"message": XID}}}),
         'time: .TIME, host: .hostname, message: .log."x@y".message'),
        (lines({"data": {"result": []}}), "logcli query --output=jsonl"),
        ('{"message": "cut', "jq -c"),
    ],
)  # fmt: skip
def test_names_that_nobody_knows_are_refused_with_a_command(records: str, command: str, tmp_path: Any) -> None:
    con = read(tmp_path, "k.jsonl", records)
    ((status, reason, next_step),) = con.execute(
        "select status, reason, next_step from ops.files where kind = 'kernel'"
    ).fetchall()
    assert (status, reason.partition(":")[0]) == ("refused", "unsupported_schema")
    assert command in next_step


@given(st.integers(946_684_800, 4_102_444_799), st.sampled_from([0, 3, 6, 9]), st.booleans())
def test_epochs_of_any_unit(second: int, digits: int, as_text: bool) -> None:
    value = second * 10**digits
    shown = moment(str(value) if as_text else value)
    # Before September 2001 a number of seconds has nine digits, which is no time that a log tells.
    if second >= 10**9:
        assert datetime.fromisoformat(shown or "").timestamp() == second


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["message", "host", "time", "log", "values", "body", "x"]), inner, max_size=3
    ), max_leaves=12,
))  # fmt: skip
def test_any_json_between_records_loses_none_of_them(odd: Any) -> None:
    good = lines({"host": "gpu01", "time": SECONDS, "message": XID})
    text = good + lines(odd) + good
    out = [*translations_of("kernel")["shipper_json"].translate(iter([text]), FILE, cluster_of())]
    assert sum(not isinstance(line, SetAside) and line.endswith(f" gpu01 kernel: {XID}") for line in out) >= 2
