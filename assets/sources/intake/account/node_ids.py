"""Set node_id in every raw table, once accounting and inventory say which nodes exist."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import duckdb

from assets.sources.intake.account.node_names import HostNames, NodeNames, basic_name
from assets.sources.intake.find.folder import Survey
from assets.sources.reader import Rows
from assets.sources.temp_tables import TempTable
from assets.sources.text import nodelists
from assets.sql import fill
from assets.warehouse import one_value

NAMES = TempTable("node_names", {"cluster_id": "varchar", "name_as_seen": "varchar", "node_id": "varchar"})
HOSTS = TempTable("host_names", {**NAMES.columns, "from_at": "timestamp", "to_at": "timestamp"})


def resolve_nodes(con: duckdb.DuckDBPyConnection, survey: Survey, tables: Mapping[str, Rows]) -> None:
    """Write `raw.node_names`, `raw.host_names` and every node_id.

    Parameters
    ----------
    con
        A connection inside a transaction.
    survey
        The folder, for the rules of every cluster.
    tables
        What the rows of each raw table are like.
    """
    times_of = {table: rows.time for table, rows in tables.items() if table != "sacct" and rows.time}
    declared = _declared_names(con)
    rules = {cluster_id: cluster.settings.nodes for cluster_id, cluster in survey.clusters.items()}
    nodes = {cluster_id: NodeNames(declared[cluster_id], rules[cluster_id]) for cluster_id in rules}
    names = {
        *_spelled_names(con, times_of),
        *((cluster_id, name) for cluster_id, listed in declared.items() for name in listed),
    }
    resolved = [
        (cluster_id, name, node_id)
        for cluster_id, name in sorted(names)
        if cluster_id in nodes and (node_id := nodes[cluster_id].resolve(name)) is not None
    ]
    NAMES.fill(con, resolved)
    # A cluster that is left out keeps its names, as its settings for names are unknown now.
    con.execute(
        "create or replace temp table surveyed as select unnest($names::varchar[]) as cluster_id", {"names": [*rules]}
    )
    # A name that is not a node's own may be the name of its host.
    unresolved = names - {(cluster_id, name) for cluster_id, name, _ in resolved}
    hosts = _hosts_of_clusters(con, nodes) if unresolved else {}
    spells = [
        (cluster_id, name, spell.node_id, spell.from_at, spell.to_at)
        for cluster_id, name in sorted(unresolved)
        if cluster_id in hosts
        for spell in hosts[cluster_id].spells(basic_name(name, rules[cluster_id]))
    ]
    HOSTS.fill(con, spells)
    con.execute("delete from raw.host_names where cluster_id in (from surveyed)")
    con.execute("insert into raw.host_names from host_names order by all")
    changed_count = _changed_rows(
        con,
        """
        delete from raw.node_names
        where cluster_id in (from surveyed) and not exists (from node_names where node_names = raw.node_names)
        """,
    ) + _changed_rows(con, "insert into raw.node_names from node_names except from raw.node_names order by all")
    for table in _filled(con, times_of):
        _set_node_ids(con, table, times_of[table])
    if changed_count or any(node_id != basic_name(name, rules[cluster_id]) for cluster_id, name, node_id in resolved):
        con.execute(fill("sources/intake/account/node_lists.sql"))


def _declared_names(con: duckdb.DuckDBPyConnection) -> defaultdict[str, list[str]]:
    declared: defaultdict[str, list[str]] = defaultdict(list)
    con.execute(
        fill(
            "sources/intake/account/most_nodes.sql",
            large=nodelists.LARGE,
            spare_names=nodelists.SPARE_NAMES,
            spare_factor=nodelists.SPARE_FACTOR,
        )
    )
    rows = con.execute("select distinct cluster_id, node_name from declared_names").fetchall()
    for cluster_id, name in rows:
        declared[cluster_id].append(name)
    return declared


def _spelled_names(con: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> list[tuple[str, str]]:
    statement = fill("sources/intake/account/spelled_names.sql", tables=tuple(sorted(tables)))
    return con.execute(statement).fetchall()


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
    by_cluster: dict[str, list[tuple[str, datetime, Sequence[str]]]] = defaultdict(list)
    for cluster_id, node_name, captured_at, host_names in changes:
        if cluster_id in names and (node_id := names[cluster_id].resolve(node_name)) is not None:
            by_cluster[cluster_id].append((node_id, captured_at, host_names))
    return {cluster_id: HostNames(snapshots) for cluster_id, snapshots in by_cluster.items()}


def _filled(con: duckdb.DuckDBPyConnection, tables: Iterable[str]) -> list[str]:
    """Return the tables that have rows; most sites keep only some kinds of logs."""
    columns = ", ".join(f"exists (from raw.{table})" for table in tables)
    ((*are_filled,),) = con.execute(f"select {columns}").fetchall()
    return [table for table, is_filled in zip(tables, are_filled, strict=True) if is_filled]


def _set_node_ids(con: duckdb.DuckDBPyConnection, table: str, time: str) -> None:
    """Set node_id, and move rows into and out of `unknown_node`."""
    if table != "nodes":
        con.execute(fill("sources/intake/account/node_ids.sql", table=table, time=time, by_hosts=True))
    # There are few names: checking them for a change is faster than looking for rows to change.
    con.execute(fill("sources/intake/account/names_to_set.sql", table=table))
    if con.execute("from names_to_set limit 1").fetchall():
        con.execute(fill("sources/intake/account/node_ids.sql", table=table, by_hosts=False))


def _changed_rows(con: duckdb.DuckDBPyConnection, statement: str) -> int:
    return int(one_value(con, statement))
