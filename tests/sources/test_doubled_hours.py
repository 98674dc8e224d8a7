"""Of an hour that comes twice, the order of a log's lines tells which pass is meant."""

from __future__ import annotations

from datetime import datetime

import pytest

from assets.sources.health import reader as health
from assets.sources.kernel import reader as kernel
from assets.sources.slurmctld import reader as slurmctld
from tests.sources.batches import cluster_of, read
from tests.sources.folders import load, make, rows

BERLIN = cluster_of("Europe/Berlin")
"""Its clocks went from 03:00 back to 02:00 at 01:00 UTC of 27 October 2024."""
XID = "kernel: NVRM: Xid (PCI:0000:17:00): {}, pid=1, name=x, fault"
MARCH = datetime(2025, 3, 1)


def controller(*clocks: str) -> str:
    """Give a controller's log of the night: a message that matters at each time with an exclamation mark."""
    return "".join(
        f"[2024-10-27T{clock.rstrip('!')}.100] {'Requeuing JobId=1' if clock[-1] == '!' else 'sched: started'}\n"
        for clock in clocks
    )


def utc(rows_, column):
    return [f"{row[column]:%H:%M}" for row in rows_]


@pytest.mark.parametrize(
    ("clocks", "expected"),
    [
        pytest.param(
            ("01:59:00!", "02:10:00!", "02:50:00!", "02:10:00!", "02:59:59!", "03:00:00!"),
            ["23:59", "00:10", "00:50", "01:10", "01:59", "02:00"],
            id="both passes",
        ),
        pytest.param(("02:50:00", "02:05:00", "02:55:00!", "03:01:00"), ["01:55"], id="told by lines without interest"),
        pytest.param(("02:50:00!", "02:49:30!", "03:01:00"), ["00:50", "00:49"], id="a little disorder"),
        pytest.param(("01:00:00", "02:30:00!", "03:10:00"), ["00:30"], id="not told: the first"),
    ],
)
def test_a_controllers_log(clocks, expected):
    assert utc(read(slurmctld, controller(*clocks), cluster=BERLIN).loaded, "logged_at") == expected


def test_a_kernel_log_of_many_hosts():
    """The step back of n1 tells of n2; n3's clock is in UTC, and n4's half an hour behind."""
    lines = [
        f"Oct 27 02:20:00 n4 {XID.format(13)}",
        f"Oct 27 02:50:00 n1 {XID.format(31)}",
        f"Oct 27 00:55:00 n3 {XID.format(43)}",
        f"Oct 27 02:29:00 n4 {XID.format(45)}",
        f"Oct 27 02:01:00 n2 {XID.format(48)}",
        f"Oct 27 02:02:00 n1 {XID.format(62)}",
        f"Oct 27 01:04:00 n3 {XID.format(63)}",
        f"Oct 27 02:58:00 n2 {XID.format(64)}",
        f"Oct 27 03:01:00 n2 {XID.format(79)}",
    ]
    found = read(kernel, "\n".join(lines) + "\n", cluster=BERLIN, modified_at=MARCH).loaded
    assert {row["code"]: f"{row['occurred_at']:%H:%M}" for row in found} == {
        13: "00:20", 31: "00:50", 43: "22:55", 45: "00:29", 48: "01:01", 62: "01:02", 63: "23:04", 64: "01:58",
        79: "02:01",
    }  # fmt: skip
    assert {row["time_quality"] for row in found} == {"year_inferred"}


@pytest.mark.parametrize(
    "stamp",
    [
        "<4>Oct 27 {} n1 ",
        "2024-10-27T{}.123456 n1 ",
        "<4>1 2024-10-27T{} n1 kernel - - - ",
        "[Sun Oct 27 {} 2024] ",
        "kern  :warn  : 2024-10-27T{},123456 ",
    ],
)
def test_every_form_of_local_time_in_kernel_logs(stamp):
    body = XID.removeprefix("kernel: ") if "kernel" in stamp or stamp[0] in "[k" else XID
    text = "".join(stamp.format(f"02:{minute}:00") + body.format(31) + "\n" for minute in (10, 50, 20, 55))
    found = read(kernel, text, name="n1.log", cluster=BERLIN, modified_at=MARCH).loaded
    assert utc(found, "occurred_at") == ["00:10", "00:50", "01:20", "01:55"]


def test_a_line_whose_pass_is_not_told_says_so():
    found = read(kernel, f"Oct 27 02:20:00 n1 {XID.format(31)}\n", cluster=BERLIN, modified_at=MARCH).loaded
    assert [(f"{row['occurred_at']:%H:%M}", row["time_quality"]) for row in found] == [("00:20", "ambiguous_dst")]


def test_times_with_an_offset_need_no_order():
    text = "".join(f"2024-10-27T{stamp} n1 {XID.format(31)}\n" for stamp in ("02:50:00+02:00", "02:20:00+02:00"))
    found = read(kernel, text, cluster=BERLIN, modified_at=MARCH).loaded
    assert [(f"{row['occurred_at']:%H:%M}", row["time_quality"]) for row in found] == [
        ("00:50", "second"),
        ("00:20", "second"),
    ]


@pytest.mark.parametrize(
    "line",
    [
        "Oct 27 {} gpu012 nhc[7]: ERROR:  nhc:  Health check failed:  check_x:  bad\n",
        "20241027 {} /usr/libexec/nhc/node-mark-offline:  Marking idle gpu012 offline:  NHC: check_x:  bad\n",
    ],
)
def test_a_log_of_nhc(line):
    text = "".join(line.format(clock) for clock in ("02:40:00", "02:10:00"))
    assert utc(read(health, text, cluster=BERLIN, modified_at=MARCH).loaded, "observed_at") == ["00:40", "01:10"]


@pytest.mark.parametrize(
    ("clocks", "warnings"),
    [(("02:30:00!",), ["ambiguous_dst"]), (("02:30:00", "03:30:00!"), []), (("02:30:00!", "02:20:00!"), [])],
)
def test_the_file_says_that_its_order_does_not_tell(tmp_path, clocks, warnings):
    files = {"c1/cluster.toml": 'timezone = "Europe/Berlin"', "c1/slurmctld/a.log": controller(*clocks)}
    con = load(make(tmp_path, files), readers={"slurmctld": slurmctld})
    assert [row["warnings"] for row in rows(con, "select warnings from ops.files")] == [warnings]
