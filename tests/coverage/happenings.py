"""The history of a cluster: jobs arrive, run and end, nodes fail and are repaired. Times are seconds since the epoch.

Jobs arrive as a Poisson process and start in order of arrival on nodes drawn at random. Faults of nodes and switches
are Poisson processes while the nodes are in use, thinned by month. A fault ends every job on the node.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
from numpy.random import Generator
from scipy.optimize import brentq

from tests.coverage.sites import Site

DAY = 86400.0
WARM_UP_DAYS = 8
MAX_SECONDS = 7 * DAY
CATEGORIES = ("gpu_unavailable", "gpu_memory", "gpu_nvlink", "ib_link", "pcie", "filesystem_mount")
KERNEL_ALARM_SHARE = 0.15
"""False alarms that only the kernel gives, where its log is kept."""
SECOND_ALARM_SHARE = 0.07
"""False alarms of a check that another check gives as well."""
CATEGORY_SHARES = (0.2, 0.2, 0.1, 0.25, 0.1, 0.15)


@dataclass
class Job:
    """A user's request: whole nodes, or `gpus` of one node. After `run_seconds` the job ends by itself."""

    number: int
    user: str
    submitted: float
    node_count: int
    gpus: int
    run_seconds: float
    end_state: str


@dataclass
class Attempt:
    """One stay of a job on its nodes. `fault` is the index of the fault that ended it."""

    job: Job
    submitted: float
    started: float
    nodes: list[int]
    ended: float
    state: str
    fault: int | None = None
    is_planned_end: bool = False


@dataclass
class Fault:
    """A failure of a node or of a switch. It strikes `nodes`, and its jobs end in `state`."""

    at: float
    nodes: list[int]
    category: str
    state: str
    is_transient: bool
    is_silent: bool
    repaired: float
    is_drained: bool
    is_of_switch: bool = False


@dataclass
class Withdrawal:
    """A node out of service, for a fault, a false alarm that was believed, or maintenance."""

    node: int
    start: float
    end: float
    kind: str
    category: str


@dataclass
class Alarm:
    """A check that fails without a fault, from `start` to `end`."""

    node: int
    category: str
    start: float
    end: float
    is_drained: bool
    is_kernel: bool
    has_second: bool


@dataclass
class Happenings:
    """The history of a cluster. The export shows `first` to `last`."""

    site: Site
    first: float
    last: float
    attempts: list[Attempt]
    pending: list[Job]
    faults: list[Fault]
    alarms: list[Alarm]
    withdrawals: list[Withdrawal]
    hazards: np.ndarray
    """Faults per second in use, by node."""
    months: list[tuple[float, float, float]]
    """Start, end and factor of the rate of each month."""
    alarm_rates: np.ndarray
    """False alarms per second, by node."""
    alarm_shares: dict[str, float]
    """Share of the false alarms by category."""
    lemons: list[int]


def node_name(site: Site, node: int) -> str:
    """Return a node's name, as at real sites. All names have one width."""
    return f"{site.name[0]}gpu{node + 1:04d}"


