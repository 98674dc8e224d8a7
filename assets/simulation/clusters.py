"""The clusters that can be simulated: two like the paper's, and two small ones that show everything within a season.

Shares of GPU time, of states and of failures are chosen so that `rsc1` and `rsc2` give the paper's figures back; the
calibration table says how well. The small ones fail more often, so that weeks, not months, hold enough to count.
"""

from __future__ import annotations

from datetime import date

from assets.simulation.causes import Cooccurrence
from assets.simulation.harder import DEFAULT, HARD, harder
from assets.simulation.profiles import (
    DAY,
    HOUR,
    Burst,
    CrashLoop,
    Lemon,
    LogHabits,
    Maintenance,
    Profile,
    Repairs,
    SharedFault,
    SizeClass,
    Stream,
)

MOUNT_CHECK = "mounted directory"


def _spread(roots: tuple[tuple[str, float], ...], low: float, high: float) -> tuple[Lemon, ...]:
    """Put lemons with the given root causes and rates at equal distances between two positions."""
    step = (high - low) / len(roots)
    return tuple(Lemon(low + (number + 0.5) * step, root, rate) for number, (root, rate) in enumerate(roots))


RSC_LOGS = LogHabits(
    step_share=0.04,
    frequent_seconds=DAY,
    daily_seconds=7 * DAY,
    job_check_share=0.02,
    chatter_per_node_day=0.2,
    has_job_lines=False,
)

RSC1_FAULT = 0.0013
RSC1_ROOTS = (
    "GPU", "NIC", "PCIe", "GPU", "DIMM", "Optics", "GPU", "EUD", "PCIe", "BIOS", "NIC", "GPU", "PSU",
    "DIMM", "GPU", "PCIe", "EUD", "DIMM", "GPU", "DIMM", "BIOS", "PCIe", "GPU", "DIMM",
)  # fmt: skip
"""Root causes of the 24 lemons: with rsc2's 15 they are the 39 of the paper's Table II."""
RSC1_LARGE_WORK_LEMONS = 13
"""The first of them are among the nodes that large jobs get, the others among those that small jobs share."""
RSC1_LEMONS = _spread(tuple((root, 0.94) for root in RSC1_ROOTS[:RSC1_LARGE_WORK_LEMONS]), 0.01, 0.66) + _spread(
    tuple((root, 0.085) for root in RSC1_ROOTS[RSC1_LARGE_WORK_LEMONS:]), 0.9905, 1.0
)
RSC1_BAD_LINKS = tuple(lemon.position for lemon in RSC1_LEMONS[:13] if lemon.root_cause in {"NIC", "Optics"})

RSC_OUTCOMES = {
    "COMPLETED": 0.664,
    "FAILED": 0.257,
    "CANCELLED": 0.038,
    "REQUEUED": 0.024,
    "TIMEOUT": 0.007,
    "OUT_OF_MEMORY": 0.0012,
}
RSC_LARGE_OUTCOMES = {"COMPLETED": 0.74, "FAILED": 0.18, "CANCELLED": 0.06, "REQUEUED": 0.02}

