"""The description of a simulated cluster: its size, its users' work, its faults and its logs.

These classes hold numbers only. The clusters themselves are the TOML files in `clusters/`.
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
    """A node that keeps failing: its position in the fleet, from 0 to 1, its root cause, and its rate of faults."""

    position: float
    root_cause: str
    rate: float


@dataclass(frozen=True)
class Burst:
    """Days with additional faults of one category, on all nodes or on those at the given positions.

    `rate` is per node-day. `code` is the Xid that the faults show instead of their cause's usual one.
    """

    first_day: float
    last_day: float
    category: str
    rate: float
    positions: tuple[float, ...] = ()
    code: int | None = None


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
    """Planned work on neighbouring nodes.

    A node is taken once its jobs have ended. Where `ends_jobs_as` names a state, NODE_FAIL or CANCELLED, it is taken
    at once, and its jobs end in that state.
    """

    day: float
    first_position: float
    node_count: int
    hours: float
    reason: str
    ends_jobs_as: str | None = None


@dataclass(frozen=True)
class FalseAlarms:
    """False alarms: evidence without a fault.

    Attributes
    ----------
    completed_share
        Share of the completed attempts that have evidence although nothing was wrong: on one of their nodes a check
        begins to fail, or the kernel reports an error, in the last ten minutes of the attempt or in the five minutes
        after it. Findings of low severity are part of the share.
    lasting_share
        Share of the alarms that last 15 minutes or more; the others pass with one of the next two checks.
    drained_share
        Share of the alarms for which the node is drained; all of these last.
    mean_extra_minutes
        How much longer than 15 minutes a lasting alarm takes on average; the extra time is exponential.
    """

    completed_share: float
    lasting_share: float = 0.3
    drained_share: float = 0.1
    mean_extra_minutes: float = 45.0


@dataclass(frozen=True)
class HiddenFault:
    """A fault of a node that no log shows, and the share of the attempts starting there that it ends.

    `kind` is `black_hole` (they fail at once) or `hang` (they hang until their time limit).
    """

    position: float
    kind: str
    share: float
    first_day: float = 0.0
    last_day: float = 1e6


@dataclass(frozen=True)
class NoisyCheck:
    """A check that fails so many times per node-day although nothing is wrong, and passes again within ten minutes."""

    check: str
    rate: float


@dataclass(frozen=True)
class LeadingCheck:
    """A category whose faults fail their check so many seconds before they end the application."""

    category: str
    seconds: float


@dataclass(frozen=True)
class Relapse:
    """A repair that does not work: for a category, with a new part or without one.

    After `share` of these repairs the fault is back, in a time that is exponential with a mean of `mean_days`.
    """

    category: str
    has_new_part: bool
    share: float
    mean_days: float


@dataclass(frozen=True)
class DriverRollout:
    """A driver that the first `share` of the nodes get from `day` on, one after the other over `spread_days`.

    After that, `factor` of the single faults of `category` on such a node still happen. The mean rates of faults in the
    truth do not know of it.
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
    """How long repairs take. Times are lognormal around medians in hours; in a permanent repair a part is changed.

    `finding_share` is the share of low-severity findings that need a part. `lemon_factor` is multiplied with the share
    of permanent repairs for faults of lemons: these faults often vanish before anyone looks, so the node stays bad.
    `relapses` are repairs that do not work. Nodes with a fault of the `untouched` categories come back as they are,
    without a restart, unless a part is changed.
    """

    transient_hours: float = 0.75
    permanent_hours: float = 16.0
    finding_share: float = 0.0
    lemon_factor: float = 0.5
    relapses: tuple[Relapse, ...] = ()
    untouched: tuple[str, ...] = ()


