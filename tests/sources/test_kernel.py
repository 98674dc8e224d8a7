"""Kernel logs: eight envelopes, the Xid grammar, one fault is one event."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

import pytest

from assets.sources.errors import SourceError
from assets.sources.kernel import reader as kernel
from assets.sources.reader import FIRST_CHARACTERS, SAMPLE_CHARACTERS
from tests.sources.batches import TESTBED, cluster_of, load, read

XID = "NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."


def test_the_genuine_capture_is_read_whole() -> None:
    outcome = read(kernel, (TESTBED / "kernel" / "syslog-20261121.log").read_text(encoding="utf-8"))
    assert outcome.line_count == 11
    assert outcome.skips == {"not_relevant": 1}
    assert not outcome.quarantined
    assert Counter(row["kind"] for row in outcome.loaded) == {"boot": 5, "xid": 4, "ib_link": 1}
    assert {(row["node_name"], row["code"], row["pci_address"]) for row in outcome.loaded if row["kind"] == "xid"} == {
        ("node001", 48, "0000:37:00"),
        ("node002", 79, "0000:17:00"),
        ("node012", 31, "0000:27:00"),
        ("node016", 63, "0000:67:00"),
    }
    assert {row["occurred_at"].year for row in outcome.loaded} == {2026}


def test_the_envelope_is_found_behind_many_lines_without_one() -> None:
    nothing = "no time and no host\n" * (FIRST_CHARACTERS // 10)
    assert FIRST_CHARACTERS < len(nothing) < SAMPLE_CHARACTERS
    text = nothing + f"Nov 20 10:00:00 node001 kernel: {XID}\n"
    assert kernel.detect(text, "c1/kernel/syslog", cluster_of()) == "syslog"
    with pytest.raises(SourceError, match="no line looks like"):
        kernel.detect(nothing, "c1/kernel/syslog", cluster_of())


def test_the_first_lines_name_a_mixed_file_and_every_line_is_read() -> None:
    first = [f"2025-11-20T10:{minute:02}:00+00:00 node001 kernel: {XID}\n" for minute in range(60)] * 2
    last = [f"Nov 20 11:{minute:02}:00 node001 kernel: {XID}\n" for minute in range(60)] * 4
    text = "".join(first + last)
    assert FIRST_CHARACTERS < len(text) < SAMPLE_CHARACTERS
    assert kernel.detect(text, "c1/kernel/syslog", cluster_of()) == "syslog_iso"
    outcome = read(kernel, text)
    assert not outcome.quarantined
    assert {row["occurred_at"].hour for row in outcome.loaded} == {10, 11}


@pytest.mark.parametrize(
    "path",
    [
        "gpu7.log",
        "gpu7/kern.log",
        "2024-05-03/gpu7.log",
        "2024/05/03/gpu7.log",
        "syslog/gpu7.log",
        "gpu7/2024-05/dmesg",
    ],
)
def test_the_host_of_lines_without_one_names_the_file_or_its_folder(path: str) -> None:
    (row,) = load(kernel, {path: f"kern  :warn  : 2024-05-03T04:41:44,283302+00:00 {XID}\n"})
    assert row["node_name"] == "gpu7"


def test_the_same_line_in_syslog_and_kern_log_counts_once() -> None:
    line = f"Nov 21 07:34:23 n1 kernel: [246463.378747] {XID}\n"
    table = load(kernel, {"syslog": line, "kern.log": line})
    assert [(row["path"], row["disposition"], row["line_count"]) for row in table] == [
        ("c1/kernel/kern.log", "loaded", 1),
        ("c1/kernel/syslog", "duplicate", 1),
    ]


def test_the_journal_s_time_wins_over_syslog_s() -> None:
    table = load(
        kernel,
        {"a-syslog": f"Nov 21 07:34:23 n1 kernel: [246463.378747] {XID}\n"},
        {"journal.n1.log": f"2026-11-21T07:34:23.378747+00:00 n1 kernel: {XID}\n"},
    )
    assert [(row["path"], row["disposition"]) for row in table] == [
        ("c1/kernel/a-syslog", "duplicate"),
        ("c1/kernel/journal.n1.log", "loaded"),
    ]


@pytest.mark.parametrize("priority", ["kern  :err   : ", ""])
def test_dmesg_prints_neither_host_nor_tag(priority: str) -> None:
    """Words with a colon behind them, as drivers begin their messages, are of the message."""
    messages = [
        "EDAC MC0: 1 UE memory read error on CPU_SrcID#0",
        "nvme nvme3: controller is down; will reset: CSTS=0xffffffff",
        "mlx5_core 0000:c3:00.0: Port module event: module 0, Cable error",
        "igb 0000:c3:00.0 eth0: igb: eth0 NIC Link is Down",
        XID,
    ]
    stamp = "2026-09-01T07:35:53,109429+02:00"
    text = "".join(f"{priority}{stamp} {message}\n" for message in messages)
    outcome = read(kernel, text, "n1.dmesg.log")
    assert [row["message"] for row in outcome.loaded] == messages
    assert {(row["node_name"], row["occurred_at"].hour) for row in outcome.loaded} == {("n1", 5)}


@pytest.mark.parametrize("uptime", ["-1.250000", "   -0.000001", "12345", "1.2.3", "123.456,3"])
def test_an_odd_uptime_hides_no_fault(uptime: str) -> None:
    """The time of the line is believed; without one, the line is quarantined. No boot is told by such an uptime."""
    text = (
        f"Nov 21 07:34:23 n1 kernel: [{uptime}] {XID}\n"
        f"2026-11-21T07:34:24+00:00 n1 kernel: [{uptime}] {XID}\n"
        f"Nov 21 07:34:25 n1 kernel: message repeated 2 times: [ [{uptime}] {XID}]\n"
        f"[{uptime}] {XID}\n"
    )
    outcome = read(kernel, text)
    assert [(str(row["occurred_at"])[-8:], row["code"], row["message"]) for row in outcome.loaded] == [
        ("07:34:23", 79, XID),
        ("07:34:24", 79, XID),
        ("07:34:25", 79, XID),
    ]
    assert [(row["line_number"], row["reason"]) for row in outcome.quarantined] == [(4, "missing_time_or_node")]


@pytest.mark.parametrize(
    ("line", "reason", "detail"),
    [
        (
            "2025-05-01T10:00:00+00:00 n1 kernel: NVRM: Xid (PCI:0000:07:00): 0, pid=1",
            "bad_xid",
            "missing, 0 or too large",
        ),
        (
            "2025-05-01T10:00:00+00:00 n1 kernel: NVRM: Xid (PCI:0000:07:00): , pid=1",
            "bad_xid",
            "missing, 0 or too large",
        ),
        (
            f"Feb 29 10:00:00 n1 kernel: {XID}\nNov 21 10:00:00 n1 kernel: eth0: link is quiet",
            "bad_timestamp",
            "like 29 February, in the year",
        ),
        (f"2025-02-29T10:00:00 n1 kernel: {XID}", "bad_timestamp", "no time in a form that is known"),
    ],
)
def test_what_is_wrong_with_a_line_is_told(line: str, reason: str, detail: str) -> None:
    (row,) = read(kernel, line + "\n").quarantined
    assert row["reason"] == reason
    assert detail in row["detail"]


def test_like_lines_of_one_file_are_repeats_not_copies() -> None:
    line = f"Nov 21 07:34:23 n1 kernel: {XID}\n"
    table = load(kernel, {"syslog": line * 3, "copy/syslog": line * 2})
    assert Counter((row["path"], row["disposition"]) for row in table) == {
        ("c1/kernel/copy/syslog", "loaded"): 1,
        ("c1/kernel/copy/syslog", "coalesced"): 1,
        ("c1/kernel/syslog", "duplicate"): 2,
        ("c1/kernel/syslog", "coalesced"): 1,
    }
    assert max(row["line_count"] for row in table) == 3


def test_lines_chain_into_one_event_across_files_and_gaps_of_five_seconds() -> None:
    def lines(*seconds: int) -> str:
        return "".join(f"2026-11-21T07:34:{second:02d}Z n1 kernel: {XID} at {second}\n" for second in seconds)

    whole = load(kernel, {"a": lines(0, 5, 10, 16)})
    assert [(row["disposition"], row["line_count"]) for row in whole] == [
        ("loaded", 3),
        ("coalesced", 1),
        ("coalesced", 1),
        ("loaded", 1),
    ]
    pieces = load(kernel, {"b": lines(10, 16)}, {"a": lines(0, 5)})
    assert [(row["disposition"], row["line_count"]) for row in pieces] == [
        ("loaded", 3),
        ("coalesced", 1),
        ("coalesced", 1),
        ("loaded", 1),
    ]


def test_years_follow_every_turn_of_a_long_file() -> None:
    stamps = ("Mar 10", "Nov  5", "Jan  2", "Jul  9", "Jan 31", "Feb  1")
    text = "".join(f"{stamp} 10:00:00 n1 kernel: {XID} on {stamp}\n" for stamp in stamps)
    outcome = read(kernel, text, "n1.log", modified_at=datetime(2026, 2, 2))
    assert [row["occurred_at"].year for row in outcome.loaded] == [2024, 2024, 2025, 2025, 2026, 2026]


def test_rotated_files_joined_newest_first_stay_in_their_year() -> None:
    text = "".join(
        f"{stamp} 10:00:00 n1 kernel: {XID} on {stamp}\n" for stamp in ("Nov 20", "Nov 21", "Nov 10", "Nov 19")
    )
    outcome = read(kernel, text, "n1.log", modified_at=datetime(2026, 11, 22))
    assert {row["occurred_at"].year for row in outcome.loaded} == {2026}


def test_uptime_of_one_host_does_not_date_another() -> None:
    text = f"Nov 21 07:34:23 n1 kernel: [100.000000] {XID}\n[100.500000] {XID}\n"
    assert read(kernel, text, "n2.log").quarantines == {"boot_relative_time": 1}
    assert len(read(kernel, text, "n1.log").loaded) == 2