RSC1 = Profile(
    cluster_id="rsc1",
    timezone="America/Los_Angeles",
    first_day=date(2023, 10, 1),
    days=334,
    node_count=2000,
    gpus_per_node=8,
    streams=(
        Stream(
            "prime",
            0.7095,
            (
                SizeClass(1, 0.0075, 0.40, 1.3),
                SizeClass(2, 0.003, 0.7, 1.3),
                SizeClass(4, 0.005, 0.5, 1.3),
                SizeClass(8, 0.02, 0.22, 1.3),
                SizeClass(16, 0.014, 1.2, 1.4),
                SizeClass(32, 0.02, 1.2, 1.5),
                SizeClass(64, 0.035, 1.0, 1.6),
                SizeClass(128, 0.064, 1.0, 1.7),
                SizeClass(256, 0.123, 0.9, 1.8),
                SizeClass(512, 0.140, 0.95, 1.8),
                SizeClass(1024, 0.175, 1.6, 1.8),
                SizeClass(2048, 0.212, 2.8, 1.8),
                SizeClass(4096, 0.158, 3.6, 1.6),
            ),
            RSC_OUTCOMES,
            RSC_LARGE_OUTCOMES,
        ),
        Stream(
            "scavenger",
            0.1668,
            (
                SizeClass(1, 0.03, 5.0, 1.2),
                SizeClass(2, 0.01, 3.0, 1.2),
                SizeClass(4, 0.015, 3.0, 1.2),
                SizeClass(8, 0.285, 9.0, 1.0),
                SizeClass(16, 0.12, 7.0, 1.0),
                SizeClass(32, 0.16, 7.0, 1.0),
                SizeClass(64, 0.19, 6.0, 1.0),
                SizeClass(128, 0.185, 6.0, 1.0),
            ),
            RSC_OUTCOMES,
            RSC_LARGE_OUTCOMES,
        ),
    ),
    fault_rate=RSC1_FAULT,
    drain_rate=0.014,
    alarm_rate=0.008,
    lemons=RSC1_LEMONS,
    bursts=(
        Burst(34, 62, "gpu_driver_firmware", 0.003, code=62),
        Burst(105, 168, "gpu_driver_firmware", 0.001, code=119),
        Burst(276, 300, "ib_link", 3.4, positions=(*RSC1_BAD_LINKS, 0.195, 0.435)),
    ),
    shared_faults=(
        *(SharedFault(9.3 + 19.7 * number, "ib_link", (0.11 + 0.37 * number) % 0.9, 20) for number in range(16)),
        *(
            SharedFault(158.6 + 21.9 * number, "filesystem_mount", first, 140)
            for number, first in enumerate((0.05, 0.46, 0.90, 0.25, 0.70, 0.93, 0.35, 0.60))
        ),
    ),
    crash_loops=(CrashLoop(204.4, 1024, 35, requeue_seconds=200),),
    maintenance=tuple(
        Maintenance(20.4 + 28 * number, (0.1 * number) % 0.95, 40, 6.0, f"maint: firmware update, pod {5 * number + 1}")
        for number in range(11)
    ),
    repairs=Repairs(transient_hours=1.2, permanent_hours=66.0, finding_share=0.6, lemon_factor=0.12),
    cooccurrence=Cooccurrence(),
    checks_introduced=((MOUNT_CHECK, 152),),
    users=400,
    logs=RSC_LOGS,
    annotations=(
        (34, "GPU driver update"),
        (62, "GPU driver rolled back"),
        (105, "GPU driver with GSP regression"),
        (152, "filesystem mount check introduced"),
        (168, "GPU driver patched: GSP timeouts fixed"),
    ),
)

RSC2_FAULT, RSC2_LEMON = 0.00079, 0.079
RSC2_ROOTS = (
    "GPU", "DIMM", "PCIe", "EUD", "GPU", "NIC", "BIOS", "DIMM", "GPU", "PSU", "EUD", "CPU", "GPU", "DIMM", "PCIe",
    "unresolved",
)  # fmt: skip
"""Root causes of the 16 lemons; nobody found what was wrong with the last one."""

