"""What a simulated cluster is: its size, its users' work, its faults and its logs.

The clusters themselves are data: the TOML files in `clusters/`, whose keys are the names of these fields. Days
count from the first midnight, positions from 0 to 1 stand for a place in the fleet, rates are per node-day in service.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date

from assets.simulation.causes import Cooccurrence

HOUR = 3600
DAY = 24 * HOUR
REQUEUE_SECONDS = 121
"""Slurm starts a requeued batch job only after its old credential has expired."""


@dataclass(frozen=True)
class SizeClass:
    """Jobs of one size: their share of the stream's GPU time, and the median and sigma of their lognormal run time."""

    gpus: int
    share: float
    median_hours: float
    sigma: float


@dataclass(frozen=True)
class Stream:
    """Work of one scheduling class. `load` is the share of the cluster's GPU time that it asks for."""

    name: str
    load: float
    sizes: tuple[SizeClass, ...]


@dataclass(frozen=True)
class Lemon:
    """A node that keeps failing: its position, its root cause, and its rate of faults."""

    position: float
    root_cause: str
    rate: float


@dataclass(frozen=True)
class Burst:
    """Days with additional faults of one category, on all nodes or at the positions. `code` is the Xid they show."""

    first_day: float
    last_day: float
    category: str
    rate: float
    positions: tuple[float, ...] = ()
    code: int | None = None

    def struck(self, profile: Profile) -> list[int]:
        """Return the nodes on which the burst strikes, one twice if two positions fall on it."""
        return [profile.node_at(position) for position in self.positions] or list(range(profile.node_count))


@dataclass(frozen=True)
class SharedFault:
    """One event that strikes neighbouring nodes within a minute, such as the failure of a switch."""

    day: float
    category: str
    first_position: float
    node_count: int


@dataclass(frozen=True)
class CrashLoop:
    """A job that repeatedly brings down one of its own nodes, and may start again `requeue_seconds` later."""

    day: float
    gpus: int
    failures: int
    requeue_seconds: int = REQUEUE_SECONDS


@dataclass(frozen=True)
class Maintenance:
    """Planned work on neighbouring nodes, each taken once its jobs have ended.

    Where `ends_jobs_as` names a state, NODE_FAIL or CANCELLED, it is taken at once, and its jobs end in that state.
    """

    day: float
    first_position: float
    node_count: int
    hours: float
    reason: str
    ends_jobs_as: str | None = None


@dataclass(frozen=True)
class FalseAlarms:
    """False evidence, low-severity findings included, in the window of a share of the completed attempts.

    `lasting_share` of the alarms last 15 minutes plus an exponential time, and some of these drain the node. The
    other alarms end at one of the next two checks.
    """

    completed_share: float
    lasting_share: float = 0.3
    drained_share: float = 0.1
    mean_extra_minutes: float = 45.0


@dataclass(frozen=True)
class HiddenFault:
    """A fault of a node that no log shows. It ends `share` of the attempts that start there.

    `kind` is `black_hole` (they fail at once) or `hang` (they hang until their time limit).
    """

    position: float
    kind: str
    share: float
    first_day: float = 0.0
    last_day: float = 1e6


@dataclass(frozen=True)
class NoisyCheck:
    """A check that fails at a rate although nothing is wrong, and passes again within ten minutes."""

    check: str
    rate: float


@dataclass(frozen=True)
class LeadingCheck:
    """A category of faults. Their check fails `seconds` before the application ends."""

    category: str
    seconds: float


@dataclass(frozen=True)
class Relapse:
    """A share of the repairs with or without a new part. After them, the fault returns within an exponential time."""

    category: str
    has_new_part: bool
    share: float
    mean_days: float


@dataclass(frozen=True)
class DriverRollout:
    """A driver that the first `share` of the nodes get from `day` on, one after the other over `spread_days`.

    After that, `factor` of the single faults of `category` on such a node still happen. The mean rates of faults in
    the truth ignore this.
    """

    day: float
    version: str
    share: float = 1.0
    spread_days: float = 0.2
    category: str = ""
    factor: float = 1.0

    def changed_at(self, node: int, node_count: int) -> int | None:
        """Return the second at which a node gets the driver."""
        changed = max(1, round(self.share * node_count))
        return round((self.day + self.spread_days * node / changed) * DAY) if node < changed else None


@dataclass(frozen=True)
class Repairs:
    """How long repairs take. Times are lognormal around medians in hours. A permanent repair replaces a part."""

    transient_hours: float = 0.75
    permanent_hours: float = 16.0
    finding_share: float = 0.0  # of the findings of low severity that need a part
    # Multiplies the share of permanent repairs of lemons: their faults often vanish unseen, so the node stays bad.
    lemon_factor: float = 0.5
    relapses: tuple[Relapse, ...] = ()
    untouched: tuple[str, ...] = ()  # categories for which a node returns without a restart, unless a part is replaced


@dataclass(frozen=True)
class LogHabits:
    """What a site keeps of its logs."""

    step_share: float = 0.35  # of the jobs whose batch step the accounting keeps
    has_submit_lines: bool = True
    frequent_seconds: int = 2 * HOUR  # between two kept good results of frequent checks
    daily_seconds: int = DAY  # between two kept good results of other checks
    job_check_share: float = 1.0  # of the jobs whose good prolog and epilog results are kept
    chatter_per_node_day: float = 0.4  # kernel lines without a meaning
    has_controller_log: bool = True
    has_job_lines: bool = True  # in the controller's log; otherwise it has nodes and preemption only
    squeue_seconds: int = 0  # between two snapshots of the queue; 0 for none
    failure_only_checks: tuple[str, ...] = ()  # checks without kept good results
    accounting_skips_days: float = 0.0  # attempts that ended before are missing, as with `sacct -S`
    accounting_lacks_hours: float = 0.0  # the accounting export is older than the other logs by this
    charges_whole_nodes: bool = False  # to each job on them, even if it shares them with others
    has_job_summaries: bool = False  # of jobstats


