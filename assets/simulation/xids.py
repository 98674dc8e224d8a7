"""The Xids of simulated GPUs: the driver's kernel line, the causes that GCM names, and the category of each."""

from __future__ import annotations

GPU_BUSES = ("07", "0f", "47", "4e", "87", "90", "b7", "bd")
"""PCI bus of each GPU of a node."""

XID_CAUSES = {
    13: "Bus Error, Driver Error, FB Corruption, HW Error, System Memory Corruption, Thermal Issue, User App Error",
    31: "Driver Error, HW Error, User App Error",
    43: "Driver Error, User App Error",
    48: "HW Error",
    62: "Driver Error, HW Error, Thermal Issue",
    74: "Bus Error, Driver Error, HW Error",
    79: "Bus Error, Driver Error, HW Error, System Memory Corruption, Thermal Issue",
    95: "HW Error",
    119: "Driver Error, HW Error",
}
XID_TEXT = {
    13: "pid={pid}, name=python, Graphics SM Warp Exception on (GPC 2, TPC 1, SM 0): Out Of Range Address",
    31: "pid={pid}, name=python, Ch 00000008, intr 00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_3 faulted "
    "@ 0x7f2c_4a000000. Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ",
    43: "pid={pid}, name=python, Ch 00000010",
    48: "pid={pid}, name=python, DBE (double bit error) ECC Error",
    62: "{pid:08x} 00002040 00000000 2066234a 20662ba8 20664274 2065f7cc 2063f490",
    63: "pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate.",
    74: "pid={pid}, name=python, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
    79: "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    95: "pid={pid}, name=python, Uncontained: SRAM ECC error, RST: Yes, D-RST: No",
    119: "pid={pid}, name=python, Timeout after 6s of waiting for RPC response from GPU{gpu} GSP!",
}
XID_CATEGORIES = {
    48: "gpu_memory",
    62: "gpu_driver_firmware",
    74: "gpu_nvlink",
    79: "gpu_unavailable",
    95: "gpu_memory",
    119: "gpu_driver_firmware",
}
"""The category of each Xid of a fault. The other Xids come from users' programs or are of low severity."""


def xid_line(code: int, gpu: int, process: int) -> str:
    """Return the driver's kernel line for an Xid."""
    return f"NVRM: Xid (PCI:0000:{GPU_BUSES[gpu]}:00): {code}, {XID_TEXT[code].format(pid=process, gpu=gpu)}"


def xid_finding(code: int) -> str:
    """Return the part of the check's message about an Xid."""
    return f"XID error: {code}, XID causes: {XID_CAUSES[code]}. "