@dataclass(frozen=True)
class LogHabits:
    """What a site keeps of its logs.

    Attributes
    ----------
    step_share
        Share of jobs whose batch step is kept in the accounting.
    has_submit_lines
        Whether the accounting keeps the command lines of submissions.
    frequent_seconds, daily_seconds
        Time between two good results that are kept, of frequent checks and of the others.
    job_check_share
        Share of jobs whose good prolog and epilog results are kept.
    chatter_per_node_day
        Number of kernel lines without a meaning.
    has_controller_log
        Whether slurmctld.log is kept.
    has_job_lines
        Whether slurmctld.log has the submissions, starts and ends of jobs, or only lines about nodes and preemption.
    squeue_seconds
        Time between two snapshots of the queue; 0 for none.
    failure_only_checks
        Names of checks whose good results are never kept.
    accounting_skips_days
        Days at the start that the export of the accounting leaves out, as `sacct -S` does: attempts that ended in them
        are missing.
    accounting_lacks_hours
        Hours at the end that the export of the accounting leaves out, because it was made before the exports of the
        other logs: attempts that ended in them are shown as running, and jobs submitted in them are missing.
    charges_whole_nodes
        Whether the accounting charges a job with all processors and all memory of its nodes, even if it shares them
        with other jobs.
    has_job_summaries
        Whether the accounting keeps jobstats' summaries of what jobs used.
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
    failure_only_checks: tuple[str, ...] = ()
    accounting_skips_days: float = 0.0
    accounting_lacks_hours: float = 0.0
    charges_whole_nodes: bool = False
    has_job_summaries: bool = False


@dataclass(frozen=True)
class Profile:
    """A cluster to simulate. Rates are per node-day in service; times of day are in `timezone`.

    Attributes
    ----------
    outcomes, large_outcomes
        Shares of the states in which work ends if neither a fault nor a preemption ends it: work of fewer than 64
        GPUs, and larger work.
    checks_introduced
        Names of health checks, each with the day on which it was introduced. What only such a check can find stays
        unseen before that day.
    false_alarms
        False alarms by their share of completed attempts. If it is None, false alarms come at `alarm_rate` and pass
        quickly.
    month_variation
        How much the rate of faults differs between calendar months: the coefficient of variation of a gamma
        distribution, from which each month's factor is drawn. Bursts and shared faults do not follow it.
    objective
        Availability that the site has promised; it changes nothing but `cluster.toml`.
    idle_users
        Numbers of users whose jobs hold their GPUs without using them.
    nodes_per_rack, nodes_per_switch
        How many neighbouring nodes stand in a rack and are attached to a switch; 0 if no log tells. A burst on all
        nodes of a rack makes a bad rack, shared faults on nodes of a switch a bad switch.
    """

    cluster_id: str
    timezone: str
    first_day: date
    days: int
    node_count: int
    gpus_per_node: int
    streams: tuple[Stream, ...]
    outcomes: dict[str, float]
    large_outcomes: dict[str, float]
    fault_rate: float
    drain_rate: float
    alarm_rate: float
    lemons: tuple[Lemon, ...]
    bursts: tuple[Burst, ...] = ()
    shared_faults: tuple[SharedFault, ...] = ()
    crash_loops: tuple[CrashLoop, ...] = ()
    maintenance: tuple[Maintenance, ...] = ()
    repairs: Repairs = Repairs()
    cooccurrence: Cooccurrence = field(default_factory=Cooccurrence)
    checks_introduced: tuple[tuple[str, int], ...] = ()
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
    month_variation: float = 0.0
    objective: float | None = None
    hidden_faults: tuple[HiddenFault, ...] = ()
    driver_rollouts: tuple[DriverRollout, ...] = ()
    idle_users: tuple[int, ...] = ()
    noisy_checks: tuple[NoisyCheck, ...] = ()
    leading_checks: tuple[LeadingCheck, ...] = ()
    nodes_per_rack: int = 0
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
    def mean_fault_rate(self) -> float:
        """Rate of independent job-ending faults over fleet and days, lemons and bursts included."""
        return sum(map(self.mean_rate_of, range(self.node_count))) / self.node_count

    def mean_rate_of(self, node: int) -> float:
        """Mean rate of independent job-ending faults on one node: its own or its lemon's, and its part of the bursts.

        A burst counts in proportion to its days. Shared faults and crash loops do not count.
        """
        lemons = {self.node_at(lemon.position): lemon.rate for lemon in self.lemons}
        rate = lemons.get(node, self.fault_rate)
        for burst in self.bursts:
            days = min(burst.last_day, self.days) - min(burst.first_day, self.days)
            places = [self.node_at(position) for position in burst.positions].count(node) if burst.positions else 1
            rate += burst.rate * days / self.days * places
        return rate

    def node_at(self, position: float) -> int:
        """Turn a position from 0 to 1 into a node index."""
        return min(int(position * self.node_count), self.node_count - 1)

    def place_of(self, node: int) -> dict[str, str]:
        """Name the places of a node that the logs tell."""
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
        nodes = max(4, round(self.node_count * scale))
        lemons = max(1, round(len(self.lemons) * scale)) if self.lemons else 0
        copies = max(1, round(scale))
        return replace(
            self,
            days=self.days if days is None else days,
            node_count=nodes,
            lemons=tuple(
                replace(lemon, position=(lemon.position + shift) % 1.0)
                for lemon, shift in (
                    (self.lemons[int(number / scale) % len(self.lemons)], number % copies / nodes)
                    for number in range(lemons)
                )
            ),
            shared_faults=tuple(
                replace(
                    fault,
                    day=fault.day + 5.3 * copy,
                    first_position=(fault.first_position + copy / copies) % 0.9,
                    node_count=max(2, round(fault.node_count * min(scale, 1.0))),
                )
                for fault in self.shared_faults
                for copy in range(copies)
            ),
        )
