"""The values of Kokolis et al., "Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (HPCA 2025).

Shares are in percent. None where the paper gives no number for a cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, field

DAYS = 334
GPUS_PER_NODE = 8
CHECK_MINUTES = 5
PROTECTED_HOURS = 2
MAX_HOURS = 7 * 24
JOBS_TOGETHER = 4_000_000
GPU_HOURS_TOGETHER = 150_000_000
MAX_COMPLETED_WITH_FAILED_CHECK = 1.0
LEADING_CAUSES = ("ib_link", "filesystem_mount", "gpu_memory", "pcie")
ROOT_CAUSES = {
    "GPU": 11,
    "DIMM": 8,
    "PCIe": 6,
    "EUD": 4,
    "BIOS": 3,
    "NIC": 3,
    "PSU": 2,
    "Optics": 1,
    "CPU": 1,
}
"""Table II has percentages, which are all whole numbers of 39 nodes."""


@dataclass(frozen=True)
class CrashLoop:
    """The crash loop that the paper describes."""

    gpus: int = 1024
    requeues: int = 35
    preemptions: int = 548


@dataclass(frozen=True)
class Sizes:
    """Figure 6: shares of jobs and of GPU time by size. `min_` and `max_` are bounds."""

    min_one_gpu_jobs: float = 40.0
    min_one_node_jobs: float = 90.0
    max_one_node_time: float = 10.0
    max_largest_jobs: float = 1.0
    largest_time: float = 12.0


@dataclass(frozen=True)
class Lemons:
    """Figure 11: number of lemons and their shares. The last three are known for one cluster only."""

    count: int
    fleet: float
    daily_jobs: float | None = None
    large_failing: float | None = None
    large_failing_without: float | None = None


@dataclass(frozen=True)
class Paper:
    """What the paper says about one cluster.

    Attributes
    ----------
    states
        Figure 3: shares of attempts by state.
    infrastructure
        Figure 3: shares of attempts and of GPU time that failed by infrastructure.
    pcie_with_xid_79, pcie_with_interrupt, ib_with_gpu, hardware_with_other
        Figure 4: co-occurrence.
    has_course
        Whether Figure 5 shows this cluster.
    large_time
        Figure 6: share of GPU time in jobs of 256 GPUs and more.
    failure_rate
        Figure 7: failures per 1,000 node-days of jobs over 128 GPUs.
    second_order
        Figure 8: share of the lost goodput that preemptions by failed jobs cost.
    ettr
        Figure 9: lower bound of the ETTR of the longest and largest runs at top priority.
    """

    node_count: int
    jobs_per_day: float
    utilization: float
    pcie_with_xid_79: float
    pcie_with_interrupt: float
    ib_with_gpu: float
    hardware_with_other: float
    large_time: float
    failure_rate: float
    lemons: Lemons
    states: dict[str, float] = field(default_factory=dict)
    infrastructure: tuple[float, float] | None = None
    has_course: bool = False
    sizes: Sizes | None = None
    second_order: float | None = None
    crash_loop: CrashLoop | None = None
    ettr: float | None = None


PAPERS = {
    "rsc1": Paper(
        node_count=2000,
        jobs_per_day=7200,
        utilization=83,
        pcie_with_xid_79=43,
        pcie_with_interrupt=21,
        ib_with_gpu=2,
        hardware_with_other=3,
        large_time=66,
        failure_rate=6.50,
        lemons=Lemons(24, 1.2, daily_jobs=13, large_failing=14, large_failing_without=4),
        states={
            "COMPLETED": 60,
            "FAILED": 24,
            "NODE_FAIL": 0.1,
            "PREEMPTED": 10,
            "REQUEUED": 2,
            "OUT_OF_MEMORY": 0.1,
            "TIMEOUT": 0.6,
            "CANCELLED": 3.2,
        },
        infrastructure=(0.2, 18.7),
        has_course=True,
        sizes=Sizes(),
        second_order=16,
        crash_loop=CrashLoop(),
        ettr=0.9,
    ),
    "rsc2": Paper(
        node_count=1000,
        jobs_per_day=4400,
        utilization=85,
        pcie_with_xid_79=63,
        pcie_with_interrupt=49,
        ib_with_gpu=6,
        hardware_with_other=5,
        large_time=52,
        failure_rate=2.34,
        lemons=Lemons(16, 1.7),
    ),
}
