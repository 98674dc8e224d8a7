"""Creates jobs: entries of the workload, array tasks, retries, and the next piece of a chained run.

Users learn: a user who has lost work to a node may exclude it from later submissions.
"""

from __future__ import annotations

from collections.abc import Callable

from assets.simulation.ledger import NAME_BITS
from assets.simulation.profiles import DAY, HOUR
from assets.simulation.states import COMPLETED, FAILED, QOS, TIMEOUT
from assets.simulation.workload import FAMILIES, FAMILY_NAMES, USER_EXITS, USER_XID_SHARE, USER_XIDS, Workload
from assets.simulation.world import World

FIRST_JOB_ID = 410_237
AVOID_SECONDS = 14 * DAY
AVOID_CHANCES = (0.03, 0.4, 0.8)
"""Probability that a user excludes a node on which work was lost, by how often the node has failed before."""
MAX_AVOIDED = 6
"""Largest number of nodes on one user's list. The oldest is dropped first."""
SAME_FAILURE_SECONDS = HOUR
SUPERSTITION = 0.004
"""Share of submissions that exclude a node which had no fault."""


class Submissions:
    """Assigns job ids and puts jobs into the queue."""

    def __init__(self, world: World, enqueue: Callable[[int], None], give_up: Callable[[int], None]) -> None:
        self.world, self._enqueue, self._give_up = world, enqueue, give_up
        self._next_id = FIRST_JOB_ID
        self._avoided: dict[int, dict[int, int]] = {}
        self._failed: dict[int, list[int]] = {}

    def book(self, workload: Workload) -> None:
        """Book the workload's entries one after another, so that the queue of events stays short."""
        arrivals, count, clock = workload["arrival"], len(workload["arrival"]), self.world.clock

        def arrive(entry: int) -> None:
            self._arrive({name: column[entry] for name, column in workload.items()})
            if entry + 1 < count:
                clock.at(arrivals[entry + 1], arrive, entry + 1)

        if count:
            clock.at(arrivals[0], arrive, 0)

    def _arrive(self, entry: dict[str, int]) -> None:
        tasks, gpus, seconds = entry["tasks"], entry["gpus"], entry["seconds"]
        count = max(tasks, 1)
        first_id, self._next_id = self._next_id, self._next_id + count
        exits = (entry["exit"], entry["app_xid"])
        for task in range(count):
            run = self.world.ledger.runs.append(
                user=entry["user"], gpus=gpus, qos=entry["qos"], segments_left=entry["segments"] - 1,
                segment_seconds=seconds, limit=entry["limit"], can_requeue=entry["can_requeue"], name=entry["name"],
                checkpoint=entry["checkpoint"],
            )  # fmt: skip
            # Slurm gives the array's own number to the task that starts last.
            job_id = first_id if task == count - 1 else first_id + task + 1
            needed = int(seconds * (0.6 + 0.6 * self.world.rng.random())) if tasks else seconds
            job = self._submit(run, entry["outcome"], needed, job_id, (first_id, task) if tasks else (0, 0), exits)
            if entry["patience"]:
                self.world.clock.at(self.world.clock.now + entry["patience"], self._give_up, job)

    def submit_important(self, gpus: int, seconds: int) -> int:
        """Submit a job of the highest class that may be requeued and runs to its end, and return its row."""
        name = FAMILY_NAMES.index(FAMILIES[1 << 30][0]) << NAME_BITS | int(self.world.rng.random() * (1 << NAME_BITS))
        profile = self.world.profile
        run = self.world.ledger.runs.append(
            gpus=gpus, qos=len(QOS) - 1, segment_seconds=seconds, limit=profile.max_run_seconds, can_requeue=1,
            name=name, checkpoint=profile.checkpoint_seconds,
        )  # fmt: skip
        self._next_id += 1
        return self._submit(run, COMPLETED, seconds, self._next_id - 1, (0, 0), (0, 0))

    def again(self, run: int, outcome: int, seconds: int) -> None:
        """Give a run a new job id, for a retry or for its next piece."""
        rng = self.world.rng
        self._next_id += 1
        has_xid = outcome == FAILED and rng.random() < USER_XID_SHARE
        exits = (int(rng.random() * len(USER_EXITS)), USER_XIDS[int(rng.random() * len(USER_XIDS))] if has_xid else 0)
        self._submit(run, outcome, seconds, self._next_id - 1, (0, 0), exits)

    def _submit(  # noqa: PLR0917
        self, run: int, outcome: int, seconds: int, job_id: int, array: tuple[int, int], exits: tuple[int, int]
    ) -> int:
        ledger, now, runs = self.world.ledger, self.world.clock.now, self.world.ledger.runs
        exit_code, exit_signal = USER_EXITS[exits[0]]
        left = self.world.profile.max_run_seconds * 2 if outcome == TIMEOUT else seconds
        of_run = {name: runs[name][run] for name in ("user", "gpus", "qos", "limit", "can_requeue")}
        job = ledger.jobs.append(
            job_id=job_id, run=run, outcome=outcome, left=left, submit=now, eligible=now, first_submit=now,
            array_id=array[0], array_task=array[1], app_xid=exits[1], exit_code=exit_code, exit_signal=exit_signal,
            **of_run,
        )  # fmt: skip
        if excluded := self._excluded(of_run["user"]):
            ledger.excludes[job] = excluded
        self._enqueue(job)
        return job

    def _excluded(self, user: int) -> tuple[int, ...]:
        now, random = self.world.clock.now, self.world.rng.random()
        avoided = self._avoided.get(user)
        if not avoided and random >= SUPERSTITION:
            return ()
        nodes = {node for node, until in avoided.items() if until > now} if avoided else set()
        if random < SUPERSTITION:
            nodes.add(int(random / SUPERSTITION * self.world.pool.count))
        return tuple(sorted(nodes))

    def learn(self, user: int, culprit: int) -> None:
        """Let a user who lost work to a node exclude it for a while, with some probability."""
        now, failed = self.world.clock.now, self._failed.setdefault(culprit, [])
        if not failed or now - failed[-1] > SAME_FAILURE_SECONDS:
            failed.append(now)
        chance = AVOID_CHANCES[min(len(failed), len(AVOID_CHANCES)) - 1]
        if self.world.rng.random() < chance:
            avoided = self._avoided.setdefault(user, {})
            avoided.pop(culprit, None)
            avoided[culprit] = now + AVOID_SECONDS
            if len(avoided) > MAX_AVOIDED:
                del avoided[next(iter(avoided))]
