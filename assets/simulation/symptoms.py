"""What each cause shows: kernel lines, failing checks in GCM's words, and the reason written on the drained node.

Co-occurrence is part of it: a PCIe fault often brings XID 79, and then often a critical interrupt in the BMC's log.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from assets.simulation.ledger import Symptoms
from assets.simulation.states import LOST

GPU_BUSES = ("07", "0f", "47", "4e", "87", "90", "b7", "bd")
XID_CAUSES = {
    13: "Bus Error, Driver Error, FB Corruption, HW Error, System Memory Corruption, Thermal Issue, User App Error",
    31: "Driver Error, HW Error, User App Error",
    43: "Driver Error, User App Error",
    48: "HW Error",
    74: "Bus Error, Driver Error, HW Error",
    79: "Bus Error, Driver Error, HW Error, System Memory Corruption, Thermal Issue",
    95: "HW Error",
    119: "Driver Error, HW Error",
}
XID_TEXT = {
    48: "pid={pid}, name=python, DBE (double bit error) ECC Error",
    63: "pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate.",
    74: "pid={pid}, name=python, NVLink: fatal error detected on link 6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
    79: "pid='<unknown>', name=<unknown>, GPU has fallen off the bus.",
    95: "pid={pid}, name=python, Uncontained: SRAM ECC error, RST: Yes, D-RST: No",
    119: "pid={pid}, name=python, Timeout after 6s of waiting for RPC response from GPU{gpu} GSP!",
}
PCIE_WITH_XID_79 = 0.43
PCIE_XID_79_WITH_INTERRUPT = 0.49


@dataclass(frozen=True)
class Scene:
    """One fault as its symptoms see it."""

    rng: np.random.Generator
    gpu: int
    process: int
    ticket: int

    def xid(self, code: int) -> str:
        """Give the driver's line for an Xid."""
        text = XID_TEXT[code].format(pid=self.process, gpu=self.gpu)
        return f"NVRM: Xid (PCI:0000:{GPU_BUSES[self.gpu]}:00): {code}, {text}"

    def xid_check(self, code: int) -> tuple[str, str]:
        """Give the failing check that found an Xid."""
        return "xid errors", f"XID error: {code}, XID causes: {XID_CAUSES[code]}. "

    def fatal_bus_error(self) -> str:
        """Give the kernel's line for a fatal PCIe error."""
        port = f"0000:{GPU_BUSES[self.gpu]}:00.0"
        return f"pcieport {port}: AER: Uncorrected (Fatal) error received: {port}"

    def memory_error(self, kind: str) -> str:
        """Give the kernel's line for errors of main memory."""
        return f"EDAC MC0: {kind} memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1f3a)"


def _shown(kernel: list[tuple[float, str]], checks: list[tuple[str, str]]) -> Symptoms:
    name, message = checks[0]
    return Symptoms(kernel, checks, f"HC: {name}: {message.strip()}")


def _gpu_memory(scene: Scene) -> Symptoms:
    code = 48 if scene.rng.random() < 0.7 else 95
    checks = [scene.xid_check(code)]
    if scene.rng.random() < 0.5:
        message = f"GPU {scene.gpu}: uncorrected volatile ECC errors above threshold, 4 > 0."
        checks.append(("nvidia smi ecc_uncorrected", message))
    return _shown([(0.0, scene.xid(code))], checks)


def _gpu_unavailable(scene: Scene) -> Symptoms:
    message = "Number of GPUs present is different from the expected number, 8. Number of GPUs present: 7"
    return _shown([(0.0, scene.xid(79))], [scene.xid_check(79), ("nvidia smi gpu_num", message)])


def _gpu_driver_firmware(scene: Scene) -> Symptoms:
    return _shown([(0.4 * repeat, scene.xid(119)) for repeat in range(3)], [scene.xid_check(119)])


def _gpu_nvlink(scene: Scene) -> Symptoms:
    links = ("check dcgmi nvlink status", f"GPU {scene.gpu}: NVLink 6 is down.")
    if scene.rng.random() < 0.4:
        line = "nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 30 LTSSM Fault Up"
        return _shown([(0.0, line)], [links])
    return _shown([(0.0, scene.xid(74))], [scene.xid_check(74), links])


def _pcie(scene: Scene) -> Symptoms:
    kernel = [(0.0, scene.fatal_bus_error())]
    device = f"0000:{GPU_BUSES[scene.gpu]}:00.0"
    checks = [("check pci", f"PCI device {device}: link width is x8, expected x16.")]
    if scene.rng.random() < PCIE_WITH_XID_79:
        kernel.append((0.2, scene.xid(79)))
        checks.append(scene.xid_check(79))
        if scene.rng.random() < PCIE_XID_79_WITH_INTERRUPT:
            checks.append(("ipmitool sel", "Detected error: Critical Interrupt #0x90, Bus Fatal Error"))
    return _shown(kernel, checks)