RSC2 = Profile(
    cluster_id="rsc2",
    timezone="America/Los_Angeles",
    first_day=date(2023, 10, 1),
    days=334,
    node_count=1000,
    gpus_per_node=8,
    streams=(
        Stream(
            "prime",
            0.66,
            (
                SizeClass(1, 0.0147, 0.45, 1.3),
                SizeClass(2, 0.0037, 0.6, 1.3),
                SizeClass(4, 0.0049, 0.5, 1.3),
                SizeClass(8, 0.0196, 0.25, 1.3),
                SizeClass(16, 0.049, 4.5, 1.4),
                SizeClass(32, 0.0736, 2.4, 1.5),
                SizeClass(64, 0.098, 1.8, 1.6),
                SizeClass(128, 0.098, 1.2, 1.6),
                SizeClass(256, 0.226, 1.1, 1.7),
                SizeClass(512, 0.238, 1.3, 1.7),
                SizeClass(1024, 0.192, 1.6, 1.7),
            ),
            RSC_OUTCOMES,
            RSC_LARGE_OUTCOMES,
        ),
        Stream(
            "scavenger",
            0.158,
            (
                SizeClass(1, 0.025, 5.0, 1.2),
                SizeClass(2, 0.010, 3.0, 1.2),
                SizeClass(4, 0.015, 3.0, 1.2),
                SizeClass(8, 0.28, 9.0, 1.0),
                SizeClass(16, 0.14, 7.0, 1.0),
                SizeClass(32, 0.16, 7.0, 1.0),
                SizeClass(64, 0.19, 6.0, 1.0),
                SizeClass(128, 0.18, 6.0, 1.0),
            ),
            RSC_OUTCOMES,
            RSC_LARGE_OUTCOMES,
        ),
    ),
    fault_rate=RSC2_FAULT,
    drain_rate=0.014,
    alarm_rate=0.008,
    lemons=_spread(tuple((root, RSC2_LEMON) for root in RSC2_ROOTS), 0.02, 0.97),
    bursts=(
        Burst(34, 62, "gpu_driver_firmware", 0.001, code=62),
        Burst(105, 168, "gpu_driver_firmware", 0.0004, code=119),
        Burst(276, 300, "ib_link", 0.5, positions=(0.06, 0.33, 0.52)),
    ),
    shared_faults=tuple(
        SharedFault(
            day=15.6 + 41.3 * number,
            category="filesystem_mount" if number in (4, 6) else "ib_link",
            first_position=(0.23 + 0.31 * number) % 0.85,
            node_count=30 if number in (4, 6) else 20,
        )
        for number in range(8)
    ),
    maintenance=tuple(
        Maintenance(26.4 + 28 * number, (0.13 * number) % 0.95, 20, 6.0, f"maint: firmware, pod {4 * number + 1}")
        for number in range(11)
    ),
    repairs=Repairs(transient_hours=1.2, permanent_hours=66.0, finding_share=0.6, lemon_factor=0.12),
    cooccurrence=Cooccurrence(
        pcie_with_xid_79=0.63, pcie_xid_79_with_interrupt=0.49 / 0.63, ib_with_gpu=0.06, hardware_with_other=0.05
    ),
    checks_introduced=((MOUNT_CHECK, 152),),
    users=250,
    logs=RSC_LOGS,
    annotations=(
        (34, "GPU driver update"),
        (62, "GPU driver rolled back"),
        (105, "GPU driver with GSP regression"),
        (152, "filesystem mount check introduced"),
        (168, "GPU driver patched: GSP timeouts fixed"),
    ),
)

DEMO_LLM = Profile(
    cluster_id="demo-llm",
    timezone="America/Los_Angeles",
    first_day=date(2026, 1, 5),
    days=90,
    node_count=64,
    gpus_per_node=8,
    streams=(
        Stream(
            "prime",
            0.575,
            (
                SizeClass(1, 0.013, 2.0, 1.2),
                SizeClass(2, 0.006, 2.0, 1.2),
                SizeClass(4, 0.010, 2.2, 1.2),
                SizeClass(8, 0.032, 2.6, 1.1),
                SizeClass(16, 0.030, 4.5, 1.0),
                SizeClass(32, 0.060, 7.0, 0.9),
                SizeClass(64, 0.110, 10.0, 0.8),
                SizeClass(128, 0.180, 15.0, 0.6),
                SizeClass(192, 0.220, 18.0, 0.5),
                SizeClass(256, 0.339, 22.0, 0.5),
            ),
        ),
        Stream(
            "scavenger",
            0.215,
            (
                SizeClass(1, 0.025, 2.0, 1.1),
                SizeClass(2, 0.015, 2.0, 1.1),
                SizeClass(4, 0.030, 2.5, 1.1),
                SizeClass(8, 0.280, 5.0, 0.8),
                SizeClass(16, 0.240, 6.0, 0.8),
                SizeClass(32, 0.240, 7.0, 0.7),
                SizeClass(64, 0.170, 8.0, 0.7),
            ),
        ),
    ),
    fault_rate=0.012,
    drain_rate=0.006,
    alarm_rate=0.004,
    lemons=(Lemon(0.30, "GPU", 0.22), Lemon(0.58, "DIMM", 0.18), Lemon(0.83, "NIC", 0.15)),
    bursts=(
        Burst(18, 26, "gpu_driver_firmware", 0.02, code=62),
        Burst(62, 69, "ib_link", 0.35, positions=(0.12, 0.83)),
    ),
    shared_faults=(
        SharedFault(12.45, "ib_link", 0.0, 4),
        SharedFault(47.62, "filesystem_mount", 0.40, 6),
        SharedFault(75.31, "ib_link", 0.66, 4),
    ),
    crash_loops=(CrashLoop(54.4, 128, 6),),
    maintenance=(
        Maintenance(16.42, 0.25, 8, 2.5, "maint: BMC firmware update, rack 3"),
        Maintenance(58.42, 0.75, 8, 2.5, "maint: replace InfiniBand cables, rack 7"),
    ),
    checks_introduced=((MOUNT_CHECK, 40),),
    annotations=(
        (16, "planned maintenance, rack 3"),
        (18, "GPU driver update"),
        (26, "GPU driver rolled back"),
        (40, "filesystem mount check introduced"),
        (58, "planned maintenance, rack 7"),
    ),
)

