"""Faults that no log shows: nodes on which jobs fail at once, or hang until their time limit."""

from __future__ import annotations

import numpy as np

from assets.simulation.jobs import Jobs
from assets.simulation.profiles import DAY
from assets.simulation.states import FAILED
from assets.simulation.world import World

AT_ONCE_SECONDS = (3, 60)


class HiddenFaults:
    """Lets attempts that start on a node with a hidden fault end by it."""

    def __init__(self, world: World, jobs: Jobs, rng: np.random.Generator) -> None:
        self._world, self._jobs, self._rng = world, jobs, rng
        profile = world.profile
        self._faults = {profile.node_at(fault.position): number for number, fault in enumerate(profile.hidden_faults)}
        if self._faults:
            self._tell_others, jobs.started = jobs.started, self._started

    def _started(self, attempt: int, job: int) -> None:
        self._tell_others(attempt, job)
        held = self._jobs.running.get(attempt)
        struck = [self._faults[node] for node in held.nodes if node in self._faults] if held else []
        if held is None or not struck:
            return
        fault = self._world.profile.hidden_faults[struck[0]]
        if not fault.first_day * DAY <= held.start < fault.last_day * DAY or self._rng.random() >= fault.share:
            return
        self._world.ledger.hidden_ends.append(attempt=attempt, fault=struck[0])
        if fault.kind == "hang":
            self._jobs.doom(attempt)
        else:
            self._world.clock.at(held.start + float(self._rng.uniform(*AT_ONCE_SECONDS)), self._fail, attempt)

    def _fail(self, attempt: int) -> None:
        if attempt in self._jobs.running:
            self._jobs.fail_unnoticed(attempt, FAILED)
