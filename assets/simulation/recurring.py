"""Faults that return: after repairs that do not work, and hidden faults that end job after job."""

from __future__ import annotations

import numpy as np

from assets.simulation.causes import CAUSES
from assets.simulation.faults import Faults
from assets.simulation.jobs import Jobs
from assets.simulation.profiles import DAY
from assets.simulation.service import Service
from assets.simulation.states import ALARM, FAILED
from assets.simulation.world import World

AT_ONCE_SECONDS = (3, 60)


class Relapses:
    """Begins a fault again after its node has come back from a repair that did not work."""

    def __init__(self, world: World, faults: Faults, service: Service, rng: np.random.Generator) -> None:
        self._world, self._faults, self._rng = world, faults, rng
        relapses = world.profile.repairs.relapses
        self._planted = {(relapse.category, relapse.has_new_part): relapse for relapse in relapses}
        if self._planted:
            self._tell_others, service.repaired = service.repaired, self._repaired

    def _repaired(self, node: int) -> None:
        repaired, faults = self._faults.of_node(node), self._world.ledger.faults
        self._tell_others(node)
        for fault in repaired:
            key = (CAUSES[faults["cause"][fault]].category, bool(faults["is_permanent"][fault]))
            relapse = self._planted.get(key)
            if relapse and faults["mechanism"][fault] != ALARM and self._rng.random() < relapse.share:
                back = self._world.clock.now + self._rng.exponential(relapse.mean_days) * DAY
                self._world.clock.at(back, self._begin_again, node, fault)

    def _begin_again(self, node: int, fault: int) -> None:
        faults = self._world.ledger.faults
        number = len(faults)
        self._faults.begin(node, int(faults["cause"][fault]), int(faults["mechanism"][fault]))
        if len(faults) > number:
            self._world.ledger.relapses.append(fault=number, repaired=fault)


class HiddenFaults:
    """Lets attempts that start on a node with a hidden fault fail at once, or hang until their time limit."""

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
