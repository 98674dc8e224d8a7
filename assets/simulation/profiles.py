"""What a simulated cluster is like: its size, its users' work, its faults. Pure numbers; a profile is a value.

Shares of GPU time and of states follow the paper where a cluster of a few dozen nodes can follow it; fault rates are
higher than the paper's so that weeks, not months, hold enough failures to be counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date

from assets.simulation.causes import Cooccurrence

HOUR = 3600
DAY = 24 * HOUR


@dataclass(frozen=True)
class SizeClass:
    """Jobs of one size: `share` of their stream's GPU time, run times lognormal around `median_hours`."""

    gpus: int
    share: float
    median_hours: float
    sigma: float


@dataclass(frozen=True)
class Stream:
    """Work of one scheduling class: `load` is the share of the cluster's GPU time it asks for."""

    name: str
    load: float
    sizes: tuple[SizeClass, ...]
    outcomes: dict[str, float]


@dataclass(frozen=True)
class Lemon:
    """A node that keeps failing, as a position in the fleet from 0 to 1, and what is wrong with it."""

    position: float
    root_cause: str
    rate: float


@dataclass(frozen=True)
class SharedFault:
    """One event that strikes neighbouring nodes within a minute: a switch, a storage server."""

    day: float
    category: str
    first_position: float
    node_count: int


@dataclass(frozen=True)
class Maintenance:
    """Planned work on neighbouring nodes; a node is taken once its jobs have ended."""

    day: float
    first_position: float
    node_count: int
    hours: float
    reason: str


@dataclass(frozen=True)
class LogHabits:
    """What a site keeps of what its machines say.

    Attributes
    ----------
    step_share
        Share of jobs whose batch step is kept in the accounting.
    has_submit_lines
        Whether the accounting keeps the command lines of submissions.
    frequent_seconds, daily_seconds
        How often a good result of a frequent check, and of the others, is kept.
    job_check_share
        Share of jobs whose good prolog and epilog results are kept.
    chatter_per_node_day
        Kernel lines that mean nothing.
    has_controller_log
        Whether slurmctld.log is kept.
    has_job_lines
        Whether slurmctld.log has the submissions, starts and ends of jobs, or only what concerns nodes and preemption.
    squeue_seconds
        Time between two snapshots of the queue; 0 for none.
    """

    step_share: float = 0.35
    has_submit_lines: bool = True
    frequent_seconds: int = 2 * HOUR
    daily_seconds: int = DAY
    job_check_share: float = 1.0
    chatter_per_node_day: float = 0.4
    has_controller_log: bool = True
    has_job_lines: bool = True
    squeue_seconds: int = 0


@dataclass(frozen=True)
class Profile:
    """A cluster to simulate. Rates are per node-day in service; times of day are in `timezone`."""

    cluster_id: str
    timezone: str
    first_day: date
    days: int
    node_count: int
    gpus_per_node: int
    streams: tuple[Stream, ...]
    fault_rate: float
    drain_rate: float
    lemons: tuple[Lemon, ...]
    shared_faults: tuple[SharedFault, ...]
    maintenance: tuple[Maintenance, ...]
    users: int = 40
    largest_share: float = 0.5
    preemption_after_seconds: int = 2 * HOUR
    longest_seconds: int = 7 * DAY
    checkpoint_seconds: int = HOUR
    restart_seconds: int = 300
    heartbeat_seconds: int = 300
    check_seconds: int = 300
    silent_crash_share: float = 0.06
    price_per_gpu_hour: float = 2.0
    logs: LogHabits = LogHabits()
    cooccurrence: Cooccurrence = field(default_factory=Cooccurrence)
    checks_introduced: tuple[tuple[str, int], ...] = ()
    annotations: tuple[tuple[int, str], ...] = ()

    @property
    def horizon(self) -> int:
        """Length of the simulation in seconds."""
        return self.days * DAY

    @property
    def gpu_seconds(self) -> int:
        """All there is to allocate."""
        return self.node_count * self.gpus_per_node * self.horizon

    @property
    def mean_fault_rate(self) -> float:
        """Rate of independent job-ending faults over the fleet, lemons included, when every node is in service."""
        extra = sum(lemon.rate - self.fault_rate for lemon in self.lemons)
        return self.fault_rate + extra / self.node_count

    def node_at(self, position: float) -> int:
        """Turn a position from 0 to 1 into a node index."""
        return min(int(position * self.node_count), self.node_count - 1)

    def resized(self, days: int | None, scale: float) -> Profile:
        """Give the same cluster over other days or with `scale` times the nodes, at least four."""
        nodes = max(4, round(self.node_count * scale))
        return replace(self, days=self.days if days is None else days, node_count=nodes)


OUTCOMES = {
    "COMPLETED": 0.675,
    "FAILED": 0.257,
    "CANCELLED": 0.038,
    "REQUEUED": 0.021,
    "TIMEOUT": 0.007,
    "OUT_OF_MEMORY": 0.002,
}
"""What work ends as when neither fault nor preemption comes between."""
LARGE_OUTCOMES = {"COMPLETED": 0.80, "FAILED": 0.13, "CANCELLED": 0.05, "REQUEUED": 0.02}

DEMO = Profile(
    cluster_id="demo",
    timezone="America/Los_Angeles",
    first_day=date(2026, 1, 5),
    days=45,
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
            OUTCOMES,
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
            OUTCOMES,
        ),
    ),
    fault_rate=0.013,
    drain_rate=0.006,
    lemons=(Lemon(0.30, "GPU", 0.22), Lemon(0.58, "DIMM", 0.18)),
    shared_faults=(SharedFault(12.45, "ib_link", 0.0, 4), SharedFault(33.62, "filesystem_mount", 0.40, 6)),
    maintenance=(
        Maintenance(16.42, 0.25, 8, 2.5, "maint: BMC firmware update, rack 3"),
        Maintenance(37.42, 0.75, 8, 2.5, "maint: replace InfiniBand cables, rack 7"),
    ),
    annotations=(
        (16, "planned maintenance, rack 3"),
        (33, "storage server nfs02 failed over"),
        (37, "planned maintenance, rack 7"),
    ),
)

PROFILES: dict[str, tuple[Profile, ...]] = {"demo": (DEMO,)}
