"""The symptoms of each cause: kernel lines, failing checks in GCM's words, and the reason written on the drained node.

A fault may show several symptoms. A PCIe fault often brings Xid 79, and then often a critical interrupt in the BMC's
log. A few hardware faults show a second category, which `others` of the symptoms names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from assets.simulation.causes import Cooccurrence
from assets.simulation.ledger import Symptoms
from assets.simulation.states import LOST
from assets.simulation.xids import GPU_BUSES, XID_CATEGORIES, xid_finding, xid_line

Chance = Callable[[str], float]
"""Returns a number from 0 to 1 that decides a question."""

COMPANIONS = {
    "pcie": ("gpu_memory", "gpu_nvlink"),
    "gpu_memory": ("gpu_nvlink", "gpu_unavailable"),
    "gpu_nvlink": ("gpu_unavailable",),
    "gpu_unavailable": ("ib_link",),
    "ib_link": ("eth_link",),
    "block_device": ("host_hardware",),
    "main_memory": ("host_hardware",),
    "host_hardware": ("eth_link",),
    "eth_link": ("system_services",),
}
"""Hardware faults and the category that may come along. It is always less telling, so the cause can still be found."""
GPU_COMPANIONS = ("gpu_memory", "gpu_nvlink", "gpu_unavailable")
"""What may come along with an InfiniBand fault and hides it, because adapter and GPU share a PCIe switch."""


@dataclass
class Scene:
    """One fault and what it has shown so far."""

    rng: np.random.Generator
    gpu: int
    chance: Chance
    ticket: int = 0
    process: int = 0
    code: int | None = None
    companion: str | None = None
    later: float = 0.0
    kernel: list[tuple[float, str]] = field(default_factory=list)
    checks: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    reason: str = ""

    def says(self, line: str, after: float = 0.0) -> None:
        """Add a kernel line, so many seconds after the fault."""
        self.kernel.append((self.later + after, line))

    def fails(self, check: str, message: str) -> None:
        """Add a failing check."""
        self.checks[check] = message

    def says_xid(self, code: int, after: float = 0.0) -> None:
        """Add the driver's line for an Xid."""
        self.says(xid_line(code, self.gpu, self.process), after)

    def shows_xid(self, code: int, after: float = 0.0) -> None:
        """Add an Xid to the kernel log and to the check. The check names each code once, all in one message."""
        self.says_xid(code, after)
        found = self.checks.get("xid errors", "")
        if xid_finding(code) not in found:
            self.fails("xid errors", found + xid_finding(code))

    def brings(self, category: str) -> None:
        """Note that another category shows as well."""
        self.others.append(category)

    def symptoms(self) -> Symptoms:
        """Return all symptoms. The first failing check is the reason on the node."""
        reason = self.reason
        if not reason and self.checks:
            check, message = next(iter(self.checks.items()))
            reason = f"HC: {check}: {message.strip()}"
        shown = Symptoms(self.kernel, list(self.checks.items()), others=tuple(self.others))
        shown.reason = reason or shown.reason
        return shown


def _gpu_memory(scene: Scene, together: Cooccurrence) -> None:
    scene.shows_xid(scene.code or (48 if scene.rng.random() < 0.7 else 95))
    if scene.rng.random() < 0.5:
        scene.fails(
            "nvidia smi ecc_uncorrected", f"GPU {scene.gpu}: uncorrected volatile ECC errors above threshold, 4 > 0."
        )


def _gpu_unavailable(scene: Scene, together: Cooccurrence) -> None:
    scene.shows_xid(79)
    scene.fails(
        "nvidia smi gpu_num",
        "Number of GPUs present is different from the expected number, 8. Number of GPUs present: 7",
    )


def _gpu_driver_firmware(scene: Scene, together: Cooccurrence) -> None:
    code = scene.code or 119
    for repeat in range(3 if code == 119 else 1):
        scene.shows_xid(code, 0.4 * repeat)