def _job_shapes(site: Site, rng: Generator, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return nodes, GPUs and needed seconds of jobs."""
    least_large = 128 // site.gpus_per_node + 1
    middle = 0.1
    shares = np.array([site.one_gpu_share, 0.0, middle, 0.06, site.large_share])
    shares[1] = 1 - shares.sum()
    kind = rng.choice(5, size=count, p=shares)
    whole = site.gpus_per_node
    nodes = np.select(
        [kind <= 1, kind == 2, kind == 3],
        [1, rng.integers(2, 5, count), rng.integers(6, 13, count)],
        rng.integers(least_large, max(least_large + 1, int(0.3 * site.node_count)), count),
    )
    few = rng.choice([1, 2, min(4, whole)], p=[0.8, 0.12, 0.08], size=count)
    gpus = np.where(kind == 0, few, nodes * whole)
    medians = np.array([1.5, 3.0, 5.0, 8.0, site.large_hours])[kind] * 3600 * site.runtime_factor
    seconds = medians * np.exp(1.1 * rng.standard_normal(count))
    return nodes, gpus, np.clip(seconds, 120, MAX_SECONDS)


def _outcomes(site: Site, rng: Generator, seconds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the end states without faults, and the seconds until then. Users' failures are early."""
    other = np.array([0.08, 0.02, 0.005])
    state = rng.choice(
        ["COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY"],
        p=[1 - site.user_failure_share - other.sum(), site.user_failure_share, *other],
        size=len(seconds),
    )
    early = np.where(
        rng.random(len(seconds)) < 0.5, rng.exponential(1200, len(seconds)), rng.random(len(seconds)) * seconds
    )
    is_early = np.isin(state, ["FAILED", "CANCELLED", "OUT_OF_MEMORY"])
    return state, np.where(is_early, np.clip(np.minimum(early, seconds), 5, None), seconds)


def _jobs(site: Site, rng: Generator, first: float, last: float) -> list[Job]:
    start = first - (WARM_UP_DAYS * DAY if site.is_cut_at_start else 0)
    nodes, gpus, seconds = _job_shapes(site, rng, 20_000)
    _, until = _outcomes(site, rng, seconds)
    node_days = (np.minimum(1, gpus / (nodes * site.gpus_per_node)) * nodes * until).mean() / DAY
    count = rng.poisson(site.load * site.node_count / node_days * (last - start) / DAY)
    at = np.sort(rng.uniform(start, last, count))
    nodes, gpus, seconds = _job_shapes(site, rng, count)
    state, until = _outcomes(site, rng, seconds)
    return [
        Job(
            100_000 + i,
            f"u{rng.integers(30):02d}",
            float(at[i]),
            int(nodes[i]),
            int(gpus[i]),
            float(until[i]),
            str(state[i]),
        )
        for i in range(count)
    ]


def _months(site: Site, rng: Generator, first: float, last: float) -> list[tuple[float, float, float]]:
    edges = [first - WARM_UP_DAYS * DAY]
    moment = datetime.fromtimestamp(first, UTC)
    year, month = moment.year, moment.month
    while edges[-1] < last:
        year, month = (year, month + 1) if month < 12 else (year + 1, 1)
        edges.append(datetime(year, month, 1, tzinfo=UTC).timestamp())
    shape = 1 / site.month_cv**2 if site.month_cv else None
    factors = rng.gamma(shape, 1 / shape, len(edges) - 1) if shape else np.ones(len(edges) - 1)
    return [(edges[i], edges[i + 1], float(factors[i])) for i in range(len(edges) - 1)]


class _Cluster:
    """The running state of one cluster while its history is made."""

    def __init__(self, site: Site, rng: Generator, first: float, last: float, alarms: list[Alarm]) -> None:
        self.site, self.rng, self.last = site, rng, last
        self.free = np.full(site.node_count, site.gpus_per_node)
        self.is_out = np.zeros(site.node_count, dtype=int)
        self.on_node: list[list[Attempt]] = [[] for _ in range(site.node_count)]
        self.queue: deque[tuple[Job, float]] = deque()
        self.attempts: list[Attempt] = []
        self.faults: list[Fault] = []
        self.withdrawals: list[Withdrawal] = []
        self.events: list[tuple[float, int, str, object]] = []
        self.ticket = 0
        for alarm in alarms:
            if alarm.is_drained:
                self._withdraw(alarm.node, alarm.start + 30, alarm.end, "false alarm", alarm.category)

    def add(self, at: float, what: str, about: object) -> None:
        self.ticket += 1
        heapq.heappush(self.events, (at, self.ticket, what, about))

    def _withdraw(self, node: int, start: float, end: float, kind: str, category: str) -> None:
        self.withdrawals.append(Withdrawal(node, start, end, kind, category))
        self.add(start, "out", node)
        self.add(end, "back", node)

    def run(self) -> None:
        handlers = {"job": self._arrive, "end": self._end, "fault": self._fault, "rack": self._maintain}
        while self.events:
            at, _, what, about = heapq.heappop(self.events)
            if at > self.last:
                break
            if what in ("out", "back"):
                self.is_out[about] += 1 if what == "out" else -1
            else:
                handlers[what](at, about)
            self._start_jobs(at)

    def _arrive(self, at: float, job: Job) -> None:
        self.queue.append((job, at))

    def _start_jobs(self, at: float) -> None:
        while self.queue:
            job, submitted = self.queue[0]
            nodes = self._room_for(job)
            if nodes is None:
                return
            self.queue.popleft()
            attempt = Attempt(job, submitted, at + 1, nodes, at + 1 + job.run_seconds, job.end_state)
            self.attempts.append(attempt)
            for node in nodes:
                self.on_node[node].append(attempt)
                self.free[node] -= job.gpus // job.node_count
            self.add(attempt.ended, "end", attempt)

    def _room_for(self, job: Job) -> list[int] | None:
        node_gpus = job.gpus // job.node_count
        able = np.flatnonzero((self.is_out == 0) & (self.free >= node_gpus))
        if len(able) < job.node_count:
            return None
        if node_gpus < self.site.gpus_per_node:
            shared = able[self.free[able] < self.site.gpus_per_node]
            able = shared if len(shared) else able
        return sorted(int(node) for node in self.rng.choice(able, job.node_count, replace=False))

    def _end(self, at: float, attempt: Attempt) -> None:
        if attempt.ended != at or attempt not in self.on_node[attempt.nodes[0]]:
            return
        for node in attempt.nodes:
            self.on_node[node].remove(attempt)
            self.free[node] += attempt.job.gpus // attempt.job.node_count
        if attempt.state in ("NODE_FAIL", "REQUEUED") and (attempt.state == "REQUEUED" or self.rng.random() < 0.6):
            self.queue.append((attempt.job, at + 1))

    def _kill(self, attempt: Attempt, at: float, state: str, fault: int | None) -> None:
        if at < attempt.ended and attempt.fault is None and not attempt.is_planned_end:
            attempt.ended, attempt.state, attempt.fault = at, state, fault
            attempt.is_planned_end = fault is None
            self.add(at, "end", attempt)

    def _fault(self, at: float, struck: tuple[list[int], bool]) -> None:
        candidates, is_of_switch = struck
        nodes = [node for node in candidates if self.on_node[node] and not self.is_out[node]]
        if not nodes:
            return
        site, rng = self.site, self.rng
        state = "NODE_FAIL" if rng.random() < site.node_fail_share else "FAILED"
        if state == "FAILED" and rng.random() < site.requeued_share:
            state = "REQUEUED"
        is_silent = rng.random() < (0.5 if state == "NODE_FAIL" else 0.0)
        is_transient = not is_silent and rng.random() < site.transient_share
        if is_transient:
            repaired = at + site.check_period * (1 + rng.exponential(1.5))
        else:
            repaired = at + max(600.0, 4 * 3600 * np.exp(rng.standard_normal()))
        category = "ib_link" if is_of_switch else str(rng.choice(CATEGORIES, p=CATEGORY_SHARES))
        is_drained = not is_transient and rng.random() < 0.9
        fault = Fault(at, nodes, category, state, is_transient, is_silent, float(repaired), is_drained, is_of_switch)
        self.faults.append(fault)
        victims = {id(attempt): attempt for node in nodes for attempt in self.on_node[node]}
        delay = site.node_fail_delay if state == "NODE_FAIL" else site.failed_delay
        for attempt in victims.values():
            self._kill(attempt, at + delay * rng.random(), state, len(self.faults) - 1)
        if is_drained or state == "NODE_FAIL":
            for node in nodes:
                self._withdraw(node, at, fault.repaired, "down" if state == "NODE_FAIL" else "fault", category)

    def _maintain(self, at: float, nodes: list[int]) -> None:
        victims = {id(attempt): attempt for node in nodes for attempt in self.on_node[node]}
        for attempt in victims.values():
            self._kill(attempt, at + 1, "NODE_FAIL", None)
        for node in nodes:
            self._withdraw(node, at, at + 6 * 3600, "maintenance", "planned")


def _live(
    site: Site, seed: int, first: float, last: float, jobs: list[Job], hazards: np.ndarray, months: list, alarms: list
) -> _Cluster:
    """Simulate the same jobs and candidate faults, with or without false alarms that drain nodes."""
    cluster = _Cluster(site, np.random.default_rng([seed, 2]), first, last, alarms)
    rng = np.random.default_rng([seed, 3])
    for job in jobs:
        cluster.add(job.submitted, "job", job)
    for start, end, factor in months:
        for node in range(site.node_count):
            for at in rng.uniform(start, end, rng.poisson(hazards[node] * factor * (end - start))):
                cluster.add(float(at), "fault", ([node], False))
        for switch in range(0, site.node_count, site.nodes_per_switch):
            members = np.arange(switch, min(switch + site.nodes_per_switch, site.node_count))
            for at in rng.uniform(start, end, rng.poisson(site.switch_rate / 1000 / DAY * factor * (end - start))):
                hit = members[rng.random(len(members)) < site.switch_reach]
                cluster.add(float(at), "fault", (hit.tolist(), True))
    for at in rng.uniform(first + DAY, last - DAY, site.maintenance_count):
        rack = int(rng.integers(0, site.node_count // 8)) * 8
        cluster.add(float(at), "rack", list(range(rack, rack + 8)))
    cluster.run()
    return cluster


def _alarm_rates(site: Site, rng: Generator, attempts: list[Attempt], first: float, last: float) -> np.ndarray:
    """Return false alarms per second by node, so that the wanted share of completed attempts has one in its window."""
    relative = rng.gamma(2.0, 0.5, site.node_count)
    relative[rng.choice(site.node_count, site.flaky_count, replace=False)] *= site.flaky_factor
    done = [a for a in attempts if a.state == "COMPLETED" and first <= a.ended <= last]
    weights = np.array([relative[a.nodes].sum() * (min(a.ended - a.started, 600) + 300) for a in done])
    scale = brentq(lambda log: np.mean(-np.expm1(-np.exp(log) * weights)) - site.false_alarm_share, -40, 0)
    return relative * np.exp(scale)


def _starts(site: Site, rng: Generator, rate: float, first: float, last: float) -> list[float]:
    """Return the moments of a node's false alarms: alone, or in rows with minutes between them."""
    rows = rng.uniform(first, last, rng.poisson(rate / site.alarms_in_a_row * (last - first)))
    if site.alarms_in_a_row == 1:
        return [float(at) for at in rows]
    starts = []
    for at in rows:
        gaps = rng.exponential(4 * site.check_period, rng.geometric(1 / site.alarms_in_a_row) - 1)
        starts += [float(at), *(float(at + later) for later in np.cumsum(gaps))]
    return [at for at in starts if at < last]


def _alarms(
    site: Site, rng: Generator, rates: np.ndarray, shares: np.ndarray, first: float, last: float
) -> list[Alarm]:
    alarms = []
    for node, rate in enumerate(rates):
        for start in _starts(site, rng, rate, first, last):
            draw = rng.random()
            is_kernel = site.health == "none" or (site.has_kernel and rng.random() < KERNEL_ALARM_SHARE)
            if draw < site.transient_alarm_share or is_kernel:
                seconds = site.check_period * min(2.0, rng.exponential(0.5))
            else:
                seconds = 900 + rng.exponential(3600)
            alarms.append(
                Alarm(
                    node,
                    str(rng.choice(CATEGORIES, p=shares)),
                    start,
                    start + float(seconds),
                    bool(draw > 1 - site.drained_alarm_share and not is_kernel),
                    bool(is_kernel),
                    bool(not is_kernel and rng.random() < SECOND_ALARM_SHARE),
                )
            )
    return sorted(alarms, key=lambda alarm: alarm.start)


def live_through(site: Site, days: int, seed: int, first: float) -> Happenings:
    """Return the history of a cluster over `days` from `first`, which is an epoch."""
    last = first + days * DAY
    rng = np.random.default_rng([seed, 1])
    jobs = _jobs(site, rng, first, last)
    months = _months(site, rng, first, last)
    factors = np.ones(site.node_count)
    lemons = rng.choice(site.node_count, site.lemon_count, replace=False)
    factors[lemons] = site.lemon_factor
    hazards = factors * site.fault_rate / 1000 / DAY
    quiet = _live(site, seed, first, last, jobs, hazards, months, [])
    rates = _alarm_rates(site, rng, quiet.attempts, first, last)
    shares = rng.dirichlet(np.ones(len(CATEGORIES)))
    alarms = _alarms(site, rng, rates, shares, first, last)
    lived = _live(site, seed, first, last, jobs, hazards, months, alarms)
    return Happenings(
        site=site,
        first=first,
        last=last,
        attempts=lived.attempts,
        pending=[job for job, _ in lived.queue],
        faults=lived.faults,
        alarms=alarms,
        withdrawals=lived.withdrawals,
        hazards=hazards,
        months=months,
        alarm_rates=rates,
        alarm_shares=dict(zip(CATEGORIES, shares.tolist(), strict=True)),
        lemons=sorted(int(node) for node in lemons),
    )