def _ib_link(scene: Scene) -> Symptoms:
    port = scene.gpu
    line = f"mlx5_core 0000:{GPU_BUSES[port]}:00.1 ibp{port}: Link down"
    return _shown([(0.0, line)], [("check ibstat", f"ib link mlx5_{port} is down.")])


def _filesystem_mount(scene: Scene) -> Symptoms:
    line = "nfs: server nfs02 not responding, still trying"
    return _shown([(0.0, line)], [("mounted directory", "Directory /checkpoint: directory is not mounted.")])


def _main_memory(scene: Scene) -> Symptoms:
    line = scene.memory_error("1 UE")
    return _shown([(0.0, line)], [("ipmitool sel", "Detected error: Memory #0x87, Uncorrectable ECC")])


def _block_device(scene: Scene) -> Symptoms:
    lines = [
        (0.0, "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff"),
        (2.1, "I/O error, dev nvme1n1, sector 81920 op 0x1:(WRITE)"),
    ]
    return _shown(lines, [("check blockdev", "Block device nvme1n1 is missing.")])


def _host_hardware(scene: Scene) -> Symptoms:
    seen = scene.rng.random() < 0.5
    checks = [("ipmitool sel", "Detected error: Power Supply #0x51, Power Supply AC lost")] if seen else []
    return Symptoms([], checks, f"PSU failure, ticket {scene.ticket}")


def _eth_link(scene: Scene) -> Symptoms:
    line = "mlx5_core 0000:63:00.0 eth0: Link down"
    return _shown([(0.0, line)], [("check ethlink", "Ethernet link eth0 is DOWN.")])


def _system_services(scene: Scene) -> Symptoms:
    message = "Service sssd: not running. error_code: 3, output: inactive\n"
    return _shown([], [("service status", message)])


SHOWS: dict[str, Callable[[Scene], Symptoms]] = {
    "gpu_memory": _gpu_memory,
    "gpu_unavailable": _gpu_unavailable,
    "gpu_driver_firmware": _gpu_driver_firmware,
    "gpu_nvlink": _gpu_nvlink,
    "pcie": _pcie,
    "ib_link": _ib_link,
    "filesystem_mount": _filesystem_mount,
    "main_memory": _main_memory,
    "block_device": _block_device,
    "host_hardware": _host_hardware,
    "eth_link": _eth_link,
    "system_services": _system_services,
}
LAST_WORDS: dict[str, Callable[[Scene], str]] = {
    "gpu_unavailable": lambda scene: scene.xid(79),
    "pcie": lambda scene: scene.fatal_bus_error(),
    "main_memory": lambda scene: scene.memory_error("1 UE"),
}
"""What a node says before it falls silent; other causes leave nothing."""


def show_alarm(rng, gpu):
    return Symptoms([], [("check ibstat", "ib link mlx5_0 is down.")])


def show(rng, cooccurrence, category: str, mechanism: int, gpu: int, ticket: int, code=None) -> Symptoms:
    """Give the symptoms of one fault.

    Parameters
    ----------
    rng
        Source of chance.
    category, mechanism
        What broke and how it reaches the jobs.
    gpu
        The GPU concerned, for causes that have one.
    ticket
        Number a person would write into the reason.
    """
    scene = Scene(rng, gpu, int(rng.integers(20_000, 4_000_000)), ticket)
    if mechanism == LOST:
        spoken = LAST_WORDS.get(category)
        return Symptoms([(-float(rng.uniform(1, 20)), spoken(scene))] if spoken else [])
    return SHOWS[category](scene) if category in SHOWS else Symptoms()


def show_low_severity(rng: np.random.Generator, category: str, gpu: int) -> Symptoms:
    """Give the symptoms of a finding that can wait until the node's jobs have ended."""
    scene = Scene(rng, gpu, 0, 0)
    if category == "gpu_memory":
        return _shown([(0.0, scene.xid(63))], [("nvidia smi row_remap_pending", f"GPU {gpu}: row remap pending.")])
    if category == "main_memory":
        message = "Detected error: Memory #0x87, Correctable ECC logging limit reached"
        return _shown([(0.0, scene.memory_error("12 CE"))], [("ipmitool sel", message)])
    return _shown([], [("disk usage", "Disk usage of / is 97%, above the critical threshold 95%.")])