def _gpu_nvlink(scene: Scene, together: Cooccurrence) -> None:
    if scene.code is None and scene.rng.random() < 0.4:
        scene.says("nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 30 LTSSM Fault Up")
    else:
        scene.shows_xid(74)
    scene.fails("check dcgmi nvlink status", f"GPU {scene.gpu}: NVLink 6 is down.")


def _pcie(scene: Scene, together: Cooccurrence) -> None:
    port = f"0000:{GPU_BUSES[scene.gpu]}:00.0"
    scene.says(f"pcieport {port}: AER: Uncorrected (Fatal) error received: {port}")
    scene.fails("check pci", f"PCI device {port}: link width is x8, expected x16.")
    if scene.chance("pcie with Xid 79") < together.pcie_with_xid_79:
        scene.shows_xid(79, 0.2)
        scene.brings("gpu_unavailable")
        if scene.chance("pcie, Xid 79 with interrupt") < together.interrupt_given_xid_79:
            scene.fails("ipmitool sel", "Detected error: Critical Interrupt #0x90, Bus Fatal Error")
            scene.brings("pcie")


def _ib_link(scene: Scene, together: Cooccurrence) -> None:
    scene.says(f"mlx5_core 0000:{GPU_BUSES[scene.gpu]}:00.1 ibp{scene.gpu}: Link down")
    scene.fails("check ibstat", f"ib link mlx5_{scene.gpu} is down.")


def _filesystem_mount(scene: Scene, together: Cooccurrence) -> None:
    scene.says("nfs: server nfs02 not responding, still trying")
    scene.fails("mounted directory", "Directory /checkpoint: directory is not mounted.")


def _main_memory(scene: Scene, together: Cooccurrence) -> None:
    scene.says(_memory_error("1 UE"))
    scene.fails("ipmitool sel", "Detected error: Memory #0x87, Uncorrectable ECC")


def _memory_error(kind: str) -> str:
    return f"EDAC MC0: {kind} memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1f3a)"


def _block_device(scene: Scene, together: Cooccurrence) -> None:
    scene.says("nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff")
    scene.says("I/O error, dev nvme1n1, sector 81920 op 0x1:(WRITE)", 2.1)
    scene.fails("check blockdev", "Block device nvme1n1 is missing.")


def _host_hardware(scene: Scene, together: Cooccurrence) -> None:
    # Without it, a person's reason alone would lose against the evidence of what came along.
    if scene.companion or scene.rng.random() < 0.5:
        scene.fails("ipmitool sel", "Detected error: Power Supply #0x51, Power Supply AC lost")
    scene.reason = f"PSU failure, ticket {scene.ticket}"


def _machine_check(scene: Scene, together: Cooccurrence) -> None:
    scene.says("mce: [Hardware Error]: CPU 32: Machine Check Exception: 5 Bank 6: be00000000800400")
    scene.fails("mce errors", "1 MCE event(s) detected (critical=1).")


def _eth_link(scene: Scene, together: Cooccurrence) -> None:
    scene.says("mlx5_core 0000:63:00.0 eth0: Link down")
    scene.fails("check ethlink", "Ethernet link eth0 is DOWN.")


def _system_services(scene: Scene, together: Cooccurrence) -> None:
    scene.fails("service status", "Service sssd: not running. error_code: 3, output: inactive\n")


