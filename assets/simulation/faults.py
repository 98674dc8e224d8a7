"""The course of a fault: how it affects the jobs of its node, how it is found, and what is done about it.

A node that is out of service or already has a fault gets no second one.
"""

from __future__ import annotations

import numpy as np

from assets.simulation.causes import CAUSES
from assets.simulation.false_alarms import Alarm
from assets.simulation.jobs import Jobs
from assets.simulation.ledger import Symptoms
from assets.simulation.profiles import DAY, HOUR
from assets.simulation.service import NOT_RESPONDING, PROLOG_ERROR, REBOOTED, Drain, Service
from assets.simulation.states import (
    ALARM,
    CRASH,
    DRAIN,
    EVICT,
    FAILED,
    LAUNCH,
    LOST,
    NODE_FAIL,
    OPERATOR,
    REBOOT,
    REQUEUE,
    REQUEUED,
)
from assets.simulation.symptoms import EvenChance, show, show_alarm, show_low_severity
from assets.simulation.world import World

CRASH_EXITS = (6, 6, 6, 1, 1)
"""Exit codes of an application that lost its GPU or its network. Most are the abort of a NCCL watchdog."""
MAX_REPAIR_SECONDS = 14 * DAY


FOUND_ONLY_BY = {"mounted directory": "filesystem_mount"}
"""Checks that alone can find a category, with the category."""
ALARM_TICKS = 2
"""Largest number of periodic checks until a false alarm is over."""


