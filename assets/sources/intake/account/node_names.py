"""Which node of the cluster a name in a log means: the node's own name in any spelling, or its host's, and when.

Names differ by case, domain, interface suffix (`-ib0`) and alias. A name that cannot be resolved stays unresolved.

Only the inventory states the hosts and addresses of nodes. In a cloud a node gets a new host each time it starts. So a
snapshot of a node is valid from its moment until a later one differs; the first is also valid before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from itertools import pairwise

from assets.sources.settings import Nodes
from assets.sources.text.times import FIRST_TIME, LAST_TIME


def basic_name(name: str, rules: Nodes) -> str:
    """Return a name in lower case, with aliases applied and suffixes stripped; without an alias the domain stays."""
    aliases = {spelled.lower(): meant.lower() for spelled, meant in rules.aliases.items()}
    name = _meant_name(name.strip().lower(), aliases)
    host, dot, domain = name.partition(".")
    for suffix in sorted(map(str.lower, rules.strip_suffixes), key=len, reverse=True):
        if name.endswith(suffix) and len(name) > len(suffix):
            name = name[: -len(suffix)]
            break
        if dot and host.endswith(suffix) and len(host) > len(suffix):
            name = host[: -len(suffix)] + dot + domain
            break
    return _meant_name(name, aliases)


def _meant_name(name: str, aliases: Mapping[str, str]) -> str:
    return aliases.get(name) or aliases.get(name.partition(".")[0], name)


class NodeNames:
    """The nodes of a cluster by any spelling of their names.

    Parameters
    ----------
    declared
        Names that the cluster itself uses: node lists of accounting, and inventory. Without any, no name is unknown,
        and every name means itself.
    rules
        Aliases and suffixes of `cluster.toml`.
    """

    def __init__(self, declared: Iterable[str], rules: Nodes) -> None:
        self._rules = rules
        basic = {basic_name(name, rules) for name in declared}
        self.node_ids = {self._without_domain(name, basic) for name in basic}
        by_host: dict[str, set[str]] = {}
        for node_id in self.node_ids:
            by_host.setdefault(node_id.partition(".")[0], set()).add(node_id)
        self._by_host = {host: next(iter(ids)) for host, ids in by_host.items() if len(ids) == 1}

    @staticmethod
    def _without_domain(name: str, known: set[str]) -> str:
        host = name.partition(".")[0]
        return host if host in known else name

    def resolve(self, name: str) -> str | None:
        """Return the node that a spelling means; None if it is not a node of this cluster.

        In clusters whose node names have a domain, a name without one means the only node with that host name.
        """
        basic = basic_name(name, self._rules)
        if not self.node_ids or basic in self.node_ids:
            return basic
        host = basic.partition(".")[0]
        if host in self.node_ids:
            return host
        return self._by_host.get(host) if basic == host else None


@dataclass(frozen=True)
class Spell:
    """An interval in which a name means a node."""

    node_id: str
    from_at: datetime
    to_at: datetime


def is_address(name: str) -> bool:
    """Return whether a name is an IP address.

    >>> is_address("10.0.0.155"), is_address("ip-10-0-0-155"), is_address("fe80::1")
    (True, False, True)
    """
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _is_of_every_host(name: str) -> bool:
    if is_address(name):
        address = ip_address(name)
        return address.is_loopback or address.is_unspecified
    return name.partition(".")[0] == "localhost"


def _forms(name: str) -> list[str]:
    """Return a name and, unless it is an address, the name without its domain."""
    return [name] if is_address(name) or "." not in name else [name, name.partition(".")[0]]


class HostNames:
    """The hosts of a cluster's nodes over time.

    Parameters
    ----------
    snapshots
        Node, moment and names of its host, ordered by moment.
    """

    def __init__(self, snapshots: Iterable[tuple[str, datetime, Sequence[str]]]) -> None:
        moments_by_node: dict[str, list[tuple[datetime, set[str]]]] = {}
        for node_id, moment, names in snapshots:
            forms = {form for name in names if not _is_of_every_host(name) for form in _forms(name)}
            moments_by_node.setdefault(node_id, []).append((moment, forms))
        stated: dict[str, list[Spell]] = {}
        before: dict[str, list[Spell]] = {}
        for node_id, moments in moments_by_node.items():
            ends = [moment for moment, _ in moments[1:]] + [LAST_TIME]
            for (moment, forms), end in zip(moments, ends, strict=True):
                for form in forms:
                    stated.setdefault(form, []).append(Spell(node_id, moment, end))
            for form in moments[0][1]:
                before.setdefault(form, []).append(Spell(node_id, FIRST_TIME, moments[0][0]))
        self._spells = {form: _without_conflicts(spells, before.get(form, [])) for form, spells in stated.items()}

    def spells(self, name: str) -> list[Spell]:
        """Return the intervals in which a name means a node."""
        return next((self._spells[form] for form in _forms(name) if form in self._spells), [])


def _without_conflicts(stated: Sequence[Spell], before: Sequence[Spell]) -> list[Spell]:
    """Return the intervals without those in which a name would mean two nodes.

    A snapshot outranks inferences about the time before another one; the nearer of two inferences counts.
    """
    turns = sorted({moment for spell in (*stated, *before) for moment in (spell.from_at, spell.to_at)})
    found: list[Spell] = []
    for from_at, to_at in pairwise(turns):
        nodes = {spell.node_id for spell in stated if spell.from_at <= from_at and to_at <= spell.to_at}
        if not nodes:
            open_spells = [spell for spell in before if to_at <= spell.to_at]
            nearest = min((spell.to_at for spell in open_spells), default=None)
            nodes = {spell.node_id for spell in open_spells if spell.to_at == nearest}
        if len(nodes) == 1:
            found.append(Spell(nodes.pop(), from_at, to_at))
    return found
