"""Starts and ends attempts, and decides what follows an end: a requeue, a retry, or the next piece of a run.

The scheduler, the faults and the preemption call this module; it decides nothing about nodes or faults itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assets.simulation.profiles import REQUEUE_SECONDS
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
    TOP_QOS,
)
from assets.simulation.submissions import Submissions
from assets.simulation.workload import Workload
from assets.simulation.world import World

SMALL_RESTART_SECONDS = 20
RETRY_SHARE, MAX_RETRIES = 0.25, 3
RESUBMIT_SECONDS = (300, 880)
RESUBMIT_SHARE = 0.85
"""Share of jobs, and delay, with which users submit again after a fault that Slurm did not requeue."""


@dataclass(slots=True)
class Running:
    """An attempt that holds the GPUs of `mask` on each of its nodes. If it is doomed, a fault will end it."""

    job: int
    nodes: list[int]
    mask: int
    start: int
    doomed: bool = False


class Jobs:
    """Jobs and attempts.

    Attributes
    ----------
    enqueue
        Called with a job that may start; set by the scheduler.
    freed
        Called when GPUs become free; set by the scheduler.
    emptied
        Called with a node when its last job has left; set by `Service`.
    kept
        Called with a job of the highest class that lost its nodes to a fault and wants them again; set by the
        scheduler.
    launch_fails
        Called with a new attempt and its nodes; returns whether the prolog fails; set by `Faults`.
    started
        Called with a new attempt of a job; set by `Strikes`.
    requeue_seconds
        Time until a requeued run may start again, for the runs that wait longer than usual.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        self.running: dict[int, Running] = {}
        self.enqueue: Callable[[int], None] = lambda job: None
        self.freed: Callable[[], None] = lambda: None
        self.emptied: Callable[[int], None] = lambda node: None
        self.kept: Callable[[int, list[int]], None] = lambda job, nodes: None
        self.launch_fails: Callable[[int, list[int]], bool] = lambda attempt, nodes: False
        self.started: Callable[[int, int], None] = lambda attempt, job: None
        self.requeue_seconds: dict[int, int] = {}
        self._submissions = Submissions(world, self._queue, self._lose_patience)
        self._append_nodes = world.ledger.nodes.append
        self._appenders = world.ledger.attempts.appenders(
            "job submit eligible start end state number mask backfilled "
            "requeued_at productive exit_code exit_signal app_xid"
        )

    def book(self, workload: Workload) -> None:
        """Book the arrival of the workload."""
        self._submissions.book(workload)

    def submit_important(self, gpus: int, seconds: int) -> int:
        """Submit a job of the highest class that Slurm may requeue, and return its row."""
        return self._submissions.submit_important(gpus, seconds)

    def _queue(self, job: int) -> None:
        self.enqueue(job)

    def waits(self, job: int) -> bool:
        """Tell whether a job in the queue still wants to run."""
        return bool(self.world.ledger.jobs["attempts"][job] >= 0)

    def _lose_patience(self, job: int) -> None:
        jobs = self.world.ledger.jobs
        if jobs["attempts"][job] == 0:
            jobs["attempts"][job] = -1
            self._record(job, [], 0, -1, self.world.clock.now, CANCELLED, 1, False)

    def record_waiting(self, job: int) -> None:
        """Record a job that still waits when the simulation ends."""
        number = self.world.ledger.jobs["attempts"][job] + 1
        self._record(job, [], 0, -1, -1, PENDING, number, False)

    def _record(  # noqa: PLR0917
        self, job: int, nodes: list[int], mask: int, start: int, end: int, state: int, number: int, backfilled: bool
    ) -> int:
        """Add an attempt's row. Values go by position, which is faster for millions of rows."""
        ledger = self.world.ledger
        row = len(ledger.nodes)
        jobs = ledger.jobs
        values = (
            job, jobs["submit"][job], jobs["eligible"][job], start, end, state, number, mask, backfilled,
            -1, 0, 0, 0, 0,
        )  # fmt: skip
        for append, value in zip(self._appenders, values, strict=True):
            append(value)
        self._append_nodes(nodes)
        return row

    def restart_seconds(self, gpus: int) -> int:
        """Give the time an attempt needs before it does new work."""
        profile = self.world.profile
        return profile.restart_seconds if gpus > profile.gpus_per_node else SMALL_RESTART_SECONDS

    def start(self, job: int, nodes: list[int], mask: int, at: int, backfilled: bool) -> int:
        """Start an attempt on the given nodes, with the GPUs of `mask` on each, and return its row."""
        world, jobs = self.world, self.world.ledger.jobs
        number = jobs["attempts"][job] + 1
        jobs["attempts"][job] = number
        attempt = self._record(job, nodes, mask, at, -1, RUNNING, number, backfilled)
        limit = jobs["limit"][job]
        protected = world.profile.preemption_after_seconds if jobs["qos"][job] == QOS_SCAVENGER else limit
        world.pool.take(attempt, nodes, mask, at + protected)
        self.running[attempt] = Running(job, nodes, mask, at)
        self.started(attempt, job)
        if not self.launch_fails(attempt, nodes):
            needed = self.restart_seconds(jobs["gpus"][job]) + jobs["left"][job]
            world.clock.at(at + min(needed, limit), self._is_due, attempt, at + limit)
        return attempt

    def _is_due(self, attempt: int, limit_at: int) -> None:
        """End an attempt when its work is done or at its time limit. An attempt that hangs ends at its limit only."""
        held = self.running.get(attempt)
        if held is None:
            return
        if self.world.clock.now >= limit_at:
            self._stop(attempt, TIMEOUT)
        elif held.doomed:
            self.world.clock.at(limit_at, self._is_due, attempt, limit_at)
        else:
            self._finish(attempt, held.job)

    def _finish(self, attempt: int, job: int) -> None:
        ledger = self.world.ledger
        outcome = ledger.jobs["outcome"][job]
        if outcome == REQUEUED:
            self._stop(attempt, REQUEUED, 99)
            more = int(ledger.jobs["left"][job] * (0.2 + 0.8 * self.world.rng.random())) + 60
            ledger.jobs["outcome"][job], ledger.jobs["left"][job] = COMPLETED, more
            self.requeue(job, attempt)
        elif outcome == FAILED:
            ledger.attempts["app_xid"][attempt] = ledger.jobs["app_xid"][job]
            exits = ledger.jobs["exit_code"][job], ledger.jobs["exit_signal"][job]
            self._stop(attempt, FAILED, *exits, natural=True)
            self._retry(job)
        else:
            self._stop(attempt, outcome, 0, 125 if outcome == OUT_OF_MEMORY else 0, natural=True)
            if outcome == COMPLETED:
                self._continue(job)

    def _continue(self, job: int) -> None:
        runs, rng, clock = self.world.ledger.runs, self.world.rng, self.world.clock
        run = self.world.ledger.jobs["run"][job]
        if runs["segments_left"][run] > 0:
            runs["segments_left"][run] -= 1
            seconds = runs["segment_seconds"][run]
            clock.at(clock.now + 20 + 580 * rng.random(), self._submissions.again, run, COMPLETED, seconds)

    def _retry(self, job: int) -> None:
        runs, rng, clock = self.world.ledger.runs, self.world.rng, self.world.clock
        run = self.world.ledger.jobs["run"][job]
        if runs["retries"][run] < MAX_RETRIES and rng.random() < RETRY_SHARE:
            runs["retries"][run] += 1
            outcome = FAILED if rng.random() < 0.5 else COMPLETED
            seconds = int(max(60, runs["segment_seconds"][run] * (0.1 + 1.1 * rng.random())))
            clock.at(clock.now + 90 + 710 * rng.random(), self._submissions.again, run, outcome, seconds)

    def _stop(self, attempt: int, state: int, exit_code: int = 0, exit_signal: int = 0, natural: bool = False) -> None:
        """End an attempt now and free its GPUs. Work up to the last checkpoint is kept, at a natural end all work."""
        world, ledger = self.world, self.world.ledger
        attempts, jobs = ledger.attempts, ledger.jobs
        held = self.running.pop(attempt)
        job = held.job
        run, left = jobs["run"][job], jobs["left"][job]
        at = max(world.clock.now, held.start)
        worked = max(0, at - held.start - self.restart_seconds(jobs["gpus"][job]))
        step = 1 if natural else ledger.runs["checkpoint"][run]
        kept = min(worked // step * step, left)
        jobs["left"][job] = max(60, left - kept)
        attempts["end"][attempt], attempts["state"][attempt] = at, state
        attempts["exit_code"][attempt], attempts["exit_signal"][attempt] = exit_code, exit_signal
        attempts["productive"][attempt] = kept
        ledger.runs["failed_by_fault"][run] = 0
        for node in world.pool.release(attempt, held.nodes, held.mask):
            self.emptied(node)
        self.freed()

    def preempt(self, attempt: int, state: int) -> None:
        """End an attempt in favour of another one, and requeue its job if that is allowed."""
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
        """Put a job back under its id a few seconds later. Slurm writes that moment as the new submit time."""
        jobs, clock = self.world.ledger.jobs, self.world.clock
        back = clock.now + 1 + int(5 * self.world.rng.random())
        eligible = back + self.requeue_seconds.get(jobs["run"][job], REQUEUE_SECONDS)
        jobs["submit"][job], jobs["eligible"][job] = back, eligible
        self.world.ledger.attempts["requeued_at"][attempt] = back
        clock.at(eligible, self._queue, job)

    def fail(self, attempt: int, state: int, culprit: int, exit_code: int = 0) -> None:
        """End an attempt because of a fault. Its job is requeued, submitted again by its user, or given up."""
        ledger = self.world.ledger
        job = self.running[attempt].job
        run = ledger.jobs["run"][job]
        nodes = self.running[attempt].nodes
        self._stop(attempt, state, exit_code)
        ledger.runs["failed_by_fault"][run] = 1
        self._submissions.learn(ledger.jobs["user"][job], culprit)
        if self._comes_back(job, attempt, state) and (
            ledger.jobs["qos"][job] == TOP_QOS and run not in self.requeue_seconds
        ):
            self.kept(job, nodes)

    def fail_unnoticed(self, attempt: int, state: int) -> None:
        """End an attempt because of a fault that nobody takes for one. Its user may submit the job again."""
        job = self.running[attempt].job
        self._stop(attempt, state, 1)
        self._comes_back(job, attempt, state)

    def end_planned(self, attempt: int, state: int, node: int) -> None:
        """End an attempt because planned work takes one of its nodes. As after a fault, its job may come back."""
        job = self.running[attempt].job
        self._stop(attempt, state)
        at = self.world.ledger.attempts["end"][attempt]
        self.world.ledger.planned_ends.append(attempt=attempt, at=at, node=node)
        self._comes_back(job, attempt, state)

    def _comes_back(self, job: int, attempt: int, state: int) -> bool:
        """Requeue a job that was stopped, or let its user perhaps submit it again. Return whether it was requeued."""
        ledger, rng, clock = self.world.ledger, self.world.rng, self.world.clock
        if state == REQUEUED or (state == NODE_FAIL and ledger.jobs["can_requeue"][job]):
            self.requeue(job, attempt)
            return True
        if rng.random() < RESUBMIT_SHARE:
            run = ledger.jobs["run"][job]
            outcome, left = ledger.jobs["outcome"][job], ledger.jobs["left"][job]
            low, high = RESUBMIT_SECONDS
            at = clock.now + low + (high - low) * rng.random()
            clock.at(at, self._submissions.again, run, outcome, left)
        return False
