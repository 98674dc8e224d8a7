"""The meaning of kernel lines, from the log to the cause of a failure, for hardware of any vendor."""

import csv

from assets.sources.kernel.rules import TABLE
from tests.logs import Cluster, at
from tests.minimal.reading import ask

with TABLE.open(encoding="utf-8", newline="") as file:
    RULES = list(csv.DictReader(file))

NODES = {
    f"r{number:02}": rule
    for number, rule in enumerate(RULES)
    if not rule["programs"] and rule["rule"] != "fell_off_bus"
}
"""A node for each rule of the kernel that one line fits."""

XID = "NVRM: Xid (PCI:0000:19:00): "
CLEAN_UP = f"{XID}45, pid=4711, name=python3, Ch 00000001 caused by previous Xid "
RECOVERY = f"{XID}154, GPU recovery action changed from 0x0 (None) to "
LINK = f"{XID}146, NETIR_LINK_EVT {{}} XC0 i0 Link 04 (0x00004822 0x00000000 0x00000000 0x00000000)"

FAULTS = {
    "f01": ("gpu_memory", ["amdgpu 0000:c3:00.0: amdgpu: 1 new uncorrectable hardware errors detected in umc block"]),
    "f02": ("gpu_nvlink", ["amdgpu 0000:c3:00.0: amdgpu: 2 new uncorrectable hardware errors detected in xgmi block"]),
    "f03": (
        "gpu_unavailable",
        [
            "amdgpu 0000:0c:00.0: amdgpu: ring comp_1.0.1 timeout, signaled seq=44, emitted seq=46",
            "amdgpu 0000:0c:00.0: amdgpu: GPU reset begin!. Source:  1",
            "amdgpu 0000:0c:00.0: amdgpu: GPU reset(2) failed",
        ],
    ),
    "f04": (None, ["amdgpu 0000:0c:00.0: amdgpu: 0 uncorrectable hardware errors detected in umc block"]),
    "f05": (
        None,
        [
            "amdgpu 0000:0c:00.0: amdgpu: ring comp_1.0.1 timeout, signaled seq=44, emitted seq=46",
            "amdgpu 0000:0c:00.0: amdgpu: GPU reset(2) succeeded!",
        ],
    ),
    "f06": ("gpu_unavailable", ["habanalabs hl0: Heartbeat failed, device is not operational"]),
    "f07": ("gpu_unavailable", ["NVRM: GPU 0000:29:00.0: GPU has fallen off the bus."]),
    "f08": ("eth_link", ["mlx5_core 0006:09:00.0 enP6p9s0np0: Link down"]),
    "f09": ("ib_link", ["mlx5_core 0000:ab:00.0 mlx5_5: Port: 1 Link DOWN"]),
    "f10": (None, ["mlx5_core 0000:5c:00.0: Detected insufficient power on the PCIe slot (27W)."]),
    "f11": ("pcie", ["pcieport 0000:15:01.0: DPC: containment event, status:0x1f01 source:0x0000"]),
    "f12": ("main_memory", ["mce: Uncorrected hardware memory error in user-access at 7f2c00"]),
    "f13": ("block_device", ['XFS (nvme1n1): metadata I/O error in "xfs_da_read_buf+0xd9/0x130" at daddr 0x3a00']),
    # Non-fatal for the driver, but a program lost its GPU; or only the line of the clean-up shows the cause.
    "x01": ("gpu_nvlink", [LINK.format("Fatal")]),
    "x02": (None, [LINK.format("Nonfatal")]),
    "x03": ("gpu_nvlink", [LINK.format("Nonfatal"), f"{CLEAN_UP}146"]),
    "x04": ("gpu_memory", [f"{CLEAN_UP}94"]),
    "x05": ("gpu_memory", [f"{XID}94, Contained: SM (0x1)", f"{CLEAN_UP}94"]),
    "x06": (None, [f"{XID}13, Graphics Exception: Shader Program Header 11 Error", f"{CLEAN_UP}13"]),
    # The fault next to it requires a reset or reboot.
    "x07": ("gpu_unavailable", [f"{RECOVERY}0x2 (Node Reboot Required)"]),
    "x08": ("gpu_driver_firmware", [f"{XID}109, CTX SWITCH TIMEOUT", f"{RECOVERY}0x1 (GPU Reset Required)"]),
    "x09": ("gpu_memory", [f"{XID}95, Uncontained: LTC TAG", f"{RECOVERY}0x1 (GPU Reset Required)"]),
    "x10": (None, [f"{RECOVERY}0x3 (Drain P2P)"]),
    "x11": (None, [f"{RECOVERY}0x4 (Drain and Reset)"]),
}
"""The cause of a failed job and the lines just before its end, by node."""

