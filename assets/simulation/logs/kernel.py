"""Kernel messages as rsyslog collects them from all nodes: ISO times with offset, one file per local day.

Faults and users' own GPU errors speak here, and so do restarts and the chatter of healthy machines.
"""

from __future__ import annotations

import bisect
from collections import defaultdict
from datetime import date
from pathlib import Path

import numpy as np

from assets.simulation.logs.conditions import Conditions, outside
from assets.simulation.logs.record import Record, write_lines
from assets.simulation.profiles import DAY
from assets.simulation.states import OUT_OF_MEMORY
from assets.simulation.symptoms import GPU_BUSES

BOOT_LINE = "Linux version 5.15.0-1061-nvidia (buildd@lcy02-amd64-086) (gcc (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0) #62-Ubuntu SMP"
CHATTER = (
    "perf: interrupt took too long (2511 > 2500), lowering kernel.perf_event_max_sample_rate to 79500",
    "workqueue: nvidia_release hogged CPU for >10000us 4 times, consider switching to WQ_UNBOUND",
    "nfs: server nfs01 OK",
    "audit: backlog limit exceeded",
)
CHATTER_PER_NODE_DAY = 0.4
XID_LINES = {
    13: "pid={pid}, name=python, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): Out Of Range Address",
    31: "pid={pid}, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3 faulted @ 0x7f2c_4a000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
    43: "pid={pid}, name=python, Ch 00000010",
}
REPEATS = {13: 6, 31: 1, 43: 1}


def kernel_lines(record: Record) -> list[tuple[float, int, str]]:
    """Give (time, node, message) of every kernel line, in time order."""
    ledger, rng, profile = record.ledger, record.rng("kernel"), record.profile
    lines: list[tuple[float, int, str]] = []
    silent = Conditions(record).silent
    for node, at in zip(ledger.reboots["node"].tolist(), ledger.reboots["at"].tolist(), strict=True):
        lines.append((at + float(rng.uniform(0, 1)), node, BOOT_LINE))
    for fault, symptoms in enumerate(ledger.symptoms):
        at = int(ledger.faults["at"][fault]) + float(rng.uniform(0, 1))
        lines += [(max(0.0, at + offset), int(ledger.faults["node"][fault]), text) for offset, text in symptoms.kernel]
    attempts = ledger.attempts
    for attempt in range(len(ledger.nodes)):
        nodes = ledger.nodes[attempt]
        xid, end, pid = (
            int(attempts["app_xid"][attempt]),
            float(attempts["end"][attempt]),
            int(rng.integers(20_000, 4_000_000)),
        )
        if not len(nodes) or end < 0:
            continue
        if xid:
            bus = GPU_BUSES[int(attempts["mask"][attempt]).bit_length() - 1]
            text = f"NVRM: Xid (PCI:0000:{bus}:00): {xid}, {XID_LINES[xid].format(pid=pid)}"
            lines += [(end - 1 + 0.01 * repeat, int(nodes[0]), text) for repeat in range(REPEATS[xid])]
        if attempts["state"][attempt] == OUT_OF_MEMORY:
            text = f"Memory cgroup out of memory: Killed process {pid} (python) total-vm:98231044kB, anon-rss:96012288kB, file-rss:72192kB"
            lines.append((end - 0.5, int(nodes[0]), text))
    for day in range(profile.days):
        for node in range(profile.node_count):
            if rng.random() < CHATTER_PER_NODE_DAY:
                at = outside(np.array([day * DAY + float(rng.uniform(0, DAY))]), silent[node])
                lines += [(float(time), node, CHATTER[int(rng.integers(len(CHATTER)))]) for time in at]
    return sorted(lines)


def write_kernel(record: Record, folder: Path) -> None:
    """Write `kern-<day>.log`; a line carries the seconds since its node's last start, as printk does."""
    boots = [[-float(age)] for age in record.rng("kernel boots").uniform(DAY, 30 * DAY, record.profile.node_count)]
    lines = kernel_lines(record)
    for at, node, text in lines:
        if text == BOOT_LINE:
            boots[node].append(at)
    days: dict[date, list[str]] = defaultdict(list)
    for at, node, text in lines:
        booted = boots[node][bisect.bisect_right(boots[node], at) - 1]
        stamp = record.local(at).isoformat(timespec="microseconds")
        days[record.day(at)].append(f"{stamp} {record.node_names[node]} kernel: [{at - booted:12.6f}] {text}")
    for day, written in days.items():
        write_lines(folder / f"kern-{day:%Y-%m-%d}.log", written)
