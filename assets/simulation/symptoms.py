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

Chance = Callable[[str], float]
"""Returns a number from 0 to 1 that decides a question."""
GOLDEN_RATIO = (5**0.5 - 1) / 2

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
"""Categories that may accompany a hardware fault. They are less specific, so the cause can still be found."""
GPU_COMPANIONS = ("gpu_memory", "gpu_nvlink", "gpu_unavailable")
"""Categories that may accompany and hide an InfiniBand fault, because adapter and GPU share a PCIe switch."""

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
XIDS = {
    "gpu_memory": (48, 95),
    "gpu_driver_firmware": (62, 119),
    "gpu_nvlink": (74,),
    "gpu_unavailable": (79,),
}
"""The Xids of a fault, by its category. The other Xids come from users' programs or are of low severity."""


def xid_line(code: int, gpu: int, process: int) -> str:
    """Return the driver's kernel line for an Xid."""
    return f"NVRM: Xid (PCI:0000:{GPU_BUSES[gpu]}:00): {code}, {XID_TEXT[code].format(pid=process, gpu=gpu)}"


@dataclass(frozen=True)
class Wording:
    """The texts of a failure: a check and its message, kernel lines and their offsets, and a line that ends it."""

    check: str = ""
    message: str = ""
    kernel: tuple[tuple[float, str], ...] = ()
    recovery: str = ""


MEMORY_ERROR = "EDAC MC0: {} memory read error on CPU_SrcID#0_MC#0_Chan#1_DIMM#0 (channel:1 slot:0 page:0x1f3a)"
PLAIN = {
    "ib_link": Wording(
        "check ibstat",
        "ib link mlx5_{gpu} is down.",
        ((0.0, "mlx5_core 0000:{bus}:00.1 ibp{gpu}: Link down"),),
        "mlx5_core 0000:{bus}:00.1 ibp{gpu}: Link up",
    ),
    "filesystem_mount": Wording(
        "mounted directory",
        "Directory /checkpoint: directory is not mounted.",
        ((0.0, "nfs: server nfs02 not responding, still trying"),),
        "nfs: server nfs02 OK",
    ),
    "main_memory": Wording(
        "ipmitool sel", "Detected error: Memory #0x87, Uncorrectable ECC", ((0.0, MEMORY_ERROR.format("1 UE")),)
    ),
    "block_device": Wording(
        "check blockdev",
        "Block device nvme1n1 is missing.",
        (
            (0.0, "nvme nvme1: controller is down; will reset: CSTS=0xffffffff, PCI_STATUS=0xffff"),
            (2.1, "I/O error, dev nvme1n1, sector 81920 op 0x1:(WRITE)"),
        ),
    ),
    "eth_link": Wording(
        "check ethlink", "Ethernet link eth0 is DOWN.", ((0.0, "mlx5_core 0000:63:00.0 eth0: Link down"),)
    ),
    "system_services": Wording("service status", "Service sssd: not running. error_code: 3, output: inactive\n"),
}
"""The texts of most causes. The texts of the others depend on chance or on the companion."""
SHOWN = {"gpu_memory", "gpu_unavailable", "gpu_driver_firmware", "gpu_nvlink", "pcie", "host_hardware", *PLAIN}
MACHINE_CHECK = Wording(
    "mce errors",
    "1 MCE event(s) detected (critical=1).",
    ((0.0, "mce: [Hardware Error]: CPU 32: Machine Check Exception: 5 Bank 6: be00000000800400"),),
)
"""The texts of a host fault that accompanies another cause, in place of a power supply."""
LOW_SEVERITY = {
    "main_memory": Wording(
        "ipmitool sel",
        "Detected error: Memory #0x87, Correctable ECC logging limit reached",
        ((0.0, MEMORY_ERROR.format("12 CE")),),
    ),
    "system_services": Wording("disk usage", "Disk usage of / is 97%, above the critical threshold 95%."),
}
ALARM_MESSAGES = {
    "link flaps": "ib link flap detected.\n",
    "check ibstat": PLAIN["ib_link"].message,
    "nvidia smi ecc_uncorrected": "GPU {gpu}: uncorrected volatile ECC errors above threshold, 1 > 0.",
    "check dcgmi nvlink status": "GPU {gpu}: NVLink 6 is down.",
    "check pci": "PCI device 0000:{bus}:00.0: link width is x8, expected x16.",
    "mounted directory": PLAIN["filesystem_mount"].message,
    "service status": PLAIN["system_services"].message,
}
"""Checks that raise false alarms, with the messages of real failures."""
HAS_LAST_WORDS = ("gpu_unavailable", "pcie", "main_memory")
"""Causes that leave kernel lines before the node falls silent. The other causes leave none."""


class EvenChance:
    """Numbers from 0 to 1 that are spread evenly even if only a few are drawn. Each question has a sequence.

    With independent draws, a share among a few dozen faults would differ from the planted one by several points. The
    multiples of the golden ratio fill the interval most evenly.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._last: dict[str, float] = {}

    def __call__(self, question: str) -> float:
        """Return the next number of the question's sequence. A sequence begins at a random place."""
        last = self._last.get(question)
        self._last[question] = float(self._rng.random()) if last is None else (last + GOLDEN_RATIO) % 1.0
        return self._last[question]


