"""Takes nodes out of service and brings them back, as Slurm does: DOWN at once, DRAIN when the last job has left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from assets.simulation.causes import CAUSES
from assets.simulation.profiles import HOUR
from assets.simulation.world import World

FIRST_TICKET = 6201
BOOT_SECONDS = 240
"""A node restarts this long before it is back in service. No check runs in between."""
NOT_RESPONDING = "Not responding"
REBOOTED = "Node unexpectedly rebooted"
PROLOG_ERROR = "Prolog error"
SLURMS_OWN = (NOT_RESPONDING, REBOOTED, PROLOG_ERROR)
"""Reasons that Slurm itself writes."""


@dataclass(frozen=True)
class Drain:
    """A request to take a node out: why, for how long, and when it was made. `fault` is -1 for planned work."""

    fault: int
    reason: str
    seconds: float
    requested: int
    is_planned: bool = False


@dataclass
class Service:
    """Which nodes are in service."""

    world: World
    repaired: Callable[[int], None] = lambda node: None  # called with a node that comes back
    wake: Callable[[], None] = lambda: None  # called when nodes accept work again
    _out: dict[int, int] = field(default_factory=dict)
    _draining: dict[int, Drain] = field(default_factory=dict)
    _tickets: int = FIRST_TICKET

    def ticket(self) -> int:
        """Return a new ticket number."""
        self._tickets += 1
        return self._tickets

    def is_out(self, node: int) -> bool:
        """Return whether the node is out of service."""
        return node in self._out

    def next_check(self, node: int) -> int:
        """Return the time of the node's next periodic check. Nodes are checked in turn."""
        period, now = self.world.profile.check_seconds, self.world.clock.now
        return now + period - (now - check_phase(node, period)) % period

    def drain(self, node: int, wish: Drain) -> None:
        """Take the node out once its jobs have ended. A second request replaces the first."""
        if self.is_out(node):
            return
        self.world.pool.set_accepts(node, False)
        self._draining[node] = wish
        if not self.world.pool.occupants[node]:
            self.emptied(node)

    def cancel_drain(self, node: int) -> None:
        """Forget a request because a worse fault has struck the node. The node still accepts no work."""
        self._draining.pop(node, None)

    def emptied(self, node: int) -> None:
        """Take a draining node out, after its last job has left."""
        wish = self._draining.pop(node, None)
        if wish is not None:
            self._open(node, wish, is_down=False)

    def take_down(self, node: int, wish: Drain) -> None:
        """Take a node out at once, even if jobs run on it."""
        self._draining.pop(node, None)
        self.world.pool.set_accepts(node, False)
        self._open(node, wish, is_down=True)

    def _open(self, node: int, wish: Drain, is_down: bool) -> None:
        clock, ledger = self.world.clock, self.world.ledger
        permanent = wish.fault >= 0 and bool(ledger.faults["is_permanent"][wish.fault])
        is_silent = wish.reason == NOT_RESPONDING
        self._out[node] = ledger.outages.append(
            node=node, requested=wish.requested, start=clock.now, end=-1, is_down=is_down, is_silent=is_silent,
            by_slurm=wish.reason in SLURMS_OWN or wish.requested < clock.now, is_planned=wish.is_planned,
            fault=wish.fault, ticket=self._ticket_in(wish.reason) if permanent else -1,
        )  # fmt: skip
        ledger.reasons.append(wish.reason)
        if permanent and is_silent:
            noticed = clock.now + float(self.world.rng.uniform(0.2, 0.8)) * min(wish.seconds, 2 * HOUR)
            clock.at(noticed, self._hand_to_repair, node)
        clock.at(clock.now + wish.seconds, self._return, node)

    def _ticket_in(self, reason: str) -> int:
        written = reason.rsplit("ticket ", 1)
        return int(written[1]) if len(written) == 2 else self.ticket()

    def _hand_to_repair(self, node: int) -> None:
        """Write the repair as the reason of a lost node. Slurm closes the first interval and opens another at once."""
        ledger, now, row = self.world.ledger, self.world.clock.now, self._out[node]
        ledger.outages["end"][row] = now
        kept = {name: int(ledger.outages[name][row]) for name in ("fault", "ticket")}
        self._out[node] = ledger.outages.append(node=node, requested=now, start=now, end=-1, is_down=True, **kept)
        ledger.reasons.append(f"repair: does not come up, ticket {kept['ticket']}")

    def _return(self, node: int) -> None:
        ledger, now = self.world.ledger, self.world.clock.now
        row = self._out.pop(node)
        ledger.outages["end"][row] = now
        if not self._is_untouched(int(ledger.outages["fault"][row])):
            ledger.reboots.append(node=node, at=now - BOOT_SECONDS)
        self.world.pool.set_accepts(node, True)
        self.repaired(node)
        self.wake()

    def _is_untouched(self, fault: int) -> bool:
        faults = self.world.ledger.faults
        if fault < 0 or faults["is_permanent"][fault]:
            return False
        return CAUSES[faults["cause"][fault]].category in self.world.profile.repairs.untouched


def check_phase(node: int, period: int) -> int:
    """Return the second within the period at which a node runs its checks."""
    return (node * 37 + 11) % period
