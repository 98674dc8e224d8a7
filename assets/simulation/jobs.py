"""Starts and ends attempts, and decides what follows an end: a requeue, a retry, or the next piece of a run.

The scheduler, the faults and the preemption call this module; it decides nothing about nodes or faults itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from assets.simulation import states
from assets.simulation.profiles import REQUEUE_SECONDS
from assets.simulation.submissions import Submissions
from assets.simulation.world import World

SMALL_RESTART_SECONDS = 20
RETRY_SHARE, MAX_RETRIES = 0.25, 3
RESUBMIT_SECONDS = (300, 580)
RESUBMIT_SHARE = 0.85
"""Share of jobs that users submit again if Slurm did not requeue them after a fault; shortest delay and its spread."""


@dataclass(slots=True)
class Running:
    """An attempt that holds the GPUs of `mask` on each of its nodes. If it is doomed, a fault will end it."""

    job: int
    nodes: list[int]
    mask: int
    start: int
    doomed: bool = False


class Jobs:
    """Jobs and attempts. The runs of `requeue_seconds` wait longer than usual before they may start again."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.running: dict[int, Running] = {}
        # Set by the scheduler, the service, the faults and the strikes.
        self.enqueue: Callable[[int], None] = lambda job: None
        self.freed: Callable[[], None] = lambda: None  # GPUs became free
        self.emptied: Callable[[int], None] = lambda node: None  # the last job has left it
        # A job of the highest class lost these nodes to a fault and wants them again.
        self.kept: Callable[[int, list[int]], None] = lambda job, nodes: None
        self.launch_fails: Callable[[int, list[int]], bool] = lambda attempt, nodes: False
        self.started: Callable[[int, int], None] = lambda attempt, job: None
        self.requeue_seconds: dict[int, int] = {}
        self.submissions = Submissions(world, self._queue, self._lose_patience)

    def _queue(self, job: int) -> None:
        self.enqueue(job)

    def waits(self, job: int) -> bool:
        """Return whether a job in the queue still wants to run."""
        return bool(self.world.ledger.jobs["attempts"][job] >= 0)

    def _lose_patience(self, job: int) -> None:
        jobs = self.world.ledger.jobs
        if jobs["attempts"][job] == 0:
            jobs["attempts"][job] = -1
            self._record(job, [], 0, -1, self.world.clock.now, states.CANCELLED, 1, False)

    def record_waiting(self, job: int) -> None:
        """Record a job that still waits when the simulation ends."""
        self._record(job, [], 0, -1, -1, states.PENDING, self.world.ledger.jobs["attempts"][job] + 1, False)

    def _record(  # noqa: PLR0917
        self, job: int, nodes: list[int], mask: int, start: int, end: int, state: int, number: int, backfilled: bool
    ) -> int:
        ledger, jobs = self.world.ledger, self.world.ledger.jobs
        ledger.nodes.append(nodes)
        return ledger.attempts.append(
            job=job, submit=jobs["submit"][job], eligible=jobs["eligible"][job], start=start, end=end, state=state,
            number=number, mask=mask, backfilled=backfilled, requeued_at=-1,
        )  # fmt: skip

    def restart_seconds(self, gpus: int) -> int:
        """Return the time an attempt needs before it does new work."""
        profile = self.world.profile
        return profile.restart_seconds if gpus > profile.gpus_per_node else SMALL_RESTART_SECONDS

    def start(self, job: int, nodes: list[int], mask: int, at: int, backfilled: bool) -> int:
        """Start an attempt on the given nodes, with the GPUs of `mask` on each, and return its row."""
        world, jobs = self.world, self.world.ledger.jobs
        number = jobs["attempts"][job] + 1
        jobs["attempts"][job] = number
        attempt = self._record(job, nodes, mask, at, -1, states.RUNNING, number, backfilled)
        limit = jobs["limit"][job]
        protected = world.profile.preemption_after_seconds if jobs["qos"][job] == states.QOS_SCAVENGER else limit
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
            self._stop(attempt, states.TIMEOUT)
        elif held.doomed:
            self.world.clock.at(limit_at, self._is_due, attempt, limit_at)
        else:
            self._finish(attempt, held.job)

    def _finish(self, attempt: int, job: int) -> None:
        ledger = self.world.ledger
        outcome = ledger.jobs["outcome"][job]
        if outcome == states.REQUEUED:
            self._stop(attempt, states.REQUEUED, 99)
            more = int(ledger.jobs["left"][job] * (0.2 + 0.8 * self.world.rng.random())) + 60
            ledger.jobs["outcome"][job], ledger.jobs["left"][job] = states.COMPLETED, more
            self.requeue(job, attempt)
        elif outcome == states.FAILED:
            ledger.attempts["app_xid"][attempt] = ledger.jobs["app_xid"][job]
            exits = ledger.jobs["exit_code"][job], ledger.jobs["exit_signal"][job]
            self._stop(attempt, states.FAILED, *exits, natural=True)
            self._retry(job)
        else:
            self._stop(attempt, outcome, 0, 125 if outcome == states.OUT_OF_MEMORY else 0, natural=True)
            if outcome == states.COMPLETED:
                self._continue(job)

    def _continue(self, job: int) -> None:
        """Submit the next piece of a chained run."""
        runs, run = self.world.ledger.runs, self.world.ledger.jobs["run"][job]
        if runs["segments_left"][run] > 0:
            runs["segments_left"][run] -= 1
            self._again(run, states.COMPLETED, runs["segment_seconds"][run], 20, 580)

    def _retry(self, job: int) -> None:
        """Let a user try failed work again."""
        runs, rng, run = self.world.ledger.runs, self.world.rng, self.world.ledger.jobs["run"][job]
        if runs["retries"][run] < MAX_RETRIES and rng.random() < RETRY_SHARE:
            runs["retries"][run] += 1
            outcome = states.FAILED if rng.random() < 0.5 else states.COMPLETED
            self._again(run, outcome, int(max(60, runs["segment_seconds"][run] * (0.1 + 1.1 * rng.random()))), 90, 710)

    def _again(self, run: int, outcome: int, seconds: int, shortest: float, more: float) -> None:
        at = self.world.clock.now + shortest + more * self.world.rng.random()
        self.world.clock.at(at, self.submissions.again, run, outcome, seconds)

    def _stop(self, attempt: int, state: int, exit_code: int = 0, exit_signal: int = 0, natural: bool = False) -> None:
        """End an attempt now and free its GPUs. It keeps its work up to the last checkpoint; at a natural end, all."""
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
        """Let an attempt hang until its fault ends it."""
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
        clock.at(eligible, self.enqueue, job)

    def fail(self, attempt: int, state: int, culprit: int, exit_code: int = 0) -> None:
        """End an attempt because of a fault. Its job is requeued, submitted again by its user, or given up."""
        ledger, held = self.world.ledger, self.running[attempt]
        run, job = ledger.jobs["run"][held.job], held.job
        self._stop(attempt, state, exit_code)
        ledger.runs["failed_by_fault"][run] = 1
        self.submissions.learn(ledger.jobs["user"][job], culprit)
        is_kept = ledger.jobs["qos"][job] == states.TOP_QOS and run not in self.requeue_seconds
        if self._comes_back(job, attempt, state) and is_kept:
            self.kept(job, held.nodes)

    def fail_unnoticed(self, attempt: int, state: int, exit_code: int = 1) -> None:
        """End an attempt for a reason that nobody sees as a fault. Its user may submit the job again."""
        job = self.running[attempt].job
        self._stop(attempt, state, exit_code)
        self._comes_back(job, attempt, state)

    def end_planned(self, attempt: int, state: int, node: int) -> None:
        """End an attempt because planned work takes one of its nodes. Its job may come back, as after a fault."""
        at = max(self.world.clock.now, self.running[attempt].start)
        self.world.ledger.planned_ends.append(attempt=attempt, at=at, node=node)
        self.fail_unnoticed(attempt, state, 0)

    def _comes_back(self, job: int, attempt: int, state: int) -> bool:
        """Requeue a stopped job, or let its user perhaps submit it again. Return whether it was requeued."""
        ledger, rng = self.world.ledger, self.world.rng
        if state == states.REQUEUED or (state == states.NODE_FAIL and ledger.jobs["can_requeue"][job]):
            self.requeue(job, attempt)
            return True
        if rng.random() < RESUBMIT_SHARE:
            run, outcome, left = (ledger.jobs[name][job] for name in ("run", "outcome", "left"))
            self._again(run, outcome, left, *RESUBMIT_SECONDS)
        return False
