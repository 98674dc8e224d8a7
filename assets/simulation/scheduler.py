"""Which waiting job starts next and where: priorities, whole-node gangs, one backfill reservation, preemption.

Higher classes go first, then the longest waiting. The first gang that does not fit is promised the nodes that come
free soonest; others may start around the promise if they are gone in time. Work of the lowest class may be evicted
once it has run for the protected time.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass

import numpy as np

from assets.simulation.jobs import Jobs
from assets.simulation.nodes import FAR, BoolArray
from assets.simulation.states import PREEMPTED, QOS, QOS_SCAVENGER
from assets.simulation.world import World

PASS_SECONDS = 20
HANDOVER_SECONDS = 4
PATIENCE_SECONDS = {QOS.index("normal"): 300, QOS.index("high"): 60}
"""How long a blocked job waits before it may evict others."""


@dataclass(frozen=True)
class Promise:
    """Nodes kept for the first gang that does not fit, and when it can have them."""

    nodes: BoolArray
    at: int


class Scheduler:
    """Keeps the queue and runs a pass whenever something has changed, at most every `PASS_SECONDS`."""

    def __init__(self, world: World, jobs: Jobs) -> None:
        self.world, self.jobs = world, jobs
        self._columns = world.ledger.jobs
        self.queue: list[tuple[int, int, int]] = []
        self._entered = 0
        self._pass_booked = False
        self._last_pass = -PASS_SECONDS

    def enqueue(self, job: int) -> None:
        """Let a job wait for nodes."""
        self._entered += 1
        bisect.insort(self.queue, (-int(self._columns["qos"][job]), self._entered, job))
        self.wake()

    def wake(self) -> None:
        """Book a pass."""
        if not self._pass_booked:
            self._pass_booked = True
            now = self.world.clock.now
            self.world.clock.at(max(now + 1, self._last_pass + PASS_SECONDS), self._pass)

    def _pass(self) -> None:
        self._pass_booked = False
        self._last_pass = self.world.clock.now
        kept: list[tuple[int, int, int]] = []
        promise: Promise | None = None
        too_large = FAR  # work of the lowest class from this size on found no room in this pass
        for entry in self.queue:
            job = entry[2]
            gpus, may_evict = int(self._columns["gpus"][job]), self._columns["qos"][job] != QOS_SCAVENGER
            if not self.jobs.waits(job):
                continue
            if may_evict or gpus < too_large:
                allowed = self._allowed(job)
                if self._place(job, gpus, allowed, promise):
                    continue
                if not may_evict and not self.world.ledger.excludes.get(job):
                    too_large = gpus
                elif may_evict and promise is None and gpus >= self.world.pool.gpus_per_node:
                    promise = self._promise(gpus // self.world.pool.gpus_per_node, allowed)
            kept.append(entry)
        self.queue = kept

    def _place(self, job: int, gpus: int, allowed: BoolArray, promise: Promise | None) -> bool:
        """Start a job if it fits beside the promise, or if it may make room for itself."""
        now, qos = self.world.clock.now, int(self._columns["qos"][job])
        lowest = qos == QOS_SCAVENGER
        hold = self.world.profile.preemption_after_seconds if lowest else int(self._columns["limit"][job])
        if promise is not None and now + hold > promise.at:
            allowed = allowed & ~promise.nodes
        spot = self.world.pool.place(gpus, allowed)
        if spot is not None:
            self.jobs.start(job, spot, now, backfilled=promise is not None)
            return True
        waited = now - int(self._columns["eligible"][job])
        return not lowest and waited >= PATIENCE_SECONDS[qos] and self._evict_for(job, gpus, allowed)

    def _allowed(self, job: int) -> BoolArray:
        excluded = self.world.ledger.excludes.get(job, ())
        if not excluded:
            return self.world.pool.accepts
        allowed = self.world.pool.accepts.copy()
        allowed[list(excluded)] = False
        return allowed

    def _promise(self, need: int, allowed: BoolArray) -> Promise | None:
        """Promise the nodes that come free soonest, from the time at which the last of them does."""
        nodes = np.flatnonzero(allowed)
        if len(nodes) < need:
            return None
        until = self.world.pool.hold_until[nodes]
        soonest = np.argsort(until, kind="stable")[:need]
        promised = np.zeros(self.world.pool.count, np.bool_)
        promised[nodes[soonest]] = True
        return Promise(promised, int(until[soonest[-1]]))

    def _evict_for(self, job: int, gpus: int, allowed: BoolArray) -> bool:
        now, pool, ledger = self.world.clock.now, self.world.pool, self.world.ledger
        available = allowed & (pool.hold_until <= now)
        need = max(1, gpus // pool.gpus_per_node)
        if int(available.sum()) < need:
            return False
        freed, victims = self._choose_victims(available, need)
        for attempt in victims:
            self.jobs.preempt(attempt, PREEMPTED)
        chosen = np.zeros(pool.count, np.bool_)
        chosen[list(freed)] = True
        spot = pool.place(gpus, chosen & allowed)
        if spot is None:
            raise RuntimeError(f"evicting attempts {victims} did not make room for job row {job}")
        # The flag is of the run's last end; this start is what a failed job does to others.
        second_order = bool(ledger.runs["failed_by_fault"][self._columns["run"][job]])
        instigator = self.jobs.start(job, spot, now + HANDOVER_SECONDS, backfilled=False)
        for attempt in victims:
            # slurmctld names the instigator only where it could requeue the victim.
            named = bool(self._columns["can_requeue"][ledger.attempts["job"][attempt]])
            ledger.preemptions.append(
                victim=attempt, instigator=instigator, at=now, is_named=named, is_second_order=second_order
            )
        return True

    def _choose_victims(self, available: BoolArray, need: int) -> tuple[set[int], list[int]]:
        """Choose enough nodes and whom to evict from them: unused nodes first, then the youngest work."""
        pool = self.world.pool
        nodes = np.flatnonzero(available)
        in_use = pool.free_count[nodes] < pool.gpus_per_node
        freed: set[int] = set()
        victims: list[int] = []
        for node in nodes[np.lexsort((-pool.hold_until[nodes], in_use))].tolist():
            if len(freed) >= need:
                break
            freed.add(node)
            for attempt in pool.occupants[node]:
                if attempt not in victims:
                    victims.append(attempt)
                    others = self.jobs.running[attempt].nodes.tolist()
                    freed |= {other for other in others if available[other] and len(pool.occupants[other]) == 1}
        return freed, victims
