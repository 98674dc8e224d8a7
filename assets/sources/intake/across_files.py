"""Settle what depends on all files: years that lines do not tell, which node a name means, which lines repeat another.

Everything here is recomputed from the whole tables, so it does not matter when or in which order files arrived.
Afterwards the counts of `ops.files` are final; the suite of `ops.files` judges them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from assets.sources.intake.account.account_corrections import account_for_dispositions
from assets.sources.intake.account.hosts import find_hosts, set_nodes_of_hosts
from assets.sources.intake.account.missing_attempts import KINDS_WITH_ATTEMPTS, warn_of_missing_attempts
from assets.sources.intake.account.nodes import NodeNames, basic_name
from assets.sources.intake.account.superseding import supersede
from assets.sources.intake.account.unknown_exclusions import warn_of_unknown_exclusions
from assets.sources.intake.account.without_accounting import warn_of_logs_without_accounting
from assets.sources.intake.account.years import settle_years
from assets.sources.intake.batch import run_steps
from assets.sources.intake.find.folder import Survey
from assets.sources.reader import Reader
from assets.sources.temp_tables import TempTable

TABLES_WITH_NODES = (
    "health_checks",
    "kernel_messages",
    "node_events",
    "nodes",
    "slurmctld_events",
    "tickets",
    "squeue_exclusions",
    "unknown_lines",
)
NAMING_TABLES = {"sacct", "nodes"}
RESOLVED = TempTable("node_names", {"cluster_id": "varchar", "name_as_seen": "varchar", "node_id": "varchar"})


def settle(con: duckdb.DuckDBPyConnection, survey: Survey, readers: Mapping[str, Reader]) -> list[str]:
    """Bring node ids, dispositions and counts up to date; does nothing when no table changed.

    Run when all kinds are loaded. The transaction is the caller's: `excluded_clusters.spare_clusters` opens one.

    Returns
    -------
    The names of the raw tables that were settled.
    """
    marks = con.execute(
        "select table_name, bool_or(coalesce(lost_rows, true)), count(*) from ops.unsettled group by table_name"
    ).fetchall()
    if not marks:
        return []
    unsettled = {table: has_lost_rows for table, has_lost_rows, _ in marks}
    by_table = {reader.TABLE: reader for reader in readers.values()}
    if any(table == "sacct" and batch_count > 1 for table, _, batch_count in marks):
        _keep_each_node_list_once(con)
    moved = settle_years(con, survey, unsettled)
    for table in unsettled.keys() & by_table.keys():
        unsettled[table] |= supersede(con, by_table[table])
    if unsettled.get("sacct"):
        _forget_unused_node_lists(con)
    settled = sorted((unsettled.keys() | moved | resolve_nodes(con, survey, unsettled)) & by_table.keys())
    for table in settled:
        try:
            run_steps(con, by_table[table].dispositions())
            account_for_dispositions(con, by_table[table], survey)
        except Exception as error:
            error.add_note(f"kind: {by_table[table].KIND}")
            raise
    if KINDS_WITH_ATTEMPTS.intersection(settled):
        warn_of_missing_attempts(con)
    if NAMING_TABLES & unsettled.keys():
        warn_of_unknown_exclusions(con)
    warn_of_logs_without_accounting(con)
    con.execute("delete from ops.unsettled; delete from ops.unsettled_files")
    return settled


def _keep_each_node_list_once(con: duckdb.DuckDBPyConnection) -> None:
    """Of lists that several batches kept at the same time, leave one."""
    con.execute(
        """
        delete from raw.node_lists
        where rowid in (
            select rowid from raw.node_lists
            semi join (
                select cluster_id, node_list from raw.node_lists group by all having count(*) > 1
            ) as repeated using (cluster_id, node_list)
            qualify row_number() over (partition by cluster_id, node_list order by rowid) > 1
        )
        """
    )


def _forget_unused_node_lists(con: duckdb.DuckDBPyConnection) -> None:
    con.execute(
        """
        delete from raw.node_lists
        where not exists (
            from (select distinct cluster_id, node_list from raw.sacct) as used
            where used.cluster_id = node_lists.cluster_id and used.node_list = node_lists.node_list
        )
        """
    )


def _declared_names(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    declared: dict[str, list[str]] = {}
    rows = con.execute(
        """
        select distinct cluster_id, unnest(node_names) as node_name from raw.node_lists
        union
        select cluster_id, node_name from raw.nodes
        """
    ).fetchall()
    for cluster_id, name in rows:
        declared.setdefault(cluster_id, []).append(name)
    return declared


def _spelled_names(con: duckdb.DuckDBPyConnection, unsettled: Mapping[str, bool]) -> list[tuple[str, str]]:
    """List the names in use; those of unchanged tables are known from the last time."""
    if NAMING_TABLES & unsettled.keys() or any(unsettled.values()):
        places = [f"select cluster_id, node_name from raw.{table}" for table in TABLES_WITH_NODES]
        places.append(
            """
            select distinct cluster_id, unnest(excluded_node_ids || [failed_node_id]) as node_name
            from raw.sacct where failed_node_id is not null or len(excluded_node_ids) > 0
            """
        )
    else:
        places = [f"select cluster_id, node_name from raw.{table}" for table in TABLES_WITH_NODES if table in unsettled]
        places.append("select cluster_id, name_as_seen as node_name from raw.node_names")
    # Where nothing says which nodes there are, the hosts of lines that say nothing of a node are none.
    places.append(
        """
        select cluster_id, node_name from raw.sightings
        where cluster_id in (select cluster_id from raw.node_lists union select cluster_id from raw.nodes)
        """
    )
    return con.execute(
        f"select distinct cluster_id, node_name from ({' union all '.join(places)}) where node_name is not null "
        "order by all"
    ).fetchall()


def resolve_nodes(con: duckdb.DuckDBPyConnection, survey: Survey, unsettled: Mapping[str, bool]) -> set[str]:
    """Write `raw.node_names` and every node_id that can have changed; name the tables in which any row did.

    Accounting and inventory say which nodes there are. While no name means another node than it meant, only the
    tables with new rows are looked at.

    Parameters
    ----------
    con
        A connection inside a transaction.
    survey
        The folder, for the rules of every cluster.
    unsettled
        Tables with new rows, and whether they lost any.
    """
    declared = _declared_names(con)
    rules = {cluster_id: cluster.settings.nodes for cluster_id, cluster in survey.clusters.items()}
    names = {cluster_id: NodeNames(declared.get(cluster_id, []), rules[cluster_id]) for cluster_id in rules}
    everything = {
        *_spelled_names(con, unsettled),
        *((cluster_id, name) for cluster_id, listed in declared.items() for name in listed),
    }
    resolved = [
        (cluster_id, name, node_id)
        for cluster_id, name in sorted(everything)
        if cluster_id in names and (node_id := names[cluster_id].resolve(name)) is not None
    ]
    RESOLVED.fill(con, resolved)
    # A cluster that is left out keeps its names: what its settings say of them is not known just now.
    con.execute(
        "create or replace temp table surveyed as select unnest($names::varchar[]) as cluster_id", {"names": [*rules]}
    )
    # A name that is none of a node's own may be that of its host.
    unresolved = everything - {(cluster_id, name) for cluster_id, name, _ in resolved}
    is_complete = bool(NAMING_TABLES & unsettled.keys()) or any(unsettled.values())
    has_hosts = find_hosts(con, names, rules, unresolved, is_complete=is_complete)
    removed_count = _changed_rows(
        con,
        """
        delete from raw.node_names
        where cluster_id in (from surveyed) and not exists (from node_names where node_names = raw.node_names)
        """,
    )
    added_count = _changed_rows(
        con, "insert into raw.node_names from node_names except from raw.node_names order by all"
    )
    filled = _filled(con, TABLES_WITH_NODES)
    if not NAMING_TABLES & unsettled.keys():
        return {table for table in filled if table in unsettled and _set_node_ids(con, table)}
    hosts_may_differ = "nodes" in unsettled and (has_hosts or unsettled["nodes"])
    may_have_moved = removed_count or added_count or hosts_may_differ
    changed = {table for table in filled if (may_have_moved or table in unsettled) and _set_node_ids(con, table)}
    if (
        removed_count
        or added_count
        or any(node_id != basic_name(name, rules[cluster_id]) for cluster_id, name, node_id in resolved)
    ):
        _set_sacct_node_ids(con)
    return changed


def _filled(con: duckdb.DuckDBPyConnection, tables: Sequence[str]) -> list[str]:
    """Return the tables that hold any rows; most sites keep only some kinds of logs."""
    asked = ", ".join(f"exists (from raw.{table})" for table in tables)
    ((*are_filled,),) = con.execute(f"select {asked}").fetchall()
    return [table for table, is_filled in zip(tables, are_filled, strict=True) if is_filled]


def _set_node_ids(con: duckdb.DuckDBPyConnection, table: str) -> bool:
    """Set node_id, and move rows into and out of `unknown_node`; tell whether any row changed."""
    has_moved_hosts = set_nodes_of_hosts(con, table)
    # Names are few: whether any row has to change is seen sooner than by looking for rows to change.
    con.execute(
        f"""
        create or replace temp table names_to_set as
        select used.cluster_id, used.node_name, node_names.node_id
        from (
            select distinct cluster_id, node_name, node_id, disposition = 'unknown_node' as is_unknown
            from raw.{table} where node_name is not null and cluster_id in (from surveyed)
        ) as used
        left join node_names on node_names.cluster_id = used.cluster_id and node_names.name_as_seen = used.node_name
        anti join host_names on host_names.cluster_id = used.cluster_id and host_names.name_as_seen = used.node_name
        where used.node_id is distinct from node_names.node_id or used.is_unknown <> (node_names.node_id is null)
        """
    )
    if not con.execute("from names_to_set limit 1").fetchall():
        return has_moved_hosts
    # Inventory's nodes are known by definition.
    which = "names.node_id is not null" if table == "nodes" else "true"
    con.execute(
        f"""
        update raw.{table} set
            node_id = names.node_id,
            disposition = case
                when names.node_id is null then 'unknown_node'
                when disposition = 'unknown_node' then 'loaded'
                else disposition
            end
        from (select distinct * from names_to_set) as names
        where names.cluster_id = {table}.cluster_id and names.node_name = {table}.node_name and {which}
            and (
                {table}.node_id is distinct from names.node_id
                or (disposition = 'unknown_node') <> (names.node_id is null)
            )
        """
    )
    return True


def _changed_rows(con: duckdb.DuckDBPyConnection, update: str) -> int:
    ((count,),) = con.execute(update).fetchall()
    return int(count)


def _set_sacct_node_ids(con: duckdb.DuckDBPyConnection) -> None:
    """Set the final ids in the node lists and in the records that print them; only names with a domain ever change."""
    # Lists are put together again only where a name in them changed: all of them at once need memory without bound.
    con.execute(
        """
        create or replace temp table changed_node_lists as
        with renamed as (
            select distinct members.cluster_id, members.node_list
            from (
                select cluster_id, node_list, unnest(node_names) as node_name, unnest(node_ids) as node_id
                from raw.node_lists
            ) as members
            inner join node_names
                on node_names.cluster_id = members.cluster_id and node_names.name_as_seen = members.node_name
            where node_names.node_id <> members.node_id
        ),
        members as (
            select
                lists.cluster_id, lists.node_list, unnest(lists.node_names) as node_name,
                generate_subscripts(lists.node_names, 1) as place
            from raw.node_lists as lists inner join renamed using (cluster_id, node_list)
        )
        select members.cluster_id, members.node_list, list(node_names.node_id order by members.place) as node_ids
        from members inner join node_names
            on node_names.cluster_id = members.cluster_id and node_names.name_as_seen = members.node_name
        group by members.cluster_id, members.node_list
        """
    )
    if con.execute("from changed_node_lists limit 1").fetchall():
        for table in ("raw.node_lists", "raw.sacct"):
            con.execute(
                f"""
                update {table} set node_ids = changed.node_ids
                from changed_node_lists as changed
                where changed.cluster_id = {table}.cluster_id and changed.node_list = {table}.node_list
                """
            )
    moved = "(select * from node_names where node_id <> name_as_seen) as names"
    con.execute(
        f"""
        update raw.sacct set failed_node_id = names.node_id
        from {moved}
        where names.cluster_id = sacct.cluster_id and names.name_as_seen = sacct.failed_node_id
        """
    )
    if con.execute(
        f"""
        from (select distinct cluster_id, unnest(excluded_node_ids) as name_as_seen from raw.sacct
              where len(excluded_node_ids) > 0) as listed
        semi join {moved} using (cluster_id, name_as_seen) limit 1
        """
    ).fetchall():
        con.execute(
            f"""
            update raw.sacct set excluded_node_ids = final.node_ids
            from (
                select listed.cluster_id, listed.excluded_node_ids,
                    list(coalesce(names.node_id, listed.name) order by listed.place) as node_ids
                from (
                    select cluster_id, excluded_node_ids, unnest(excluded_node_ids) as name,
                        generate_subscripts(excluded_node_ids, 1) as place
                    from (select distinct cluster_id, excluded_node_ids from raw.sacct where len(excluded_node_ids) > 0)
                ) as listed
                left join {moved} on names.cluster_id = listed.cluster_id and names.name_as_seen = listed.name
                group by listed.cluster_id, listed.excluded_node_ids
            ) as final
            where final.cluster_id = sacct.cluster_id and final.excluded_node_ids = sacct.excluded_node_ids
                and final.node_ids <> sacct.excluded_node_ids
            """
        )
