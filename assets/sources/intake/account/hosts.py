"""Which node the name or address of a host means, and when: only the inventory tells it.

A node of a cloud gets a new host each time it starts. What a snapshot says of a node therefore holds from its moment
until a later one says otherwise; the first also holds before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address
from itertools import pairwise

import duckdb

from assets.sources.intake.account.nodes import NodeNames, basic_name
from assets.sources.settings import Nodes
from assets.sources.temp_tables import TempTable

TIMES = {
    "health_checks": "observed_at",
    "kernel_messages": "occurred_at",
    "node_events": "started_at",
    "slurmctld_events": "logged_at",
    "tickets": "opened_at",
    "squeue_exclusions": "seen_at",
    "unknown_lines": "first_at",
}
"""The time of a row in each raw table in which a host may stand for its node."""
EVER, NEVER = datetime.min, datetime.max
HOSTS = TempTable(
    "host_names",
    {
        "cluster_id": "varchar",
        "name_as_seen": "varchar",
        "node_id": "varchar",
        "from_at": "timestamp",
        "to_at": "timestamp",
    },
)


@dataclass(frozen=True)
class Spell:
    """A time in which a name means a node."""

    node_id: str
    from_at: datetime
    to_at: datetime


def is_address(name: str) -> bool:
    """Tell whether a name is an address of IP.

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
    """Return a name and, without its domain, the host; of an address there is no shorter form."""
    return [name] if is_address(name) or "." not in name else [name, name.partition(".")[0]]


class HostNames:
    """The hosts of a cluster's nodes over time.

    Parameters
    ----------
    snapshots
        Node, moment and names of its host, in the order of the moments.
    """

    def __init__(self, snapshots: Iterable[tuple[str, datetime, Sequence[str]]]) -> None:
        moments_by_node: dict[str, list[tuple[datetime, set[str]]]] = {}
        for node_id, moment, names in snapshots:
            forms = {form for name in names if not _is_of_every_host(name) for form in _forms(name)}
            moments_by_node.setdefault(node_id, []).append((moment, forms))
        stated: dict[str, list[Spell]] = {}
        before: dict[str, list[Spell]] = {}
        for node_id, moments in moments_by_node.items():
            ends = [moment for moment, _ in moments[1:]] + [NEVER]
            for (moment, forms), end in zip(moments, ends, strict=True):
                for form in forms:
                    stated.setdefault(form, []).append(Spell(node_id, moment, end))
            for form in moments[0][1]:
                before.setdefault(form, []).append(Spell(node_id, EVER, moments[0][0]))
        self._spells = {form: _without_doubt(spells, before.get(form, [])) for form, spells in stated.items()}

    def spells(self, name: str) -> list[Spell]:
        """Return the times in which a name, as logs spell it, means a node."""
        return next((self._spells[form] for form in _forms(name) if form in self._spells), [])


def _without_doubt(stated: Sequence[Spell], before: Sequence[Spell]) -> list[Spell]:
    """Leave out the times in which a name would mean two nodes at once.

    What a snapshot says comes before what is inferred of the time before one; of two of these, the nearer comes first.
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


def find_hosts(
    con: duckdb.DuckDBPyConnection,
    names: Mapping[str, NodeNames],
    rules: Mapping[str, Nodes],
    unresolved: Iterable[tuple[str, str]],
    *,
    is_complete: bool,
) -> bool:
    """Fill `host_names` and `raw.host_names` with the names in use that are those of hosts; tell whether there are any.

    Parameters
    ----------
    con
        A connection inside a transaction.
    names
        The nodes of every cluster.
    rules
        Its aliases and suffixes.
    unresolved
        Cluster and name, as logs spell it, of what is no name of a node.
    is_complete
        Whether these are all such names.
    """
    asked = sorted(unresolved)
    hosts = _hosts_of_clusters(con, names) if asked else {}
    found = [
        (cluster_id, name, spell.node_id, spell.from_at, spell.to_at)
        for cluster_id, name in asked
        if cluster_id in hosts
        for spell in hosts[cluster_id].spells(basic_name(name, rules[cluster_id]))
    ]
    HOSTS.fill(con, found)
    # What unchanged tables use is not asked for again while no node has another host.
    if is_complete:
        con.execute("delete from raw.host_names where cluster_id in (from surveyed)")
    con.execute("insert into raw.host_names from host_names except from raw.host_names order by all")
    return bool(found)


def _hosts_of_clusters(con: duckdb.DuckDBPyConnection, names: Mapping[str, NodeNames]) -> dict[str, HostNames]:
    changes = con.execute(
        """
        select cluster_id, node_name, captured_at, host_names
        from raw.nodes
        where host_names is not null and captured_at is not null
        qualify host_names is distinct from lag(host_names) over (
            partition by cluster_id, node_name order by captured_at, path, line_number
        )
        order by cluster_id, captured_at, path, line_number
        """
    ).fetchall()
    by_cluster: dict[str, list[tuple[str, datetime, Sequence[str]]]] = {}
    for cluster_id, node_name, captured_at, host_names in changes:
        if cluster_id in names and (node_id := names[cluster_id].resolve(node_name)) is not None:
            by_cluster.setdefault(cluster_id, []).append((node_id, captured_at, host_names))
    return {cluster_id: HostNames(snapshots) for cluster_id, snapshots in by_cluster.items()}


def set_nodes_of_hosts(con: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Set node_id of the rows in which a host stands for its node; tell whether any row changed."""
    if table not in TIMES:
        return False
    ((count,),) = con.execute(
        f"""
        update raw.{table} set
            node_id = meant.node_id,
            disposition = case
                when meant.node_id is null then 'unknown_node'
                when disposition = 'unknown_node' then 'loaded'
                else disposition
            end
        from (
            select named.rowid as row_number, hosts.node_id
            from (
                select {table}.rowid, {table}.cluster_id, {table}.node_name, {table}.{TIMES[table]} as moment
                from raw.{table}
                semi join host_names
                    on host_names.cluster_id = {table}.cluster_id and host_names.name_as_seen = {table}.node_name
            ) as named
            left join host_names as hosts
                on hosts.cluster_id = named.cluster_id
                and hosts.name_as_seen = named.node_name
                and hosts.from_at <= named.moment
                and hosts.to_at > named.moment
        ) as meant
        where meant.row_number = {table}.rowid
            and (
                {table}.node_id is distinct from meant.node_id
                or (disposition = 'unknown_node') <> (meant.node_id is null)
            )
        """
    ).fetchall()
    return bool(count)