@dataclass
class Scene:
    """One fault and what it has shown so far."""

    rng: np.random.Generator
    gpu: int
    chance: Chance
    together: Cooccurrence = field(default_factory=Cooccurrence)
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
        """Add a kernel line, `after` seconds after the fault."""
        self.kernel.append((self.later + after, line))

    def shows(self, wording: Wording) -> None:
        """Add the texts of a failure."""
        names = {"gpu": self.gpu, "bus": GPU_BUSES[self.gpu]}
        for after, line in wording.kernel:
            self.says(line.format(**names), after)
        self.checks[wording.check] = wording.message.format(**names)

    def shows_xid(self, code: int, after: float = 0.0) -> None:
        """Add an Xid to the kernel log and to the check. The check names all codes in one message, each once."""
        self.says(xid_line(code, self.gpu, self.process), after)
        found, finding = self.checks.get("xid errors", ""), f"XID error: {code}, XID causes: {XID_CAUSES[code]}. "
        if finding not in found:
            self.checks["xid errors"] = found + finding

    def show_category(self, category: str) -> None:
        """Add the texts of a category."""
        if category in PLAIN:
            self.shows(PLAIN[category])
        else:
            getattr(self, f"_show_{category}")()

    def _show_gpu_memory(self) -> None:
        self.shows_xid(self.code or (48 if self.rng.random() < 0.7 else 95))
        if self.rng.random() < 0.5:
            message = f"GPU {self.gpu}: uncorrected volatile ECC errors above threshold, 4 > 0."
            self.checks["nvidia smi ecc_uncorrected"] = message

    def _show_gpu_unavailable(self) -> None:
        self.shows_xid(79)
        message = "Number of GPUs present is different from the expected number, 8. Number of GPUs present: 7"
        self.checks["nvidia smi gpu_num"] = message

    def _show_gpu_driver_firmware(self) -> None:
        code = self.code or 119
        for repeat in range(3 if code == 119 else 1):
            self.shows_xid(code, 0.4 * repeat)

    def _show_gpu_nvlink(self) -> None:
        if self.code is None and self.rng.random() < 0.4:
            self.says("nvidia-nvswitch3: SXid (PCI:0000:c4:00.0): 20034, Fatal, Link 30 LTSSM Fault Up")
        else:
            self.shows_xid(74)
        self.checks["check dcgmi nvlink status"] = f"GPU {self.gpu}: NVLink 6 is down."

    def _show_host_hardware(self) -> None:
        # Without this check, the evidence of the companion would win over a person's reason.
        if self.companion or self.rng.random() < 0.5:
            self.checks["ipmitool sel"] = "Detected error: Power Supply #0x51, Power Supply AC lost"
        self.reason = f"PSU failure, ticket {self.ticket}"

    def _show_pcie(self) -> None:
        port = f"0000:{GPU_BUSES[self.gpu]}:00.0"
        self.says(f"pcieport {port}: AER: Uncorrected (Fatal) error received: {port}")
        self.checks["check pci"] = f"PCI device {port}: link width is x8, expected x16."
        if self.chance("pcie with Xid 79") < self.together.pcie_with_xid_79:
            self.shows_xid(79, 0.2)
            self.others.append("gpu_unavailable")
            given_xid = self.together.pcie_with_xid_79_and_interrupt / self.together.pcie_with_xid_79
            if self.chance("pcie, Xid 79 with interrupt") < given_xid:
                self.checks["ipmitool sel"] = "Detected error: Critical Interrupt #0x90, Bus Fatal Error"
                self.others.append("pcie")

    def show_companion(self, category: str) -> None:
        """Add the texts of a category that accompanies the cause."""
        # NVLink shows its Xid here, because the SXid of a switch would name no GPU.
        self.code, self.later = (74 if category == "gpu_nvlink" else None), float(self.rng.uniform(0.1, 0.9))
        if category == "host_hardware":
            self.shows(MACHINE_CHECK)
        else:
            self.show_category(category)
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


def _companion(rng: np.random.Generator, chance: Chance, together: Cooccurrence, category: str) -> str | None:
    """Draw the category that accompanies a fault, mostly None."""
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

    The reason may contain the ticket's number. `code` is an Xid that replaces the category's usual one. `chance`
    returns the numbers that decide on companions; by default, `rng` draws them.
    """
    if code is not None and code not in XIDS.get(category, ()):
        raise ValueError(f"Xid {code} does not stand for {category}")
    if category not in SHOWN or (mechanism == LOST and category not in HAS_LAST_WORDS):
        return Symptoms()
    process = int(rng.integers(20_000, 4_000_000))
    chance = chance or (lambda question: float(rng.random()))
    companion = _companion(rng, chance, cooccurrence, category)
    scene = Scene(rng, gpu, chance, cooccurrence, ticket, process, code, companion)
    scene.show_category(category)
    if companion:
        scene.show_companion(companion)
    if mechanism == LOST:
        before = float(rng.uniform(3, 20))
        spoken = [(after - before, line) for after, line in scene.kernel]
        # Nothing finds what only a check could find: the interrupt of a PCIe fault.
        return Symptoms(spoken, others=tuple(other for other in scene.others if other != category))
    return scene.symptoms()


def show_low_severity(rng: np.random.Generator, category: str, gpu: int) -> Symptoms:
    """Return the symptoms of a finding that can wait until the node's jobs have ended."""
    scene = Scene(rng, gpu, lambda question: float(rng.random()))
    if category == "gpu_memory":
        scene.says(xid_line(63, gpu, 0))
        scene.checks["nvidia smi row_remap_pending"] = f"GPU {gpu}: row remap pending."
    else:
        scene.shows(LOW_SEVERITY[category])
    return scene.symptoms()


def show_noise(check: str, gpu: int = 0) -> Symptoms:
    """Return the symptoms of a check that fails with a real failure's message. The kernel is quiet."""
    return Symptoms(checks=[(check, ALARM_MESSAGES[check].format(gpu=gpu, bus=GPU_BUSES[gpu]))], reason="")


def show_alarm(rng: np.random.Generator, gpu: int) -> Symptoms:
    """Return the symptoms of a false alarm of any check."""
    return show_noise(list(ALARM_MESSAGES)[int(rng.random() * len(ALARM_MESSAGES))], gpu)
