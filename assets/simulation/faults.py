"""The course of a fault: how it affects the jobs of its node, how it is found, and how it is repaired.

A node that is out of service or already has a fault gets no second one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from assets.simulation import states
from assets.simulation.causes import CAUSES
from assets.simulation.false_alarms import MAX_TRANSIENT_CHECKS, Alarm
from assets.simulation.jobs import Jobs
from assets.simulation.ledger import Symptoms
from assets.simulation.profiles import DAY, HOUR
from assets.simulation.service import NOT_RESPONDING, PROLOG_ERROR, REBOOTED, Drain, Service
from assets.simulation.symptoms import EvenChance, show, show_alarm, show_low_severity
from assets.simulation.world import World

CRASH_EXITS = (6, 6, 6, 1, 1)
"""Exit codes of an application that lost its GPU or its network. Most are the abort of a NCCL watchdog."""
MAX_REPAIR_SECONDS = 14 * DAY
FOUND_ONLY_BY = {"mounted directory": "filesystem_mount"}
"""The only check that finds a category, with the category."""
HARMLESS = (states.DRAIN, states.ALARM)
"""Mechanisms that end no job."""


class Faults:
    """Follows each fault from its first second until its node is back in service."""

    def __init__(self, world: World, jobs: Jobs, service: Service) -> None:
        self.world, self._jobs, self._service, self._faults = world, jobs, service, world.ledger.faults
        self._broken: dict[int, list[int]] = {}
        self._armed: dict[int, int] = {}
        self._alarms: dict[int, Alarm] = {}
        self._leads = {leading.category: leading.seconds for leading in world.profile.leading_checks}
        self._chance = [EvenChance(world.rng) for _ in ("nobody", "one job", "several jobs")]
        self._course = {
            states.CRASH: self._crash,
            states.EVICT: self._hang_until_checked,
            states.REQUEUE: self._hang_until_checked,
            states.LOST: self._lose,
            states.REBOOT: self._reboot,
            states.OPERATOR: self._wait_for_operator,
            states.LAUNCH: self._armed.__setitem__,
            states.DRAIN: self._wait_for_check,
            states.ALARM: self._fail_check_falsely,
        }
        introduced = dict(world.profile.checks_introduced)
        self._seen_from = {found: introduced.get(check, 0) * DAY for check, found in FOUND_ONLY_BY.items()}
        service.repaired = self._repaired
        jobs.launch_fails = self._launch_fails

    def of_node(self, node: int) -> list[int]:
        """Return the faults of a node that are not cleared."""
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

        If only one check can find the fault and the check does not exist yet, the application ends without a trace.
        Without `alarm`, a false alarm is drawn here.
        """
        world, rng, category = self.world, self.world.rng, CAUSES[cause].category
        if self._service.is_out(node) or not self._may_strike(node, mechanism):
            return
        gpu, ticket = int(rng.integers(world.pool.gpus_per_node)), self._service.ticket()
        is_unseen = world.clock.now < self._seen_from.get(category, 0)
        waits = mechanism in HARMLESS
        if is_unseen or (category in self._leads and not waits):
            mechanism, waits = states.CRASH, False
        symptoms = self._show(node, category, mechanism, gpu, ticket, code, alarm)
        is_alone = incident is None and mechanism == states.CRASH
        is_silent = is_unseen or (is_alone and rng.random() < world.profile.silent_crash_share)
        if is_silent:
            symptoms = Symptoms()
        repairs = world.profile.repairs
        permanent_share = CAUSES[cause].permanent_share * (repairs.lemon_factor if is_lemon else 1.0)
        if mechanism == states.DRAIN:
            permanent_share = repairs.finding_share
        fault = world.ledger.faults.append(
            node=node, at=world.clock.now, cause=cause, mechanism=mechanism, is_shared=incident is not None,
            gpu=gpu if CAUSES[cause].hits_one_gpu else -1,
            is_permanent=mechanism != states.ALARM and not is_silent and rng.random() < permanent_share,
            has_evidence=bool(symptoms.kernel or symptoms.checks) or mechanism in (states.LAUNCH, states.OPERATOR),
            incident=len(world.ledger.faults) if incident is None else incident,
            **dict.fromkeys(("detected", "cleared", "epilog_job", "checks_from"), -1),
        )  # fmt: skip
        world.ledger.symptoms.append(symptoms)
        self._broken.setdefault(node, []).append(fault)
        if alarm is not None:
            self._alarms[fault] = alarm
        if not waits and not is_silent:
            self._service.cancel_drain(node)
        self._course[mechanism](node, fault)

    def _show(  # noqa: PLR0917
        self, node: int, category: str, mechanism: int, gpu: int, ticket: int, code: int | None, alarm: Alarm | None
    ) -> Symptoms:
        """Draw the symptoms of a fault. A false alarm comes from a check that exists already."""
        world, rng = self.world, self.world.rng
        if alarm is not None:
            return alarm.symptoms
        if mechanism == states.DRAIN:
            return show_low_severity(rng, category, gpu)
        if mechanism == states.ALARM:
            missing, symptoms = self.missing_checks(), show_alarm(rng, gpu)
            while symptoms.checks[0][0] in missing:
                symptoms = show_alarm(rng, gpu)
            return symptoms
        # Nodes with no job, one job and several jobs have separate sequences, because they count differently.
        chance = self._chance[min(len(world.pool.occupants[node]), 2)]
        return show(rng, world.profile.cooccurrence, category, mechanism, gpu, ticket, code, chance)

    def missing_checks(self) -> set[str]:
        """Return the checks that do not exist yet."""
        return {name for name, day in self.world.profile.checks_introduced if self.world.clock.now < day * DAY}

    def _may_strike(self, node: int, mechanism: int) -> bool:
        """Allow one fault at a time. A node that only waits to be drained can fail like any other."""
        mechanisms, waits = self._faults["mechanism"], mechanism in (*HARMLESS, states.LAUNCH)
        return all(not waits and mechanisms[fault] in HARMLESS for fault in self.of_node(node))

    def _after(self, seconds: float, action: Callable[..., None], *arguments: Any) -> None:
        self.world.clock.at(self.world.clock.now + seconds, action, *arguments)

    def _wait_for_check(self, node: int, fault: int) -> None:
        self.world.clock.at(self._service.next_check(node), self._found, node, fault)

    def _fail_check_falsely(self, node: int, fault: int) -> None:
        """Let a check fail without a fault: once or twice, or for as long as the alarm says."""
        period, clock = self.world.profile.check_seconds, self.world.clock
        found, alarm = self._service.next_check(node), self._alarms.pop(fault, None)
        if self.world.ledger.symptoms[fault].checks:
            self._faults["detected"][fault] = self._faults["checks_from"][fault] = found
        if alarm is None:
            over = found + period * (1 + int(self.world.rng.random() * MAX_TRANSIENT_CHECKS)) - 1
            clock.at(over, self._clear, node, fault)
        elif alarm.drained_after is None:
            clock.at(found + alarm.seconds, self._clear, node, fault)
        else:
            clock.at(found + alarm.drained_after, self._drain_for_nothing, node, fault)

    def _drain_for_nothing(self, node: int, fault: int) -> None:
        """Drain a node for a false alarm, unless the node is out of service already or the alarm is over."""
        if self._faults["cleared"][fault] < 0 and self.world.pool.accepts[node]:
            self._drain(node, fault, self.world.ledger.symptoms[fault].reason)

    def _clear(self, node: int, fault: int) -> None:
        """End a fault that went away by itself."""
        if self._faults["cleared"][fault] < 0:
            self._faults["cleared"][fault] = self.world.clock.now
            if left := [other for other in self.of_node(node) if other != fault]:
                self._broken[node] = left
            else:
                self._broken.pop(node, None)

    def _hang(self, node: int) -> None:
        for attempt in list(self.world.pool.occupants[node]):
            self._jobs.doom(attempt)

    def _hang_until_checked(self, node: int, fault: int) -> None:
        self._hang(node)
        self._wait_for_check(node, fault)

    def _stop_using(self, node: int) -> None:
        """Hang the node's jobs and start nothing new. Slurm does not use a node that does not answer."""
        self._hang(node)
        self.world.pool.set_accepts(node, False)

    def _lose(self, node: int, fault: int) -> None:
        self._stop_using(node)
        given_up = self.world.profile.heartbeat_seconds + self.world.rng.uniform(2, 32)
        self._after(given_up, self._take_down, node, fault, NOT_RESPONDING)

    def _reboot(self, node: int, fault: int) -> None:
        self._stop_using(node)
        at = int(self.world.clock.now + self.world.rng.uniform(50, 110))
        self.world.ledger.reboots.append(node=node, at=at)
        self._after(self.world.rng.uniform(115, 190), self._take_down, node, fault, REBOOTED)

    def _wait_for_operator(self, node: int, fault: int) -> None:
        self._stop_using(node)
        self._faults["checks_from"][fault] = self._service.next_check(node)
        reason = self.world.ledger.symptoms[fault].reason
        self._after(self.world.rng.uniform(310, 900), self._take_down, node, fault, reason)

    def _crash(self, node: int, fault: int) -> None:
        gpu, running = int(self._faults["gpu"][fault]), self._jobs.running
        at = {attempt: running[attempt] for attempt in self.world.pool.occupants[node]}
        hit = [attempt for attempt, held in at.items() if not held.doomed and (gpu < 0 or held.mask >> gpu & 1)]
        if hit:
            victim = hit[int(self.world.rng.integers(len(hit)))]
            self._jobs.doom(victim)
            self.world.clock.at(self._dies_at(node, fault), self._application_dies, node, fault, victim)
        else:
            self._after_crash(node, fault)

    def _dies_at(self, node: int, fault: int) -> float:
        """Draw when the application dies and the kernel logs its lines.

        For a leading check, this is a fixed time after the check begins to fail.
        """
        lead, now = self._leads.get(CAUSES[self._faults["cause"][fault]].category), self.world.clock.now
        if lead is None or not self._faults["has_evidence"][fault]:
            return now + self.world.rng.uniform(2, 75)
        self._faults["checks_from"][fault] = self._service.next_check(node)
        dies_at, shown = int(self._faults["checks_from"][fault]) + lead, self.world.ledger.symptoms[fault]
        shown.kernel = [(dies_at - now + after, line) for after, line in shown.kernel]
        return dies_at

    def _application_dies(self, node: int, fault: int, attempt: int) -> None:
        if attempt not in self._jobs.running:
            self._after_crash(node, fault)
            return
        job = self._jobs.running[attempt].job
        exit_code = CRASH_EXITS[int(self.world.rng.integers(len(CRASH_EXITS)))]
        self._fail(node, fault, attempt, states.FAILED, exit_code)
        if self._faults["has_evidence"][fault]:
            # The epilog check sees the fault before the scheduler can use the node again.
            self._found(node, fault, int(self.world.ledger.jobs["job_id"][job]))
        else:
            self._clear(node, fault)

    def _after_crash(self, node: int, fault: int) -> None:
        (self._wait_for_check if self._faults["has_evidence"][fault] else self._clear)(node, fault)

    def _found(self, node: int, fault: int, epilog_job: int = -1) -> None:
        """Take the node out once a check has found the fault. Only a finding of low severity waits for the jobs."""
        faults, mechanism = self._faults, int(self._faults["mechanism"][fault])
        worse = [other for other in self.of_node(node) if faults["mechanism"][other] not in HARMLESS]
        is_minor = mechanism == states.DRAIN
        if self._service.is_out(node) or (is_minor and any(faults["has_evidence"][other] for other in worse)):
            return
        faults["detected"][fault] = self.world.clock.now
        if faults["checks_from"][fault] < 0:
            faults["checks_from"][fault], faults["epilog_job"][fault] = self.world.clock.now, epilog_job
        reason = self.world.ledger.symptoms[fault].reason
        if is_minor:
            self._drain(node, fault, reason)
        elif mechanism == states.REQUEUE or not self.world.pool.occupants[node]:
            self._fail_all(node, fault, states.REQUEUED)
            self._drain(node, fault, reason)
        else:
            self._take_down(node, fault, reason)

    def _drain(self, node: int, fault: int, reason: str) -> None:
        self._service.drain(node, Drain(fault, reason, self._repair_seconds(fault), self.world.clock.now))

    def _take_down(self, node: int, fault: int, reason: str) -> None:
        self._faults["detected"][fault] = self.world.clock.now
        self._service.take_down(node, Drain(fault, reason, self._repair_seconds(fault), self.world.clock.now))
        self._fail_all(node, fault, states.NODE_FAIL)

    def _fail_all(self, node: int, fault: int, state: int) -> None:
        for attempt in list(self.world.pool.occupants[node]):
            self._fail(node, fault, attempt, state)

    def _fail(self, node: int, fault: int, attempt: int, state: int, exit_code: int = 0) -> None:
        self._jobs.fail(attempt, state, node, exit_code)
        at = int(self.world.ledger.attempts["end"][attempt])
        self.world.ledger.failures.append(attempt=attempt, fault=fault, node=node, at=at)

    def _launch_fails(self, attempt: int, nodes: list[int]) -> bool:
        node = next((node for node in nodes if node in self._armed), None) if self._armed else None
        if node is None:
            return False
        self._jobs.doom(attempt)
        start = int(self.world.ledger.attempts["start"][attempt]) + int(self.world.rng.integers(0, 2))
        self.world.clock.at(start, self._prolog_fails, node, self._armed.pop(node), attempt)
        return True

    def _prolog_fails(self, node: int, fault: int, attempt: int) -> None:
        if attempt in self._jobs.running:
            self._fail(node, fault, attempt, states.REQUEUED)
        self._faults["detected"][fault] = self.world.clock.now
        self._drain(node, fault, PROLOG_ERROR)

    def _repair_seconds(self, fault: int) -> float:
        spread, repairs = float(self.world.rng.standard_normal()), self.world.profile.repairs
        if self._faults["is_permanent"][fault]:
            return min(repairs.permanent_hours * HOUR * float(np.exp(0.7 * spread)), MAX_REPAIR_SECONDS) + HOUR
        return min(repairs.transient_hours * HOUR * float(np.exp(0.6 * spread)), DAY / 3) + HOUR / 4

    def _repaired(self, node: int) -> None:
        self._armed.pop(node, None)
        for fault in self._broken.pop(node, []):
            self._faults["cleared"][fault] = self.world.clock.now
