"""Decides which waiting job starts next and where: by priority, with one backfill reservation and preemption.

Higher classes start first; within a class, the job that has waited longest starts first. A gang is a job of whole
nodes. The first gang without room gets a promise of the nodes that become free soonest; other jobs may use these nodes
if they end in time. Work of the lowest class may be preempted once it has run for the protected time. If a job finds no
room, no other job of its class and size is tried.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass

import numpy as np

from assets.simulation.jobs import Jobs
from assets.simulation.nodes import BoolArray
from assets.simulation.states import PREEMPTED, QOS, QOS_SCAVENGER
from assets.simulation.world import World

PASS_SECONDS = 30
IDLE_PASS_SECONDS = 300
"""Time between two passes while jobs wait and nothing else happens."""
HANDOVER_SECONDS = 4
PATIENCE_SECONDS = {QOS.index("normal"): 300, QOS.index("high"): 60}
"""How long a blocked job waits before it may preempt others."""
KEPT_SECONDS = 900
"""How long the nodes of a failed job of the highest class are kept for it."""
PROMISE_SECONDS = 300
"""How long a promise lasts before it is computed again."""


@dataclass(frozen=True)
class Promise:
    """Nodes that are kept for the first gang without room, and the time at which they are free."""

    job: int
    others: BoolArray
    at: int
    made: int


class Scheduler:
    """Keeps the queue and runs a pass whenever something has changed, at most every `PASS_SECONDS`."""

    def __init__(self, world: World, jobs: Jobs) -> None:
        self.world, self.jobs = world, jobs
        self._columns = world.ledger.jobs
        self._waiting: list[dict[int, deque[tuple[int, int]]]] = [{} for _ in QOS]
        self._entered = 0
        self._next_pass: int | None = None
        self._last_pass = -PASS_SECONDS
        self._blocked_gang = self._has_evicted = False
        self._promise: Promise | None = None
        self._kept: dict[int, tuple[BoolArray, int]] = {}

    def enqueue(self, job: int) -> None:
        """Let a job wait for nodes."""
        self._entered += 1
        by_size, gpus = self._waiting[self._columns["qos"][job]], self._columns["gpus"][job]
        by_size.setdefault(gpus, deque()).append((self._entered, job))
        self.wake()

    def keep(self, job: int, nodes: list[int]) -> None:
        """Keep nodes free for a job that will start again in a moment, so that no other job takes them."""
        free = np.ones(self.world.pool.count, np.bool_)
        free[nodes] = False
        self._kept[job] = free, self.world.clock.now + KEPT_SECONDS

    def waiting(self) -> list[int]:
        """List the jobs in the queue, by class and size."""
        return [job for by_size in self._waiting for gpus in sorted(by_size) for _, job in by_size[gpus]]

    def wake(self) -> None:
        """Book a pass as soon as one may run."""
        self._book(max(self.world.clock.now + 1, self._last_pass + PASS_SECONDS))

    def _book(self, time: int) -> None:
        if self._next_pass is None or time < self._next_pass:
            self._next_pass = time
            self.world.clock.at(time, self._pass, time)

    def _pass(self, booked: int) -> None:
        if booked != self._next_pass:
            return
        self._next_pass = None
        self._last_pass = self.world.clock.now
        self._blocked_gang = self._has_evicted = False
        self._kept = {job: kept for job, kept in self._kept.items() if kept[1] > self._last_pass}
        for qos in range(len(QOS) - 1, -1, -1):
            self._serve(qos)
        if self._has_evicted:
            self.wake()
        elif not self._blocked_gang:
            self._promise = None
        if any(queue for by_size in self._waiting for queue in by_size.values()):
            self._book(self.world.clock.now + IDLE_PASS_SECONDS)

    def _serve(self, qos: int) -> None:
        """Start the jobs of one class that fit, longest waiting first. A size without room waits for the next pass."""
        by_size = self._waiting[qos]
        heads = [(queue[0][0], gpus) for gpus, queue in by_size.items() if queue]
        heapq.heapify(heads)
        # The handover keeps Slurm busy: no other job starts in the second of a preemption.
        while heads and not self._has_evicted:
            _, gpus = heads[0]
            queue = by_size[gpus]
            job = queue[0][1]
            if self.jobs.waits(job) and not self._start(job, gpus, qos):
                heapq.heappop(heads)
                if qos == QOS_SCAVENGER and gpus >= self.world.pool.gpus_per_node:
                    # Jobs of this class cannot preempt, so larger gangs cannot start either.
                    heads = [head for head in heads if head[1] < gpus]
                    heapq.heapify(heads)
                continue
            queue.popleft()
            if queue:
                heapq.heapreplace(heads, (queue[0][0], gpus))
            else:
                heapq.heappop(heads)

    def _start(self, job: int, gpus: int, qos: int) -> bool:
        """Start a job if it fits without breaking the promise, or if it may preempt others."""
        world, pool = self.world, self.world.pool
        now, lowest = world.clock.now, qos == QOS_SCAVENGER
        hold = world.profile.preemption_after_seconds if lowest else self._columns["limit"][job]
        excluded = world.ledger.excludes.get(job, ())
        promise = self._promise if self._promise is not None and self._promise.job != job else None
        allowed = self._open_to(job, pool.idle, excluded, promise if promise and now + hold > promise.at else None)
        if gpus >= pool.gpus_per_node:
            need = gpus // pool.gpus_per_node
            nodes, mask = pool.place_gang(need, allowed) if need <= pool.idle_count else None, pool.full
        else:
            spot = pool.place_small(gpus, allowed, excluded)
            nodes, mask = ([spot[0]], spot[1]) if spot is not None else (None, 0)
        if nodes is not None:
            self.jobs.start(job, nodes, mask, now, backfilled=promise is not None)
            return True
        if lowest:
            return False
        is_impatient = now - self._columns["eligible"][job] >= PATIENCE_SECONDS[qos]
        if is_impatient and self._evict_for(job, gpus, excluded, promise):
            return True
        if not self._blocked_gang and gpus >= pool.gpus_per_node:
            self._blocked_gang = True
            self._renew_promise(job, gpus // pool.gpus_per_node, excluded)
        return False

    def _open_to(self, job: int, nodes: BoolArray, excluded: tuple[int, ...], promise: Promise | None) -> BoolArray:
        """Remove the nodes that are promised to or kept for another job, and those that this job excludes."""
        if promise is not None:
            nodes = nodes & promise.others
        for other, (free, _) in self._kept.items():
            if other != job:
                nodes = nodes & free
        if excluded:
            nodes = nodes.copy()
            nodes[list(excluded)] = False
        return nodes

    def _renew_promise(self, job: int, need: int, excluded: tuple[int, ...]) -> None:
        """Promise the nodes that become free soonest, from the time at which the last of them is free."""
        now = self.world.clock.now
        if self._promise is not None and self._promise.job == job and now - self._promise.made < PROMISE_SECONDS:
            return
        allowed = self.world.pool.accepts
        if excluded:
            allowed = allowed.copy()
            allowed[list(excluded)] = False
        nodes = np.flatnonzero(allowed)
        if len(nodes) < need:
            self._promise = None
            return
        until = self.world.pool.hold_until[nodes]
        soonest = np.argsort(until, kind="stable")[:need]
        others = np.ones(self.world.pool.count, np.bool_)
        others[nodes[soonest]] = False
        self._promise = Promise(job, others, int(until[soonest[-1]]), now)

    def _evict_for(self, job: int, gpus: int, excluded: tuple[int, ...], promise: Promise | None) -> bool:
        now, pool, ledger = self.world.clock.now, self.world.pool, self.world.ledger
        available = self._open_to(job, pool.accepts & (pool.hold_until <= now), excluded, promise)
        need = max(1, gpus // pool.gpus_per_node)
        if int(np.count_nonzero(available)) < need:
            return False
        chosen, victims = self._choose_victims(available, need)
        self._has_evicted = bool(victims)
        for attempt in victims:
            self.jobs.preempt(attempt, PREEMPTED)
        if gpus >= pool.gpus_per_node:
            nodes, mask = sorted(chosen[:need]), pool.full
        else:
            nodes, mask = chosen[:1], pool.full >> (pool.gpus_per_node - gpus)
        # The flag describes the last end of the run. If it is set, a failed job causes this preemption.
        second_order = ledger.runs["failed_by_fault"][self._columns["run"][job]]
        instigator = self.jobs.start(job, nodes, mask, now + HANDOVER_SECONDS, backfilled=False)
        for attempt in victims:
            # slurmctld names the instigator only where it could requeue the victim.
            named = self._columns["can_requeue"][ledger.attempts["job"][attempt]]
            ledger.preemptions.append(
                victim=attempt, instigator=instigator, at=now, is_named=named, is_second_order=second_order
            )
        return True

    def _choose_victims(self, available: BoolArray, need: int) -> tuple[list[int], list[int]]:
        """Choose enough nodes and the attempts to preempt: empty nodes first, then the smallest, youngest work."""
        pool = self.world.pool
        nodes = np.flatnonzero(available)
        in_use = pool.hold_until[nodes] > 0
        chosen: dict[int, None] = {}
        victims: dict[int, None] = {}
        for node in nodes[np.lexsort((-pool.hold_until[nodes], pool.gang[nodes], in_use))].tolist():
            if len(chosen) >= need:
                break
            chosen[node] = None
            for attempt in pool.occupants[node]:
                if attempt not in victims:
                    victims[attempt] = None
                    for other in self.jobs.running[attempt].nodes:
                        if available[other] and len(pool.occupants[other]) == 1:
                            chosen[other] = None
        return list(chosen), list(victims)