SHOWS: dict[str, Callable[[Scene, Cooccurrence], None]] = {
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
SHOWS_ALONG = SHOWS | {"host_hardware": _machine_check}
"""What a category shows when it comes along with another one. The host shows a machine check, not a power supply."""
HAS_LAST_WORDS = ("gpu_unavailable", "pcie", "main_memory")
"""Causes that leave kernel lines before the node falls silent. The other causes leave none."""

ALARM_MESSAGES = {
    "link flaps": "ib link flap detected.\n",
    "check ibstat": "ib link mlx5_{gpu} is down.",
    "nvidia smi ecc_uncorrected": "GPU {gpu}: uncorrected volatile ECC errors above threshold, 1 > 0.",
    "check dcgmi nvlink status": "GPU {gpu}: NVLink 6 is down.",
    "check pci": "PCI device 0000:{bus}:00.0: link width is x8, expected x16.",
    "mounted directory": "Directory /checkpoint: directory is not mounted.",
    "service status": "Service sssd: not running. error_code: 3, output: inactive\n",
}
"""Checks that raise false alarms, with the messages of real failures."""


def _companion(rng: np.random.Generator, chance: Chance, together: Cooccurrence, category: str) -> str | None:
    """Draw the category that comes along with a fault, mostly none."""
    if category not in COMPANIONS:
        return None
    drawn, among = chance("ib companion" if category == "ib_link" else "companion"), COMPANIONS[category]
    if category == "ib_link" and drawn < together.ib_with_gpu:
        among = GPU_COMPANIONS
    elif drawn >= together.hardware_with_other:
        return None
    return among[int(rng.random() * len(among))]


def show(  # noqa: PLR0917
    rng: np.random.Generator,
    cooccurrence: Cooccurrence,
    category: str,
    mechanism: int,
    gpu: int,
    ticket: int,
    code: int | None = None,
    chance: Chance | None = None,
) -> Symptoms:
    """Return the symptoms of one fault.

    Parameters
    ----------
    rng
        Source of chance.
    cooccurrence
        How often other symptoms come along.
    category, mechanism
        What broke and how it affects the jobs.
    gpu
        The GPU concerned, for causes that have one.
    ticket
        Number a person would write into the reason.
    code
        The Xid to show instead of the category's usual ones.
    chance
        Source of the numbers that decide what comes along; `rng` if it is left out.

    Raises
    ------
    ValueError
        When the Xid does not stand for the category.
    """
    if code is not None and XID_CATEGORIES.get(code) != category:
        raise ValueError(f"Xid {code} does not stand for {category}")
    if category not in SHOWS or (mechanism == LOST and category not in HAS_LAST_WORDS):
        return Symptoms()
    process = int(rng.integers(20_000, 4_000_000))
    chance = chance or (lambda question: float(rng.random()))
    scene = Scene(rng, gpu, chance, ticket, process, code, _companion(rng, chance, cooccurrence, category))
    SHOWS[category](scene, cooccurrence)
    if scene.companion:
        # NVLink shows its Xid here, because the SXid of a switch would name no GPU.
        scene.code, scene.later = (74 if scene.companion == "gpu_nvlink" else None), float(rng.uniform(0.1, 0.9))
        SHOWS_ALONG[scene.companion](scene, cooccurrence)
        scene.brings(scene.companion)
    if mechanism == LOST:
        before = float(rng.uniform(3, 20))
        spoken = [(after - before, line) for after, line in scene.kernel]
        # What only a check could have found is not found: the interrupt of a PCIe fault.
        return Symptoms(spoken, others=tuple(other for other in scene.others if other != category))
    return scene.symptoms()


def show_low_severity(rng: np.random.Generator, category: str, gpu: int) -> Symptoms:
    """Return the symptoms of a finding that can wait until the node's jobs have ended."""
    scene = Scene(rng, gpu, lambda question: float(rng.random()))
    if category == "gpu_memory":
        scene.says_xid(63)
        scene.fails("nvidia smi row_remap_pending", f"GPU {gpu}: row remap pending.")
    elif category == "main_memory":
        scene.says(_memory_error("12 CE"))
        scene.fails("ipmitool sel", "Detected error: Memory #0x87, Correctable ECC logging limit reached")
    else:
        scene.fails("disk usage", "Disk usage of / is 97%, above the critical threshold 95%.")
    return scene.symptoms()


def show_noise(check: str, gpu: int = 0) -> Symptoms:
    """Return the symptoms of a check that fails with a real failure's message. The kernel is quiet."""
    return Symptoms(checks=[(check, ALARM_MESSAGES[check].format(gpu=gpu, bus=GPU_BUSES[gpu]))], reason="")


def show_alarm(rng: np.random.Generator, gpu: int) -> Symptoms:
    """Return the symptoms of a false alarm of any check."""
    return show_noise(list(ALARM_MESSAGES)[int(rng.random() * len(ALARM_MESSAGES))], gpu)
