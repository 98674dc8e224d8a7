"""When faults strike and where: memoryless per node, several neighbours at once, and planned work in between."""

from __future__ import annotations

from collections.abc import Callable

from assets.simulation.causes import BY_CATEGORY, DRAIN_CATEGORIES, LEMON_CATEGORIES, draw_cause, draw_mechanism
from assets.simulation.faults import Faults
from assets.simulation.profiles import DAY, HOUR, Lemon, Maintenance, SharedFault
from assets.simulation.service import Drain, Service
from assets.simulation.states import CRASH, DRAIN, EVICT
from assets.simulation.world import World

FIRST_SHARED_INCIDENT = 1_000_000
"""An incident of a single fault carries the fault's number; those of several start here."""
SHARED_WITHIN_SECONDS = 60


class Strikes:
    """Books everything that goes wrong, or is planned, on every node."""

    def __init__(self, world: World, faults: Faults, service: Service) -> None:
        self.world, self._faults, self._service = world, faults, service
        profile = world.profile
        self._lemons: dict[int, Lemon] = {profile.node_at(lemon.position): lemon for lemon in profile.lemons}
        for node in range(profile.node_count):
            self._book(self._rate(node), self._strike, node)
            self._book(profile.drain_rate, self._find, node)
        for number, shared in enumerate(profile.shared_faults):
            world.clock.at(shared.day * DAY, self._strike_neighbours, shared, FIRST_SHARED_INCIDENT + number)
        for planned in profile.maintenance:
            world.clock.at(planned.day * DAY, self._maintain, planned)

    def _rate(self, node: int) -> float:
        return self._lemons[node].rate if node in self._lemons else self.world.profile.fault_rate

    def _book(self, rate: float, action: Callable[[int], None], node: int) -> None:
        if rate > 0:
            self.world.clock.at(self.world.clock.now + self.world.rng.exponential(DAY / rate), action, node)

    def _strike(self, node: int) -> None:
        self._book(self._rate(node), self._strike, node)
        lemon = self._lemons.get(node)
        cause = draw_cause(self.world.rng, LEMON_CATEGORIES[lemon.root_cause] if lemon else None)
        self._faults.begin(node, cause, draw_mechanism(self.world.rng, cause), is_lemon=lemon is not None)

    def _find(self, node: int) -> None:
        self._book(self.world.profile.drain_rate, self._find, node)
        self._faults.begin(node, draw_cause(self.world.rng, DRAIN_CATEGORIES), DRAIN)

    def _neighbours(self, first_position: float, count: int) -> range:
        first = self.world.profile.node_at(first_position)
        return range(first, min(first + count, self.world.profile.node_count))

    def _strike_neighbours(self, shared: SharedFault, incident: int) -> None:
        cause, rng = BY_CATEGORY[shared.category], self.world.rng
        for node in self._neighbours(shared.first_position, shared.node_count):
            mechanism = draw_mechanism(rng, cause, (CRASH, EVICT))
            at = self.world.clock.now + int(rng.integers(0, SHARED_WITHIN_SECONDS))
            self.world.clock.at(at, self._faults.begin, node, cause, mechanism, incident)

    def _maintain(self, planned: Maintenance) -> None:
        for node in self._neighbours(planned.first_position, planned.node_count):
            if not self._faults.is_broken(node):
                seconds = planned.hours * HOUR * float(self.world.rng.uniform(0.8, 1.2))
                self._service.drain(node, Drain(-1, planned.reason, seconds, self.world.clock.now, is_planned=True))
