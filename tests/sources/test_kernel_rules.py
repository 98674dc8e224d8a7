"""Each rule of kernel lines: its example is read from the middle of a log, is of its kind, and of no earlier rule's."""

from __future__ import annotations

import csv
import re

import pytest

from assets.sources.kernel import reader as kernel
from assets.sources.kernel.rules import BUILT_IN, TABLE
from tests.sources.batches import load, read

with TABLE.open(encoding="utf-8", newline="") as file:
    RULES = list(csv.DictReader(file))

PROGRAMS = {"mmfs\\w*|mmsysmon": "mmfs", "nv-fabricmanager|nvidia-fabricmanager|fabricmanager": "nv-fabricmanager"}
"""Of rules that are not of the kernel, a program that may write the line."""
BETWEEN = "usb 1-1: new high-speed USB device"


OF_THREE_LINES = {
    "NVRM: The NVIDIA GPU 0000:18:00.0": [
        "NVRM: (PCI ID: 10de:2901) installed in this system has",
        "NVRM: fallen off the bus and is not responding to commands.",
    ]
}
"""What follows the first line of an example."""


def in_the_middle(lines: list[str], program: str = "kernel", node: str = "n1") -> str:
    """Write a log in which nothing else is worth reading."""
    messages = [("kernel", BETWEEN)] * 3 + [(program, line) for line in lines] + [("kernel", BETWEEN)] * 3
    return "".join(
        f"2026-03-02T10:00:{second:02}.100000+00:00 {node} {tag}: {message}\n"
        for second, (tag, message) in enumerate(messages)
    )


Events = dict[str, list[tuple[str, str, str]]]


def found_by_node(logs: list[str]) -> Events:
    """Read logs, each of a node of its own, one behind the other; give rule, kind and message of each node's events."""
    found: Events = {}
    for row in read(kernel, "".join(logs)).loaded:
        found.setdefault(row["node_name"], []).append((row["rule"], row["kind"], row["message"]))
    return found


@pytest.fixture(scope="module")
def examples() -> Events:
    return found_by_node(
        [
            in_the_middle(
                [rule["example"], *OF_THREE_LINES.get(rule["example"], [])],
                PROGRAMS.get(rule["programs"], "kernel"),
                f"n{number}",
            )
            for number, rule in enumerate(RULES)
        ]
    )


@pytest.mark.parametrize(("number", "rule"), enumerate(RULES), ids=[rule["rule"] for rule in RULES])
def test_the_example_of_a_rule_is_read(number: int, rule: dict[str, str], examples: Events) -> None:
    assert examples[f"n{number}"] == [(rule["rule"], rule["kind"], rule["example"])]


def test_patterns_are_found_in_a_whole_line_too() -> None:
    for rule in BUILT_IN:
        assert "^" not in re.sub(r"\[\^", "", rule.pattern.removeprefix("^")), rule.pattern
        assert "$" not in rule.pattern


def events(*lines: tuple[int, str]) -> list[tuple[str, int]]:
    """Give kind and number of lines of each event of a log with these lines, each so many seconds after the hour."""
    text = "".join(
        f"2026-03-02T10:{second // 60:02}:{second % 60:02}.000000+00:00 n1 kernel: {line}\n" for second, line in lines
    )
    rows = load(kernel, {"kern.log": text})
    return [(row["kind"], row["line_count"]) for row in rows if row["disposition"] == "loaded"]


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
    assert events(*lines) == expected


OTHER_WORDINGS = {
    "accel accel0: System Critical Error Interrupt - HBM(2) MC(1) MC_CH(0) MC_PC(1). Error cause: DERR": (
        "habanalabs_memory"
    ),
    "amdgpu 0000:c3:00.0: amdgpu: Saved bad pages 130 reaches threshold value 128": "amdgpu_bad_pages",
    "mlx5_core 0000:3b:00.0 enp59s0f0np0: TX timeout detected": "eth_watchdog",
    "mlx5_core 0000:9a:00.0 ibp154s0: TX timeout detected": "ib_watchdog",
    "pciehp 0000:15:01.0:pcie004: Slot(5): Link Down": "pcie_slot_down",
    "pciehp 0000:15:01.0:pcie04: Card not present on Slot(5)": "pcie_slot_down",
    "dpc 0000:15:01.0:pcie008: DPC containment event, status:0x1f05 source:0x0000": "pcie_containment",
    "watchdog: CPU 12 Hard LOCKUP": "hard_lockup",
    "JBD2: Detected IO errors while flushing file data on dm-0-8": "ext4_error",
    "EXT4-fs (nvme0n1p1): I/O error while writing superblock": "ext4_error",
    "nvme1n1: writeback error on inode 134, offset 0, sector 1234": "ext4_error",
    "blk_update_request: critical medium error, dev sda, sector 1234 op 0x0:(READ)": "block_io",
    "mlx5_core 0000:0d:00.0: print_health_info:431:(pid 0): Health issue observed, ECC error, severity(4) WARNING:": (
        "mlx5_health_warning"
    ),
    "NETDEV WATCHDOG: usb0 (cdc_ether): transmit queue 0 timed out": "usb_network",
}
"""What older and newer kernels print of the same faults, and the rule that knows it."""


def test_other_kernels_print_the_same_faults() -> None:
    found = found_by_node([in_the_middle([line], node=f"n{number}") for number, line in enumerate(OTHER_WORDINGS)])
    rules = {line: [rule for rule, *_ in found.get(f"n{number}", [])] for number, line in enumerate(OTHER_WORDINGS)}
    assert rules == {line: [rule] for line, rule in OTHER_WORDINGS.items()}


SILENT = [
    "amdgpu 0000:0c:00.0: amdgpu: RAS records:235 exceeds 90% of threshold:256",
    "mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link ACTIVE",
    "veth1a2b3c: link down",
    "blk_update_request: critical target error, dev sda, sector 2048 op 0x3:(DISCARD)",
    "amdgpu 0000:0c:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block",
    "amdgpu 0000:0c:00.0: amdgpu: no uncorrectable hardware errors detected in umc block",
    "amdgpu 0000:0c:00.0: amdgpu: 12 correctable hardware errors detected in total in gfx block",
    "amdgpu 0000:0c:00.0: amdgpu: Fetched VBIOS from VFCT",
    "habanalabs hl0: HBM2 ECC, sid 3, CORRECTABLE error",
    "mlx5_core 0000:c3:00.0: Port module event: module 0, Cable plugged",
    "mlx5_core 0000:c3:00.0 ibp3: Link up",
    "ata1: SATA link down (SStatus 0 SControl 300)",
    "traps: python[77] general protection fault ip:7f0 sp:7ff error:0 in libc.so.6",
    "EXT4-fs (nvme0n1p2): mounted filesystem with ordered data mode",
    "XFS (nvme1n1): Unmounting Filesystem",
    "Memory cgroup stats for /slurm/uid_1000",
]


def test_lines_that_tell_of_no_fault_give_no_event() -> None:
    assert found_by_node([in_the_middle([line], node=f"n{number}") for number, line in enumerate(SILENT)]) == {}
