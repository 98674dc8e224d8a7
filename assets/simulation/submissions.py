"""How job ids are born: entries of the workload, arrays, retries, the next piece of a chained run.

Users learn here: who has lost work to a node may exclude it from later submissions.
"""

from __future__ import annotations

from collections.abc import Callable

from assets.simulation.ledger import NAME_BITS
from assets.simulation.profiles import DAY, HOUR
from assets.simulation.states import CANCELLED, FAILED, TIMEOUT
from assets.simulation.workload import Workload
from assets.simulation.world import World

FIRST_JOB_ID = 410_237
USER_EXITS = ((1, 0), (1, 0), (1, 0), (1, 0), (2, 0), (6, 0), (0, 11), (127, 0), (0, 9))
"""Exit code and signal of users' own failures."""
USER_XIDS = (31, 13, 43)
USER_XID_SHARE = 0.05
UNSTARTED_CANCEL_SHARE = 0.25
AVOID_SECONDS = 14 * DAY
AVOID_CHANCES = (0.03, 0.4, 0.8)
"""Chance that users exclude a node on which they lost work, by how often it has failed before: word gets around."""
SAME_FAILURE_SECONDS = HOUR
SUPERSTITION = 0.004
"""Share of submissions that exclude a node which did nothing wrong."""
FAMILIES = {
    1: ("eval", "ablate", "probe", "tokenize", "notebook"),
    8: ("finetune", "distill", "sweep", "bench"),
    64: ("sft", "rlhf", "encoder", "midtrain"),
    1 << 30: ("pretrain", "scaling", "longctx"),
}
"""Families of job names by the largest number of GPUs they use."""
FAMILY_NAMES = tuple(name for names in FAMILIES.values() for name in names)


class Submissions:
    """Gives out job ids and hands jobs to the queue."""

    def __init__(self, world: World, enqueue: Callable[[int], None], give_up: Callable[[int], None]) -> None:
        self.world, self._enqueue, self._give_up = world, enqueue, give_up
        self._next_id = FIRST_JOB_ID
        self._avoided: dict[int, dict[int, int]] = {}
        self._failed: dict[int, list[int]] = {}

    def book(self, workload: Workload) -> None:
        """Book the workload's entries one after another, so that the queue of events stays short."""

        def arrive(entry: int) -> None:
            self._arrive(workload, entry)
            if entry + 1 < len(workload.arrival):
                self.world.clock.at(workload.arrival[entry + 1], arrive, entry + 1)

        if len(workload.arrival):
            self.world.clock.at(workload.arrival[0], arrive, 0)

    def _arrive(self, work: Workload, entry: int) -> None:
        rng, ledger = self.world.rng, self.world.ledger
        tasks, gpus = int(work.tasks[entry]), int(work.gpus[entry])
        count = max(tasks, 1)
        families = next(names for most, names in FAMILIES.items() if gpus <= most)
        family = FAMILY_NAMES.index(families[int(rng.integers(len(families)))])
        name = family << NAME_BITS | int(rng.integers(1 << NAME_BITS))
        first_id, self._next_id = self._next_id, self._next_id + count
        for task in range(count):
            run = ledger.runs.append(
                user=work.user[entry],
                gpus=gpus,
                qos=work.qos[entry],
                segments_left=work.segments[entry] - 1,
                segment_seconds=work.seconds[entry],
                limit=work.limit[entry],
                can_requeue=work.can_requeue[entry],
                name=name,
            )
            seconds = int(work.seconds[entry] * (rng.uniform(0.6, 1.2) if tasks else 1.0))
            # Slurm gives the array's own number to the task that starts last.
            job_id = first_id if task == count - 1 else first_id + task + 1
            self._submit(run, int(work.outcome[entry]), seconds, job_id, (first_id, task) if tasks else (0, 0))

    def again(self, run: int, outcome: int, seconds: int) -> None:
        """Give a run a new job id, for a retry or for its next piece."""
        self._next_id += 1
        self._submit(run, outcome, seconds, self._next_id - 1, (0, 0))

    def _submit(self, run: int, outcome: int, seconds: int, job_id: int, array: tuple[int, int]) -> None:
        rng, ledger, now = self.world.rng, self.world.ledger, self.world.clock.now
        exit_code, exit_signal = USER_EXITS[int(rng.integers(len(USER_EXITS)))]
        user = int(ledger.runs["user"][run])
        job = ledger.jobs.append(
            job_id=job_id,
            run=run,
            user=user,
            gpus=ledger.runs["gpus"][run],
            qos=ledger.runs["qos"][run],
            limit=ledger.runs["limit"][run],
            outcome=outcome,
            left=self.world.profile.longest_seconds * 2 if outcome == TIMEOUT else seconds,
            submit=now,
            eligible=now,
            first_submit=now,
            can_requeue=ledger.runs["can_requeue"][run],
            array_id=array[0],
            array_task=array[1],
            app_xid=int(rng.choice(USER_XIDS)) if outcome == FAILED and rng.random() < USER_XID_SHARE else 0,
            exit_code=exit_code,
            exit_signal=exit_signal,
        )
        excluded = self._excluded(user)
        if excluded:
            ledger.excludes[job] = excluded
        if outcome == CANCELLED and rng.random() < UNSTARTED_CANCEL_SHARE:
            self.world.clock.at(now + rng.uniform(120, 6 * HOUR), self._give_up, job)
        self._enqueue(job)

    def _excluded(self, user: int) -> tuple[int, ...]:
        now, rng = self.world.clock.now, self.world.rng
        nodes = {node for node, until in self._avoided.get(user, {}).items() if until > now}
        if rng.random() < SUPERSTITION:
            nodes.add(int(rng.integers(self.world.pool.count)))
        return tuple(sorted(nodes))

    def learn(self, user: int, culprit: int) -> None:
        """Let a user who lost work to a node perhaps exclude it for a while."""
        now, failed = self.world.clock.now, self._failed.setdefault(culprit, [])
        if not failed or now - failed[-1] > SAME_FAILURE_SECONDS:
            failed.append(now)
        chance = AVOID_CHANCES[min(len(failed), len(AVOID_CHANCES)) - 1]
        if self.world.rng.random() < chance:
            self._avoided.setdefault(user, {})[culprit] = now + AVOID_SECONDS
