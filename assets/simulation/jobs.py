"""The life of attempts: started, ended, and what comes after an end (requeue, retry, next piece of a run).

It decides nothing about nodes or faults: the scheduler starts attempts, faults and preemption stop them through here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from assets.simulation.states import (
    CANCELLED,
    COMPLETED,
    FAILED,
    NODE_FAIL,
    OUT_OF_MEMORY,
    PENDING,
    QOS_SCAVENGER,
    REQUEUED,
    RUNNING,
    TIMEOUT,
)
from assets.simulation.submissions import Submissions
from assets.simulation.workload import Workload
from assets.simulation.world import World

IntArray = NDArray[np.int64]
NOWHERE = np.zeros(0, np.int64)

REQUEUE_WAIT = 121
"""Slurm lets a requeued batch job start again only after its old credential has run out."""
SMALL_RESTART_SECONDS = 20
RETRY_SHARE, MOST_RETRIES = 0.25, 3
RESUBMIT_SHARE = 0.85
"""Share of jobs that their users submit again after a fault that Slurm did not requeue."""


@dataclass(slots=True)
class Running:
    """An attempt that holds nodes. A doomed one waits for a fault, or for its time limit, to end it."""

    job: int
    nodes: IntArray
    masks: IntArray
    start: int
    doomed: bool = False


@dataclass
class Jobs:
    """Jobs and attempts.

    Attributes
    ----------
    enqueue
        Called with a job that may start; set by the scheduler.
    freed
        Called when GPUs have come free; set by the scheduler.
    emptied
        Called with a node when its last occupant has gone; set by the service of nodes.
    launch_fails
        Asked with a new attempt and its nodes whether its prolog fails; set by the faults.
    """

    world: World
    running: dict[int, Running] = field(default_factory=dict)
    enqueue: Callable[[int], None] = lambda job: None
    freed: Callable[[], None] = lambda: None
    emptied: Callable[[int], None] = lambda node: None
    launch_fails: Callable[[int, IntArray], bool] = lambda attempt, nodes: False

    def __post_init__(self) -> None:
        self._submissions = Submissions(self.world, self._queue, self._lose_patience)

    def book(self, workload: Workload) -> None:
        """Let the workload arrive."""
        self._submissions.book(workload)

    def _queue(self, job: int) -> None:
        self.enqueue(job)

    def waits(self, job: int) -> bool:
        """Tell whether a job in the queue still wants to run."""
        return bool(self.world.ledger.jobs["attempts"][job] >= 0)

    def _lose_patience(self, job: int) -> None:
        jobs = self.world.ledger.jobs
        if jobs["attempts"][job] == 0:
            jobs["attempts"][job] = -1
            self._record(job, number=1, start=-1, end=self.world.clock.now, state=CANCELLED)

    def record_waiting(self, job: int) -> None:
        """Record a job that still waits when the simulation ends."""
        self._record(job, number=self.world.ledger.jobs["attempts"][job] + 1, start=-1, end=-1, state=PENDING)

    def _record(self, job: int, nodes: IntArray = NOWHERE, masks: IntArray = NOWHERE, **values: int | bool) -> int:
        ledger, jobs = self.world.ledger, self.world.ledger.jobs
        ledger.nodes.append(nodes.tolist())
        times = {"submit": jobs["submit"][job], "eligible": jobs["eligible"][job]}
        return ledger.attempts.append(
            job=job, requeued_at=-1, mask=int(masks[0]) if len(masks) else 0, **times, **values
        )

    def restart_seconds(self, gpus: int) -> int:
        """Give the time an attempt needs before it does new work."""
        profile = self.world.profile
        return profile.restart_seconds if gpus > profile.gpus_per_node else SMALL_RESTART_SECONDS

    def start(self, job: int, spot: tuple[IntArray, IntArray], at: int, backfilled: bool) -> int:
        """Start an attempt on the given nodes and GPU masks, and give its row."""
        world, jobs = self.world, self.world.ledger.jobs
        jobs["attempts"][job] += 1
        values = {"number": jobs["attempts"][job], "start": at, "end": -1, "state": RUNNING, "backfilled": backfilled}
        attempt = self._record(job, *spot, **values)
        limit = int(jobs["limit"][job])
        protected = world.profile.preemption_after_seconds if jobs["qos"][job] == QOS_SCAVENGER else limit
        world.pool.take(attempt, *spot, at + protected)
        self.running[attempt] = Running(job, *spot, at)
        if not self.launch_fails(attempt, spot[0]):
            needed = self.restart_seconds(int(jobs["gpus"][job])) + int(jobs["left"][job])
            if needed <= limit:
                world.clock.at(at + needed, self._finish, attempt)
            world.clock.at(at + limit, self._expire, attempt)
        return attempt

    def _expire(self, attempt: int) -> None:
        if attempt in self.running:
            self._stop(attempt, TIMEOUT, natural=True)

    def _finish(self, attempt: int) -> None:
        if attempt not in self.running or self.running[attempt].doomed:
            return
        ledger, job = self.world.ledger, self.running[attempt].job
        match int(ledger.jobs["outcome"][job]):
            case _ if ledger.jobs["outcome"][job] == REQUEUED:
                self._stop(attempt, REQUEUED, 99)
                more = int(ledger.jobs["left"][job] * self.world.rng.uniform(0.2, 1.0)) + 60
                ledger.jobs["outcome"][job], ledger.jobs["left"][job] = COMPLETED, more
                self.requeue(job, attempt)
            case _ if ledger.jobs["outcome"][job] == FAILED:
                ledger.attempts["app_xid"][attempt] = ledger.jobs["app_xid"][job]
                exits = int(ledger.jobs["exit_code"][job]), int(ledger.jobs["exit_signal"][job])
                self._stop(attempt, FAILED, *exits, natural=True)
                self._retry(job)
            case outcome:
                self._stop(attempt, outcome, 0, 125 if outcome == OUT_OF_MEMORY else 0, natural=True)
                if outcome == COMPLETED:
                    self._continue(job)

    def _continue(self, job: int) -> None:
        runs, rng, clock = self.world.ledger.runs, self.world.rng, self.world.clock
        run = int(self.world.ledger.jobs["run"][job])
        if runs["segments_left"][run] > 0:
            runs["segments_left"][run] -= 1
            seconds = int(runs["segment_seconds"][run])
            clock.at(clock.now + rng.uniform(20, 600), self._submissions.again, run, COMPLETED, seconds)

    def _retry(self, job: int) -> None:
        runs, rng, clock = self.world.ledger.runs, self.world.rng, self.world.clock
        run = int(self.world.ledger.jobs["run"][job])
        if runs["retries"][run] < MOST_RETRIES and rng.random() < RETRY_SHARE:
            runs["retries"][run] += 1
            outcome = FAILED if rng.random() < 0.5 else COMPLETED
            seconds = int(max(60, runs["segment_seconds"][run] * rng.uniform(0.1, 1.2)))
            clock.at(clock.now + rng.uniform(90, 800), self._submissions.again, run, outcome, seconds)

    def _stop(self, attempt: int, state: int, exit_code: int = 0, exit_signal: int = 0, natural: bool = False) -> None:
        """End an attempt now: free its GPUs and keep what its last checkpoint holds, or all of it at a natural end."""
        world, attempts, jobs = self.world, self.world.ledger.attempts, self.world.ledger.jobs
        held = self.running.pop(attempt)
        at = max(world.clock.now, held.start)
        worked = max(0, at - held.start - self.restart_seconds(int(jobs["gpus"][held.job])))
        step = 1 if natural else world.profile.checkpoint_seconds
        kept = min(worked // step * step, int(jobs["left"][held.job]))
        jobs["left"][held.job] = max(60, int(jobs["left"][held.job]) - kept)
        attempts["end"][attempt], attempts["state"][attempt] = at, state
        attempts["exit_code"][attempt], attempts["exit_signal"][attempt] = exit_code, exit_signal
        attempts["productive"][attempt] = kept
        world.ledger.runs["failed_by_fault"][jobs["run"][held.job]] = False
        for node in world.pool.release(attempt, held.nodes, held.masks):
            self.emptied(node)
        self.freed()

    def preempt(self, attempt: int, state: int) -> None:
        """End an attempt in favour of another and put it back if it may be requeued."""
        job = self.running[attempt].job
        self._stop(attempt, state)
        if self.world.ledger.jobs["can_requeue"][job]:
            self.requeue(job, attempt)

    def doom(self, attempt: int) -> None:
        """Leave an attempt hanging until the fault that hit it ends it."""
        held = self.running[attempt]
        held.doomed = True
        self.world.pool.hold(attempt, held.nodes)

    def requeue(self, job: int, attempt: int) -> None:
        """Put a job back under its id a few seconds later; Slurm writes that moment as the new submit time."""
        jobs, clock = self.world.ledger.jobs, self.world.clock
        back = clock.now + int(self.world.rng.integers(1, 6))
        jobs["submit"][job], jobs["eligible"][job] = back, back + REQUEUE_WAIT
        self.world.ledger.attempts["requeued_at"][attempt] = back
        clock.at(back + REQUEUE_WAIT, self._queue, job)

    def fail(self, attempt: int, state: int, culprit: int, exit_code: int = 0) -> None:
        """End an attempt because of a fault: requeued under its id, or resubmitted by its user, or given up."""
        ledger, rng, clock = self.world.ledger, self.world.rng, self.world.clock
        job = self.running[attempt].job
        run = int(ledger.jobs["run"][job])
        self._stop(attempt, state, exit_code)
        ledger.runs["failed_by_fault"][run] = True
        self._submissions.learn(int(ledger.jobs["user"][job]), culprit)
        if state == REQUEUED or (state == NODE_FAIL and ledger.jobs["can_requeue"][job]):
            self.requeue(job, attempt)
        elif rng.random() < RESUBMIT_SHARE:
            outcome, left = int(ledger.jobs["outcome"][job]), int(ledger.jobs["left"][job])
            clock.at(clock.now + rng.uniform(60, 800), self._submissions.again, run, outcome, left)
