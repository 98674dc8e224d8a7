"""Kernel logs: envelopes, the example of each rule, one event per fault, and no lost record.

The forms of kernel logs are in `fixtures/cases/files/kernel.toml`.
"""

from __future__ import annotations

import csv
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.sources.errors import SourceError
from assets.sources.kernel import reader as kernel
from assets.sources.kernel.rules import TABLE
from assets.sources.other_forms import SetAside, translations_of
from assets.sources.reader import FIRST_CHARACTERS, SAMPLE_CHARACTERS, SourceFile
from assets.sources.translations.shipped_logs import moment
from tests.sources import folders
from tests.sources.batches import cluster_of, load, read

LOST = "NVRM: Xid (PCI:0000:17:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
with TABLE.open(encoding="utf-8", newline="") as file:
    RULES = list(csv.DictReader(file))
PROGRAMS = {"mmfs\\w*|mmsysmon": "mmfs", "nv-fabricmanager|nvidia-fabricmanager|fabricmanager": "nv-fabricmanager"}
"""Programs that may write the line of a rule that is not the kernel's."""
OF_THREE_LINES = {
    "NVRM: The NVIDIA GPU 0000:18:00.0": [
        "NVRM: (PCI ID: 10de:2901) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    ]
}
"""Lines after the first line of an example."""


def test_the_envelope_is_found_behind_many_lines_without_one() -> None:
    nothing = "no time and no host\n" * (FIRST_CHARACTERS // 10)
    assert FIRST_CHARACTERS < len(nothing) < SAMPLE_CHARACTERS
    text = nothing + f"Nov 20 10:00:00 node001 kernel: {LOST}\n"
    assert kernel.detect(text, "c1/kernel/syslog", cluster_of()) == "syslog"
    with pytest.raises(SourceError, match="no line looks like"):
        kernel.detect(nothing, "c1/kernel/syslog", cluster_of())


def test_the_first_lines_name_a_mixed_file_and_every_line_is_read() -> None:
    first = [f"2025-11-20T10:{minute:02}:00+00:00 node001 kernel: {LOST}\n" for minute in range(60)] * 2
    last = [f"Nov 20 11:{minute:02}:00 node001 kernel: {LOST}\n" for minute in range(60)] * 4
    text = "".join(first + last)
    assert FIRST_CHARACTERS < len(text) < SAMPLE_CHARACTERS
    assert kernel.detect(text, "c1/kernel/syslog", cluster_of()) == "syslog_iso"
    outcome = read(kernel, text)
    assert not outcome.quarantined
    assert {row["occurred_at"].hour for row in outcome.loaded} == {10, 11}


def test_a_field_of_bytes_in_an_export_of_a_journal(tmp_path: Path) -> None:
    """The length of the field comes before it."""
    entries = b""
    for text in (LOST, f"{LOST}{' x' * 200}"):
        entries += b"__REALTIME_TIMESTAMP=1772445600000000\n_HOSTNAME=gpu01\nSYSLOG_IDENTIFIER=kernel\nMESSAGE\n"
        entries += len(text).to_bytes(8, "little") + text.encode() + b"\n_TRANSPORT=kernel\n\n"
    con = folders.load(folders.make(tmp_path, {"c1/kernel/gpu01.export": entries}), readers={"kernel": kernel})
    found = con.execute("select node_name, occurred_at, code from raw.kernel_messages").fetchall()
    assert found == [("gpu01", datetime(2026, 3, 2, 10), 79)] * 2
    assert con.execute("select lines_in from ops.files where kind = 'kernel'").fetchall() == [(2,)]


def test_the_example_of_each_rule_is_read_from_the_middle_of_a_log() -> None:
    """The event has the kind of the rule, and not of an earlier rule."""
    log, between = "", "usb 1-1: new high-speed USB device"
    for number, rule in enumerate(RULES):
        program = PROGRAMS.get(rule["programs"], "kernel")
        said = [(program, line) for line in (rule["example"], *OF_THREE_LINES.get(rule["example"], []))]
        for second, (tag, message) in enumerate([("kernel", between), *said, ("kernel", between)]):
            log += f"2026-03-02T10:00:{second:02}.100000+00:00 n{number} {tag}: {message}\n"
    found = [(row["node_name"], row["rule"], row["kind"], row["message"]) for row in read(kernel, log).loaded]
    assert found == [(f"n{number}", rule["rule"], rule["kind"], rule["example"]) for number, rule in enumerate(RULES)]


XID = "NVRM: Xid (PCI:0000:{}:00): {}, pid=1, name=x, fault"
BUS = "NVRM: GPU 0000:29:00.0: GPU has fallen off the bus."
INIT = "NVRM: GPU 0000:29:00.0: RmInitAdapter failed! (0x24:0x72:1568)"
RESET = "NVRM: nvAssertOkFailedNoLog: Assertion failed: Reset required [NV_ERR_RESET_REQUIRED] (0x62) returned from x"
ACA = "amdgpu 0000:9e:00.0: {1}[Hardware Error]: Accelerator Check Architecture events logged"
UMC = "amdgpu 0000:68:00.0: amdgpu: 1 new uncorrectable hardware errors detected in umc block"
POISON = "amdgpu 0000:68:00.0: amdgpu: {5}RAS poison consumption, fall back to gpu reset flow: client id 27"
AMD_RESET = "amdgpu 0000:68:00.0: amdgpu: GPU reset begin!"
AMD_FAILED = "amdgpu 0000:68:00.0: amdgpu: GPU reset(2) failed"
TX = "mlx5_core 0000:3b:00.0 enp59s0: TX timeout detected"
CONTAINED = "pcieport 0000:15:01.0: DPC: containment event, status:0x1f01 source:0x0000"
PCIE_TWICE = ("pcie_link", 2)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([(0, XID.format("29", 79)), (1, BUS)], [("xid", 2)]),
        ([(0, XID.format("1a", 79)), (30, "NVRM: GPU at PCI:0000:1a:00 has fallen off the bus")], [("xid", 2)]),
        (
            [(0, XID.format("1b", 79)), (30, "NVRM: GPU at PCI:0000:1a:00 has fallen off the bus")],
            [("xid", 1), ("fell_off_bus", 1)],
        ),
        ([(0, BUS), (30, XID.format("29", 79)), (31, INIT)], [("xid", 3)]),
        ([(0, BUS), (30, INIT)], [("fell_off_bus", 2)]),
        ([(0, XID.format("29", 79)), (61, BUS)], [("xid", 1), ("fell_off_bus", 1)]),
        ([(0, XID.format("3b", 79)), (30, BUS)], [("xid", 1), ("fell_off_bus", 1)]),
        ([(0, XID.format("29", 13)), (1, INIT)], [("xid", 1), ("gpu_init_failed", 1)]),
        ([(0, XID.format("29", 48)), (20, RESET)], [("xid", 2)]),
        ([(0, UMC), (5, ACA)], [("amdgpu_memory", 2)]),
        ([(0, UMC), (6, ACA)], [("amdgpu_memory", 1), ("amdgpu_aca", 1)]),
        ([(0, POISON), (1, AMD_RESET), (2, UMC), (20, AMD_FAILED)], [("amdgpu_memory", 4)]),
        ([(0, "amdgpu: qcm fence wait loop timeout expired"), (1, AMD_RESET)], [("amdgpu_hang", 2)]),
        ([(0, AMD_RESET), (20, AMD_FAILED)], [("amdgpu_reset_failed", 2)]),
        ([(0, "NVRM: GPU6 RmInitAdapter: Cannot initialize GSP firmware RM"), (1, INIT)], [("gpu_init_failed", 2)]),
        (
            [(0, "NETDEV WATCHDOG: enp59s0 (mlx5_core): transmit queue 12 timed out"), (1, TX)],
            [("eth_watchdog", 2)],
        ),
        ([(0, CONTAINED), (0, "pcieport 0000:15:01.0: PCIe Bus Error: severity=Uncorrected (Fatal)")], [PCIE_TWICE]),
    ],
)
def test_what_is_told_twice_of_one_fault_is_one_event(
    lines: list[tuple[int, str]], expected: list[tuple[str, int]]
) -> None:
    """Compare kind and line count of each event. The lines have offsets in seconds from the hour."""
    text = "".join(
        f"2026-03-02T10:{second // 60:02}:{second % 60:02}.000000+00:00 n1 kernel: {line}\n" for second, line in lines
    )
    rows = load(kernel, {"kern.log": text})
    assert [(row["kind"], row["line_count"]) for row in rows if row["disposition"] == "loaded"] == expected


@given(st.integers(946_684_800, 4_102_444_799), st.sampled_from([0, 3, 6, 9]), st.booleans())
def test_epochs_of_any_unit(second: int, digits: int, as_text: bool) -> None:
    value = second * 10**digits
    shown = moment(str(value) if as_text else value)
    # Before September 2001 a number of seconds has nine digits, and the reader takes it for no time.
    if second >= 10**9:
        assert datetime.fromisoformat(shown or "").timestamp() == second


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["message", "host", "time", "log", "values", "body", "x"]), inner, max_size=3
    ), max_leaves=12,
))  # fmt: skip
def test_any_json_between_records_loses_none_of_them(odd: Any) -> None:
    good = json.dumps({"host": "gpu01", "time": 1772445600, "message": LOST})
    text = "".join(f"{line}\n" for line in (good, json.dumps(odd), good))
    of_file = SourceFile("c1", "kernel", "c1/kernel/k.jsonl", Path("k.jsonl"), 0, datetime(2026, 3, 3))
    out = [*translations_of("kernel")["shipper_json"].translate(iter([text]), of_file, cluster_of())]
    assert sum(not isinstance(line, SetAside) and line.endswith(f" gpu01 kernel: {LOST}") for line in out) >= 2
