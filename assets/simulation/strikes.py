"""Draws when and where faults strike: on single nodes (memoryless), in bursts, and on several neighbours at once.

Planned maintenance and crash loops are booked here as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assets.simulation import causes
from assets.simulation.false_alarms import Alarm, AlarmSource
from assets.simulation.faults import Faults
from assets.simulation.jobs import Jobs
from assets.simulation.profiles import DAY, HOUR, Burst, CrashLoop, Maintenance, NoisyCheck, SharedFault
from assets.simulation.rates import Months
from assets.simulation.service import Drain, Service
from assets.simulation.states import ALARM, CRASH, DRAIN, EVICT, LOST, REQUEUE, STATES
from assets.simulation.symptoms import show_noise
from assets.simulation.workload import Workload
from assets.simulation.world import World

FIRST_SHARED_INCIDENT = 1_000_000
"""The incident of a single fault has the fault's number. Numbers of shared incidents start here."""
SHARED_WITHIN_SECONDS = 60
LOOP_SECONDS = (3600, 12000)
"""Shortest and longest time from the start of a crash-looping job until it brings its node down."""
LOOP_JOB_SECONDS, LOOP_END_SECONDS = 5 * DAY, HOUR
"""Work of a crash-looping job in seconds: first more than it can finish, then the rest after the loop."""


