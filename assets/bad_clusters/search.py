"""Find the clusters at fault where a step fails: repeat the step alone on halves of them, in a scratch database.

Nothing here runs until a step fails. The scratch database holds tables, or views, with the rows of some clusters.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

import duckdb

from assets.bad_clusters.errors import may_be_of_rows
from assets.sql import identifier, literal
from assets.warehouse import second_connection

SCRATCH = "scratch"
"""Name under which a scratch database is attached."""
_RELATIONS = """
    select database_name, schema_name, table_name, bool_or(column_name = 'cluster_id')
    from duckdb_columns()
    where not internal and database_name not in ('system', 'temp', $scratch)
    group by database_name, schema_name, table_name
    order by database_name = current_database()
"""
"""A relation of the working file comes after one of another file with the same name."""


def find_bad_clusters(
    suspects: Sequence[str],
    attempt: Callable[[Sequence[str]], object],
    may_be_at_fault: Callable[[Exception], bool] = may_be_of_rows,
) -> dict[str, Exception]:
    """Find every cluster on whose rows alone a step fails, where it has failed on the rows of all.

    Parameters
    ----------
    suspects
        The clusters, the likeliest first.
    attempt
        Tries the step on some clusters, and raises its error.
    may_be_at_fault
        Tells whether rows can cause an error.

    Returns
    -------
    The errors by cluster. There is none if no cluster fails alone, or if all do: leaving out a cluster is no help then.

    Raises
    ------
    Exception
        An error of a trial that rows cannot cause.
    """

    def search(group: Sequence[str], *, must_fail: bool) -> dict[str, Exception]:
        # A cluster is at fault only if it was tried alone: rows of two clusters may fail together and in no other way.
        if len(group) == 1 or not must_fail:
            try:
                attempt(group)
            except Exception as error:
                if not may_be_at_fault(error):
                    raise
                if len(group) == 1:
                    return {group[0]: error}
            else:
                return {}
        middle = len(group) // 2
        found = search(group[:middle], must_fail=False)
        return found | search(group[middle:], must_fail=not found)

    if len(suspects) < 2:
        return {}
    found = search(suspects, must_fail=True)
    return {} if len(found) == len(suspects) else found


def relations(con: duckdb.DuckDBPyConnection) -> dict[str, tuple[str, bool]]:
    """Give the database of every table and view, by `schema.name`, and whether its rows name clusters."""
    found = con.execute(_RELATIONS, {"scratch": SCRATCH}).fetchall()
    return {f"{schema}.{name}": (database, has_clusters) for database, schema, name, has_clusters in found}


def show_rows(
    con: duckdb.DuckDBPyConnection,
    clusters: Collection[str],
    names: Collection[str],
    *,
    is_copy: bool,
) -> None:
    """Give the scratch database the rows of some clusters, of tables and views named `schema.name`.

    Rows that name no cluster are shown whole. A copy can be changed; otherwise each is a view of its original.
    """
    known = relations(con)
    names_of_clusters = ", ".join(literal(cluster_id) for cluster_id in clusters)
    for name in names:
        origin, has_clusters = known[name]
        schema, _, table = name.partition(".")
        target = identifier(SCRATCH, schema, table)
        rows = f"from {identifier(origin, schema, table)}"
        shown = f"{rows} where cluster_id in ({names_of_clusters})" if has_clusters else rows
        con.execute(f"create schema if not exists {identifier(SCRATCH, schema)}")
        if is_copy:
            con.execute(f"create table if not exists {target} as {rows} limit 0")
            con.execute(f"insert into {target} by name {shown}")
        else:
            con.execute(f"create view {target} as {shown}")


@contextmanager
def scratch_database(con: duckdb.DuckDBPyConnection, file: str = ":memory:") -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a connection to an empty database, which the given connection knows as `scratch`."""
    con.execute(f"attach {literal(file)} as {SCRATCH}")
    try:
        with second_connection(con) as trial:
            trial.execute(f"use {SCRATCH}")
            yield trial
    finally:
        con.execute(f"detach {SCRATCH}")