DEMO_VISION = Profile(
    cluster_id="demo-vision",
    timezone="Europe/Berlin",
    first_day=date(2026, 1, 5),
    days=90,
    node_count=40,
    gpus_per_node=8,
    streams=(
        Stream(
            "prime",
            0.56,
            (
                SizeClass(1, 0.040, 2.0, 1.2),
                SizeClass(2, 0.015, 2.0, 1.2),
                SizeClass(4, 0.020, 2.2, 1.2),
                SizeClass(8, 0.050, 2.6, 1.1),
                SizeClass(16, 0.060, 4.5, 1.0),
                SizeClass(32, 0.120, 7.0, 0.9),
                SizeClass(64, 0.200, 10.0, 0.8),
                SizeClass(128, 0.265, 15.0, 0.6),
                SizeClass(192, 0.230, 18.0, 0.5),
            ),
        ),
        Stream(
            "scavenger",
            0.23,
            (
                SizeClass(1, 0.060, 2.0, 1.1),
                SizeClass(2, 0.020, 2.0, 1.1),
                SizeClass(4, 0.040, 2.5, 1.1),
                SizeClass(8, 0.330, 5.0, 0.8),
                SizeClass(16, 0.280, 6.0, 0.8),
                SizeClass(32, 0.270, 7.0, 0.7),
            ),
        ),
    ),
    fault_rate=0.006,
    drain_rate=0.006,
    alarm_rate=0.004,
    lemons=(Lemon(0.45, "PCIe", 0.12),),
    bursts=(Burst(30, 44, "gpu_driver_firmware", 0.008, code=119),),
    shared_faults=(SharedFault(22.55, "ib_link", 0.5, 4), SharedFault(66.41, "filesystem_mount", 0.1, 5)),
    maintenance=(Maintenance(37.42, 0.5, 5, 3.0, "maint: cooling loop, row B"),),
    cooccurrence=RSC2.cooccurrence,
    users=25,
    largest_share=0.6,
    logs=LogHabits(has_submit_lines=False, has_controller_log=False, squeue_seconds=6 * HOUR),
    annotations=(
        (30, "GPU driver with GSP regression"),
        (37, "planned maintenance, row B"),
        (44, "GPU driver patched"),
    ),
)

PROFILES = {
    "rsc1": (RSC1,),
    "rsc2": (RSC2,),
    "rsc2-default": (harder(RSC2, "rsc2-default", DEFAULT),),
    "rsc2-hard": (harder(RSC2, "rsc2-hard", HARD),),
    "demo": (DEMO_LLM, DEMO_VISION),
    "demo-default": (harder(DEMO_LLM, "demo-default", DEFAULT),),
    "demo-hard": (harder(DEMO_LLM, "demo-hard", HARD),),
}
"""What `faultline simulate` can be asked for; `demo` is two clusters."""