@dataclass(frozen=True)
class Profile:
    """A cluster to simulate. Times of day are in `timezone`."""

    cluster_id: str
    timezone: str
    first_day: date
    days: int
    node_count: int
    gpus_per_node: int
    streams: tuple[Stream, ...]
    outcomes: dict[str, float]  # shares of the states in which undisturbed work of fewer than 64 GPUs ends
    large_outcomes: dict[str, float]  # the same for larger work
    fault_rate: float
    drain_rate: float
    alarm_rate: float  # of false alarms that pass quickly, where `false_alarms` is None
    lemons: tuple[Lemon, ...]
    bursts: tuple[Burst, ...] = ()
    shared_faults: tuple[SharedFault, ...] = ()
    crash_loops: tuple[CrashLoop, ...] = ()
    maintenance: tuple[Maintenance, ...] = ()
    repairs: Repairs = Repairs()
    cooccurrence: Cooccurrence = field(default_factory=Cooccurrence)
    checks_introduced: tuple[tuple[str, int], ...] = ()  # check and day; faults that only it finds stay unseen before
    users: int = 40
    largest_share: float = 0.5
    preemption_after_seconds: int = 2 * HOUR
    max_run_seconds: int = 7 * DAY
    checkpoint_seconds: int = HOUR
    restart_seconds: int = 300
    heartbeat_seconds: int = 300
    check_seconds: int = 300
    silent_crash_share: float = 0.06
    price_per_gpu_hour: float = 2.0
    logs: LogHabits = LogHabits()
    annotations: tuple[tuple[int, str], ...] = ()
    false_alarms: FalseAlarms | None = None
    month_variation: float = 0.0  # of the rate of single faults between calendar months: coefficient of variation
    objective: float | None = None  # availability that the site has promised; only `cluster.toml` has it
    hidden_faults: tuple[HiddenFault, ...] = ()
    driver_rollouts: tuple[DriverRollout, ...] = ()
    idle_users: tuple[int, ...] = ()  # users with jobs that hold GPUs without using them
    noisy_checks: tuple[NoisyCheck, ...] = ()
    leading_checks: tuple[LeadingCheck, ...] = ()
    nodes_per_rack: int = 0  # neighbours in a rack; 0 if no log says so
    nodes_per_switch: int = 0

    @property
    def horizon(self) -> int:
        """Length of the simulation in seconds."""
        return self.days * DAY

    @property
    def accounting_from(self) -> int:
        """Second from which the accounting is complete."""
        return round(self.logs.accounting_skips_days * DAY)

    @property
    def accounting_until(self) -> int:
        """Second at which the accounting was exported."""
        return self.horizon - round(self.logs.accounting_lacks_hours * HOUR)

    @property
    def gpu_seconds(self) -> int:
        """GPU-seconds that can be allocated."""
        return self.node_count * self.gpus_per_node * self.horizon

    @property
    def lemon_nodes(self) -> dict[int, Lemon]:
        """The lemon on each node that has one."""
        return {self.node_at(lemon.position): lemon for lemon in self.lemons}

    def mean_rate_of(self, node: int) -> float:
        """Mean rate of single faults on a node: the fleet's or its lemon's, plus its part of the bursts."""
        lemons = self.lemon_nodes
        rate = lemons[node].rate if node in lemons else self.fault_rate
        for burst in self.bursts:
            days = min(burst.last_day, self.days) - min(burst.first_day, self.days)
            rate += burst.rate * days / self.days * burst.struck(self).count(node)
        return rate

    def node_at(self, position: float) -> int:
        """Turn a position from 0 to 1 into a node index."""
        return min(int(position * self.node_count), self.node_count - 1)

    def place_of(self, node: int) -> dict[str, str]:
        """Return the places of a node that the logs show: rack, position and switch."""
        places: dict[str, str] = {}
        if self.nodes_per_rack:
            rack, position = divmod(node, self.nodes_per_rack)
            places |= {"rack": f"r{rack + 1}", "position": str(position + 1)}
        if self.nodes_per_switch:
            places["switch"] = f"leaf{node // self.nodes_per_switch + 1}"
        return places

    def resized(self, days: int | None, scale: float) -> Profile:
        """Return the same cluster with another length, or with `scale` times the nodes, at least four.

        Lemons and events that strike several nodes stay as frequent per node; on a smaller cluster such an event
        strikes fewer nodes instead.
        """
        nodes, copies = max(4, round(self.node_count * scale)), max(1, round(scale))
        lemons = []
        for number in range(max(1, round(len(self.lemons) * scale)) if self.lemons else 0):
            lemon = self.lemons[int(number / scale) % len(self.lemons)]
            lemons.append(replace(lemon, position=(lemon.position + number % copies / nodes) % 1.0))
        shared = [
            replace(
                fault,
                day=fault.day + 5.3 * copy,
                first_position=(fault.first_position + copy / copies) % 0.9,
                node_count=max(2, round(fault.node_count * min(scale, 1.0))),
            )
            for fault in self.shared_faults
            for copy in range(copies)
        ]
        length = self.days if days is None else days
        return replace(self, days=length, node_count=nodes, lemons=tuple(lemons), shared_faults=tuple(shared))
