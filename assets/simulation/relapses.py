"""Repairs that do not work: after some of them the same fault is back on the node within days."""

from __future__ import annotations

import numpy as np

from assets.simulation.causes import CAUSES
from assets.simulation.faults import Faults
from assets.simulation.profiles import DAY
from assets.simulation.service import Service
from assets.simulation.states import ALARM
from assets.simulation.world import World


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