class Strikes:
    """Books all faults and all planned work of a simulation."""

    def __init__(  # noqa: PLR0917
        self,
        world: World,
        jobs: Jobs,
        faults: Faults,
        service: Service,
        workload: Workload,
        rngs: tuple[np.random.Generator, np.random.Generator],
    ) -> None:
        self.world, self._jobs, self._faults, self._service = world, jobs, faults, service
        profile, clock = world.profile, world.clock
        self._months, self._lemons = Months(profile, rngs[0]), profile.lemon_nodes
        world.ledger.month_factors = self._months.factors
        self._loops: dict[int, int] = {}
        for node in range(profile.node_count):
            self._book_strike(node)
            self._book(profile.drain_rate, self._find, node)
        self._book(profile.alarm_rate * profile.node_count, self._alarm)
        if profile.false_alarms:
            self._book_false_alarm(AlarmSource(profile, profile.false_alarms, workload, rngs[1]))
        for noisy in profile.noisy_checks:
            self._book(noisy.rate * profile.node_count, self._fail_noisily, noisy)
        for burst in profile.bursts:
            self._book_burst(burst)
        for number, shared in enumerate(profile.shared_faults):
            clock.at(shared.day * DAY, self._strike_neighbours, shared, FIRST_SHARED_INCIDENT + number)
        for planned in profile.maintenance:
            clock.at(planned.day * DAY, self._maintain, planned)
        for loop in profile.crash_loops:
            clock.at(loop.day * DAY, self._begin_loop, loop)
        jobs.started = self._started

    def _book(self, rate: float, action: Callable[..., None], *arguments: Any) -> None:
        """Book an action that happens at a rate per day."""
        if rate > 0:
            self.world.clock.at(self.world.clock.now + self.world.rng.exponential(DAY / rate), action, *arguments)

    def _book_strike(self, node: int) -> None:
        rate = self._lemons[node].rate if node in self._lemons else self.world.profile.fault_rate
        if rate > 0:
            now, gap = self.world.clock.now, self.world.rng.exponential(DAY / rate)
            self.world.clock.at(self._months.after(now, gap), self._strike, node)

    def _strike(self, node: int) -> None:
        self._book_strike(node)
        lemon = self._lemons.get(node)
        cause = causes.draw_cause(self.world.rng, causes.LEMON_CATEGORIES.get(lemon.root_cause) if lemon else None)
        self._strike_as(node, cause, lemon is not None)

    def _strike_as(self, node: int, cause: int, is_lemon: bool, code: int | None = None) -> None:
        """Begin a fault, unless the node's new driver prevents it. Only such drivers draw a random number."""
        world = self.world
        for rollout in world.profile.driver_rollouts:
            at = rollout.changed_at(node, world.profile.node_count)
            if rollout.category == causes.CAUSES[cause].category and at is not None and world.clock.now >= at:
                if world.rng.random() >= rollout.factor:
                    return
                break
        self._faults.begin(node, cause, causes.draw_mechanism(world.rng, cause), is_lemon=is_lemon, code=code)

    def _find(self, node: int) -> None:
        self._book(self.world.profile.drain_rate, self._find, node)
        self._faults.begin(node, causes.draw_cause(self.world.rng, causes.DRAIN_CATEGORIES), DRAIN)

    def _any_node(self) -> int:
        return int(self.world.rng.integers(self.world.profile.node_count))

    def _alarm(self) -> None:
        self._book(self.world.profile.alarm_rate * self.world.profile.node_count, self._alarm)
        self._faults.begin(self._any_node(), causes.BY_CATEGORY[causes.UNATTRIBUTED], ALARM)

    def _book_false_alarm(self, alarms: AlarmSource) -> None:
        self.world.clock.at(self.world.clock.now + alarms.next_gap(), self._raise_false_alarm, alarms)

    def _raise_false_alarm(self, alarms: AlarmSource) -> None:
        self._book_false_alarm(alarms)
        alarm = alarms.draw(self._faults.missing_checks())
        self._faults.begin(alarm.node, causes.BY_CATEGORY[causes.UNATTRIBUTED], ALARM, alarm=alarm)

    def _fail_noisily(self, noisy: NoisyCheck) -> None:
        self._book(noisy.rate * self.world.profile.node_count, self._fail_noisily, noisy)
        alarm = Alarm(self._any_node(), show_noise(noisy.check), self.world.profile.check_seconds - 1, None)
        self._faults.begin(alarm.node, causes.BY_CATEGORY[causes.UNATTRIBUTED], ALARM, alarm=alarm)

    def _book_burst(self, burst: Burst) -> None:
        profile, rng, nodes = self.world.profile, self.world.rng, burst.struck(self.world.profile)
        cause, last = causes.BY_CATEGORY[burst.category], min(burst.last_day, profile.days)
        count = int(rng.poisson(max(0.0, burst.rate * len(nodes) * (last - burst.first_day))))
        times = rng.uniform(burst.first_day, max(last, burst.first_day), count) * DAY
        for time, pick in zip(times.tolist(), rng.integers(0, len(nodes), count).tolist(), strict=True):
            self.world.clock.at(time, self._strike_as, nodes[pick], cause, bool(burst.positions), burst.code)

    def _neighbours(self, first_position: float, count: int) -> range:
        first = self.world.profile.node_at(first_position)
        return range(first, min(first + count, self.world.profile.node_count))

    def _strike_neighbours(self, shared: SharedFault, incident: int) -> None:
        cause, rng = causes.BY_CATEGORY[shared.category], self.world.rng
        for node in self._neighbours(shared.first_position, shared.node_count):
            mechanism = causes.draw_mechanism(rng, cause, (CRASH, EVICT, REQUEUE))
            at = self.world.clock.now + int(rng.integers(0, SHARED_WITHIN_SECONDS))
            self.world.clock.at(at, self._faults.begin, node, cause, mechanism, incident)

    def _maintain(self, planned: Maintenance) -> None:
        for node in self._neighbours(planned.first_position, planned.node_count):
            if not self._faults.of_node(node):
                seconds = planned.hours * HOUR * float(self.world.rng.uniform(0.8, 1.2))
                wish = Drain(-1, planned.reason, seconds, self.world.clock.now, is_planned=True)
                if planned.ends_jobs_as is None:
                    self._service.drain(node, wish)
                elif not self._service.is_out(node):
                    self._service.take_down(node, wish)
                    for attempt in list(self.world.pool.occupants[node]):
                        self._jobs.end_planned(attempt, STATES.index(planned.ends_jobs_as), node)

    def _begin_loop(self, loop: CrashLoop) -> None:
        job = self._jobs.submissions.submit_important(loop.gpus, LOOP_JOB_SECONDS)
        run = self.world.ledger.jobs["run"][job]
        self._loops[run], self._jobs.requeue_seconds[run] = loop.failures + 1, loop.requeue_seconds

    def _started(self, attempt: int, job: int) -> None:
        """Let a looping job bring down a node some time after each of its starts, until it has failed often enough."""
        run = self.world.ledger.jobs["run"][job]
        if not self._loops or run not in self._loops:
            return
        self._loops[run] -= 1
        if self._loops[run] == 0:
            del self._loops[run]
            self.world.ledger.jobs["left"][job] = LOOP_END_SECONDS
        else:
            low, high = LOOP_SECONDS
            at = self.world.clock.now + low + (high - low) * self.world.rng.random()
            self.world.clock.at(at, self._crash_again, attempt)

    def _crash_again(self, attempt: int) -> None:
        held = self._jobs.running.get(attempt)
        if held is None or held.doomed:
            return
        node = held.nodes[int(self.world.rng.random() * len(held.nodes))]
        self._faults.begin(node, causes.BY_CATEGORY[causes.UNATTRIBUTED], LOST)
        if not held.doomed:
            self.world.clock.at(self.world.clock.now + LOOP_SECONDS[0], self._crash_again, attempt)