class Faults:
    """Follows each fault from its first second until its node is back in service."""

    def __init__(self, world: World, jobs: Jobs, service: Service) -> None:
        self.world, self._jobs, self._service = world, jobs, service
        self._broken: dict[int, list[int]] = {}
        self._armed: dict[int, int] = {}
        self._alarms: dict[int, Alarm] = {}
        self._leads = {leading.category: leading.seconds for leading in world.profile.leading_checks}
        self._chance = [EvenChance(world.rng) for _ in ("nobody", "one job", "several jobs")]
        self._course = {
            CRASH: self._crash,
            EVICT: self._hang_until_checked,
            REQUEUE: self._hang_until_checked,
            LOST: self._lose,
            REBOOT: self._reboot,
            OPERATOR: self._wait_for_operator,
            LAUNCH: self._arm,
            DRAIN: self._wait_for_check,
            ALARM: self._fail_check_falsely,
        }
        self._seen_from = {
            FOUND_ONLY_BY[check]: day * DAY for check, day in world.profile.checks_introduced if check in FOUND_ONLY_BY
        }
        service.repaired = self._repaired
        jobs.launch_fails = self._launch_fails

    def is_broken(self, node: int) -> bool:
        """Tell whether a node has a fault that is not cleared."""
        return node in self._broken

    def of_node(self, node: int) -> list[int]:
        """Give the faults of a node that are not cleared."""
        return list(self._broken.get(node, []))

    def begin(  # noqa: PLR0917
        self,
        node: int,
        cause: int,
        mechanism: int,
        incident: int | None = None,
        is_lemon: bool = False,
        code: int | None = None,
        alarm: Alarm | None = None,
    ) -> None:
        """Begin a fault, unless its node is out of service or has a fault already.

        A fault that only one check can find ends the application without a trace as long as the check does not exist.
        A false alarm is drawn here unless one is given as `alarm`.
        """
        world, rng, category = self.world, self.world.rng, CAUSES[cause].category
        if self._service.is_out(node) or not self._may_strike(node, mechanism):
            return
        gpu, ticket = int(rng.integers(world.pool.gpus_per_node)), self._service.ticket()
        is_unseen = world.clock.now < self._seen_from.get(category, 0)
        waits = mechanism in (DRAIN, ALARM)
        if is_unseen or (category in self._leads and not waits):
            mechanism, waits = CRASH, False
        symptoms = self._show(node, category, mechanism, gpu, ticket, code, alarm)
        is_alone = incident is None and mechanism == CRASH
        is_silent = is_unseen or (is_alone and rng.random() < world.profile.silent_crash_share)
        if is_silent:
            symptoms = Symptoms()
        repairs = world.profile.repairs
        permanent_share = CAUSES[cause].permanent_share * (repairs.lemon_factor if is_lemon else 1.0)
        if mechanism == DRAIN:
            permanent_share = repairs.finding_share
        fault = world.ledger.faults.append(
            node=node,
            at=world.clock.now,
            cause=cause,
            mechanism=mechanism,
            gpu=gpu if CAUSES[cause].hits_one_gpu else -1,
            is_shared=incident is not None,
            is_permanent=mechanism != ALARM and not is_silent and rng.random() < permanent_share,
            has_evidence=bool(symptoms.kernel or symptoms.checks) or mechanism in (LAUNCH, OPERATOR),
            incident=len(world.ledger.faults) if incident is None else incident,
            **dict.fromkeys(("detected", "cleared", "epilog_job", "checks_from"), -1),
        )
        world.ledger.symptoms.append(symptoms)
        self._broken.setdefault(node, []).append(fault)
        if alarm is not None:
            self._alarms[fault] = alarm
        if not waits and not is_silent:
            self._service.cancel_drain(node)
        self._course[mechanism](fault, node)

    def _show(  # noqa: PLR0917
        self, node: int, category: str, mechanism: int, gpu: int, ticket: int, code: int | None, alarm: Alarm | None
    ) -> Symptoms:
        """Draw what a fault shows. A false alarm is one of a check that exists already."""
        world, rng = self.world, self.world.rng
        if alarm is not None:
            return alarm.symptoms
        if mechanism == DRAIN:
            return show_low_severity(rng, category, gpu)
        if mechanism == ALARM:
            missing, symptoms = self.missing_checks(), show_alarm(rng, gpu)
            while symptoms.checks[0][0] in missing:
                symptoms = show_alarm(rng, gpu)
            return symptoms
        # Nodes of whole-node jobs, of several jobs and of none have separate sequences: they count differently.
        chance = self._chance[min(len(world.pool.occupants[node]), 2)]
        return show(rng, world.profile.cooccurrence, category, mechanism, gpu, ticket, code, chance)

    def missing_checks(self) -> set[str]:
        """Name the checks that do not exist yet."""
        return {name for name, day in self.world.profile.checks_introduced if self.world.clock.now < day * DAY}

    def _may_strike(self, node: int, mechanism: int) -> bool:
        """Allow one fault at a time. A node that only waits to be drained can fail like any other."""
        mechanisms = self.world.ledger.faults["mechanism"]
        waiting = mechanism not in (DRAIN, LAUNCH, ALARM)
        return all(waiting and mechanisms[fault] in (DRAIN, ALARM) for fault in self._broken.get(node, []))

    def _in(self, seconds: float) -> float:
        return self.world.clock.now + seconds

    def _wait_for_check(self, fault: int, node: int) -> None:
        self.world.clock.at(self._service.next_check(node), self._found, fault, -1)

    def _fail_check_falsely(self, fault: int, node: int) -> None:
        """Let a check fail although nothing is wrong: once or twice, or for as long as the alarm says."""
        faults, period = self.world.ledger.faults, self.world.profile.check_seconds
        found, alarm = self._service.next_check(node), self._alarms.pop(fault, None)
        if self.world.ledger.symptoms[fault].checks:
            faults["detected"][fault] = faults["checks_from"][fault] = found
        if alarm is None:
            over = found + period * (1 + int(self.world.rng.random() * ALARM_TICKS)) - 1
            self.world.clock.at(over, self._clear, fault, node)
        elif alarm.drained_after is None:
            self.world.clock.at(found + alarm.seconds, self._clear, fault, node)
        else:
            self.world.clock.at(found + alarm.drained_after, self._drain_for_nothing, fault, node)

    def _drain_for_nothing(self, fault: int, node: int) -> None:
        """Drain a node for a false alarm, unless the node is out of service already or the alarm is over."""
        if self.world.ledger.faults["cleared"][fault] < 0 and self.world.pool.accepts[node]:
            self._drain(fault, node, self.world.ledger.symptoms[fault].reason)

    def _clear(self, fault: int, node: int) -> None:
        """End a fault that went away by itself."""
        if self.world.ledger.faults["cleared"][fault] >= 0:
            return
        self.world.ledger.faults["cleared"][fault] = self.world.clock.now
        if node in self._broken:
            self._broken[node] = [other for other in self._broken[node] if other != fault]
            if not self._broken[node]:
                del self._broken[node]

    def _hang(self, node: int) -> None:
        for attempt in list(self.world.pool.occupants[node]):
            self._jobs.doom(attempt)

    def _hang_until_checked(self, fault: int, node: int) -> None:
        self._hang(node)
        self._wait_for_check(fault, node)

    def _stop_using(self, node: int) -> None:
        """Hang the node's jobs and start nothing new. Slurm does not use a node that does not answer."""
        self._hang(node)
        self.world.pool.set_accepts(node, False)

    def _lose(self, fault: int, node: int) -> None:
        self._stop_using(node)
        given_up = self._in(self.world.profile.heartbeat_seconds + self.world.rng.uniform(2, 32))
        self.world.clock.at(given_up, self._take_down, fault, NOT_RESPONDING)

    def _reboot(self, fault: int, node: int) -> None:
        self._stop_using(node)
        self.world.ledger.reboots.append(node=node, at=int(self._in(self.world.rng.uniform(50, 110))))
        self.world.clock.at(self._in(self.world.rng.uniform(115, 190)), self._take_down, fault, REBOOTED)

    def _wait_for_operator(self, fault: int, node: int) -> None:
        self._stop_using(node)
        self.world.ledger.faults["checks_from"][fault] = self._service.next_check(node)
        reason = self.world.ledger.symptoms[fault].reason
        self.world.clock.at(self._in(self.world.rng.uniform(310, 900)), self._take_down, fault, reason)

    def _arm(self, fault: int, node: int) -> None:
        self._armed[node] = fault

    def _crash(self, fault: int, node: int) -> None:
        gpu, rng = int(self.world.ledger.faults["gpu"][fault]), self.world.rng
        hit = [a for a in self.world.pool.occupants[node] if not self._jobs.running[a].doomed and self._uses(a, gpu)]
        if hit:
            victim = hit[int(rng.integers(len(hit)))]
            self._jobs.doom(victim)
            self.world.clock.at(self._dies_at(fault, node), self._application_dies, fault, victim)
        else:
            self._after_crash(fault, node)

    def _dies_at(self, fault: int, node: int) -> float:
        """Draw when the application dies. Where a check leads, that is a set time after it begins to fail.

        The kernel speaks then, too.
        """
        faults = self.world.ledger.faults
        lead = self._leads.get(CAUSES[faults["cause"][fault]].category)
        if lead is None or not faults["has_evidence"][fault]:
            return self._in(self.world.rng.uniform(2, 75))
        faults["checks_from"][fault] = self._service.next_check(node)
        dies_at = int(faults["checks_from"][fault]) + lead
        shown = self.world.ledger.symptoms[fault]
        shown.kernel = [(dies_at - self.world.clock.now + after, line) for after, line in shown.kernel]
        return dies_at

    def _uses(self, attempt: int, gpu: int) -> bool:
        return gpu < 0 or bool(self._jobs.running[attempt].mask >> gpu & 1)

    def _application_dies(self, fault: int, attempt: int) -> None:
        node = int(self.world.ledger.faults["node"][fault])
        if attempt not in self._jobs.running:
            self._after_crash(fault, node)
            return
        job = self._jobs.running[attempt].job
        self._fail(fault, attempt, FAILED, CRASH_EXITS[int(self.world.rng.integers(len(CRASH_EXITS)))])
        if self.world.ledger.faults["has_evidence"][fault]:
            # The epilog check sees the fault before the scheduler can use the node again.
            self._found(fault, int(self.world.ledger.jobs["job_id"][job]))
        else:
            self._after_crash(fault, node)

    def _after_crash(self, fault: int, node: int) -> None:
        if self.world.ledger.faults["has_evidence"][fault]:
            self._wait_for_check(fault, node)
            return
        self._clear(fault, node)

    def _found(self, fault: int, epilog_job: int) -> None:
        """Take the node out once a check has found the fault. Only a finding of low severity waits for the jobs."""
        faults, now = self.world.ledger.faults, self.world.clock.now
        node, mechanism = int(faults["node"][fault]), int(faults["mechanism"][fault])
        worse = [other for other in self._broken.get(node, []) if faults["mechanism"][other] not in (DRAIN, ALARM)]
        if self._service.is_out(node) or (mechanism == DRAIN and any(faults["has_evidence"][other] for other in worse)):
            return
        faults["detected"][fault] = now
        if faults["checks_from"][fault] < 0:
            faults["checks_from"][fault], faults["epilog_job"][fault] = now, epilog_job
        reason = self.world.ledger.symptoms[fault].reason
        if mechanism == DRAIN:
            self._drain(fault, node, reason)
        elif mechanism == REQUEUE or not self.world.pool.occupants[node]:
            self._fail_all(fault, node, REQUEUED)
            self._drain(fault, node, reason)
        else:
            self._take_down(fault, reason)

    def _drain(self, fault: int, node: int, reason: str) -> None:
        self._service.drain(node, Drain(fault, reason, self._repair_seconds(fault), self.world.clock.now))

    def _take_down(self, fault: int, reason: str) -> None:
        node = int(self.world.ledger.faults["node"][fault])
        self.world.ledger.faults["detected"][fault] = self.world.clock.now
        self._service.take_down(node, Drain(fault, reason, self._repair_seconds(fault), self.world.clock.now))
        self._fail_all(fault, node, NODE_FAIL)

    def _fail_all(self, fault: int, node: int, state: int) -> None:
        for attempt in list(self.world.pool.occupants[node]):
            self._fail(fault, attempt, state, 0)

    def _fail(self, fault: int, attempt: int, state: int, exit_code: int) -> None:
        node = int(self.world.ledger.faults["node"][fault])
        self._jobs.fail(attempt, state, node, exit_code)
        at = int(self.world.ledger.attempts["end"][attempt])
        self.world.ledger.failures.append(attempt=attempt, fault=fault, node=node, at=at)

    def _launch_fails(self, attempt: int, nodes: list[int]) -> bool:
        if not self._armed or self._armed.keys().isdisjoint(nodes):
            return False
        for node in nodes:
            if node in self._armed:
                fault = self._armed.pop(node)
                self._jobs.doom(attempt)
                start = int(self.world.ledger.attempts["start"][attempt])
                self.world.clock.at(start + int(self.world.rng.integers(0, 2)), self._prolog_fails, fault, attempt)
                return True
        return False

    def _prolog_fails(self, fault: int, attempt: int) -> None:
        node = int(self.world.ledger.faults["node"][fault])
        if attempt in self._jobs.running:
            self._fail(fault, attempt, REQUEUED, 0)
        self.world.ledger.faults["detected"][fault] = self.world.clock.now
        self._drain(fault, node, PROLOG_ERROR)

    def _repair_seconds(self, fault: int) -> float:
        spread, repairs = float(self.world.rng.standard_normal()), self.world.profile.repairs
        if self.world.ledger.faults["is_permanent"][fault]:
            return min(repairs.permanent_hours * HOUR * float(np.exp(0.7 * spread)), MAX_REPAIR_SECONDS) + HOUR
        return min(repairs.transient_hours * HOUR * float(np.exp(0.6 * spread)), DAY / 3) + HOUR / 4

    def _repaired(self, node: int) -> None:
        self._armed.pop(node, None)
        for fault in self._broken.pop(node, []):
            self.world.ledger.faults["cleared"][fault] = self.world.clock.now