LOST = {
    "n01": "watchdog: BUG: soft lockup - CPU#85 stuck for 159s! [python:4242]",
    "n02": "NMI watchdog: Watchdog detected hard LOCKUP on cpu 161",
    "n03": "Kernel panic - not syncing: Fatal exception in interrupt",
}
"""Last lines of nodes that die."""


def wordings():
    """Write the example of each rule into the log of a separate node, between lines without a meaning."""
    cluster = Cluster().job(1, f"r[00-{len(RULES) - 1:02}]", at(1), at(20))
    for node, rule in NODES.items():
        cluster.kernel(node, at(10), "usb 1-1: new high-speed USB device")
        cluster.kernel(node, at(11), rule["example"])
        cluster.kernel(node, at(12), "usb 1-1: USB disconnect, device number 2")
    return cluster


def faults():
    """Write each case's lines just before the end of a separate job."""
    cluster = Cluster('[accelerators]\ngres = ["gpu", "hpu"]\n')
    for number, (node, (_, lines)) in enumerate(FAULTS.items()):
        resources = "cpu=64,gres/hpu=8,node=1" if node == "f06" else "cpu=64,gres/gpu=8,node=1"
        cluster.job(number, node, at(1), at(10), "FAILED", AllocTRES=resources, ReqTRES=resources)
        for second, line in enumerate(lines):
            cluster.kernel(node, at(9, minutes=59, seconds=10 * second), line)
    for number, (node, line) in enumerate(LOST.items(), len(FAULTS)):
        cluster.job(number, node, at(1), at(10), "NODE_FAIL")
        cluster.kernel(node, at(9, minutes=58), line)
    return cluster


CLUSTERS = {"kernel-wordings": wordings(), "kernel-faults": faults()}


def test_the_example_of_each_rule_is_an_event_of_its_category(minimal):
    events = "node_id, check_name, failure_category, evidence_class from marts.fct_health_events"
    expected = {
        (node, rule["kind"], rule["failure_category"], rule["evidence_class"])
        for node, rule in NODES.items()
        if rule["is_event"] == "true" and rule["kind"] != "xid"
    }
    assert {row for row in ask(minimal, "kernel-wordings", events) if row[1] != "xid"} == expected


def test_a_job_that_fails_beside_such_a_line_has_its_cause(minimal):
    found = dict(ask(minimal, "kernel-faults", "job_id_raw, failure_category from marts.fct_attempts"))
    expected = [*(category for category, _ in FAULTS.values()), *("system_services" for _ in LOST)]
    assert found == dict(enumerate(expected))


def test_a_line_that_follows_a_fault_proves_it_once(minimal):
    proofs = "node_id from marts.fct_health_events where node_id like 'x%' and is_evidence order by node_id"
    proven = [(node,) for node, (category, _) in FAULTS.items() if category and node > "x"]
    assert ask(minimal, "kernel-faults", proofs) == proven


def test_the_driver_tells_the_vendor_and_any_accelerator_is_a_gpu(minimal):
    vendors = dict(ask(minimal, "kernel-faults", "node_id, gpu_vendor from marts.dim_nodes"))
    assert {vendors[node] for node in ("f01", "f02", "f03", "f05")} == {"amd"}
    assert (vendors["f06"], vendors["f07"], vendors["f08"]) == ("intel", "nvidia", "nvidia")
    assert ask(minimal, "kernel-faults", "gpu_count from marts.fct_attempts where job_id = '5'") == [(8,)]
