"""If an estimate fails on the rows of one cluster, it is computed without that cluster.

The cluster is found by hiding each one in turn, starting with the one that has the most failures. Its rows stay hidden
for the rest of the run, and its rows in tables made before are replaced by its last good rows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import dagster as dg
import duckdb

from assets.sql import identifier
from assets.warehouse import PUBLICATION, Warehouse

OF_DATA = (
    ArithmeticError, LookupError, TypeError, ValueError,
    duckdb.DataError, duckdb.IntegrityError, duckdb.ProgrammingError,
)  # fmt: skip
"""Errors that rows can cause. A full disk or too little memory is not among them."""

Compute = Callable[[Warehouse], dg.MaterializeResult[None]]

_CLUSTERS = """
    select clusters.cluster_id
    from marts.dim_clusters as clusters
    left join marts.fct_failures as failures using (cluster_id)
    group by clusters.cluster_id
    order by count(failures.attempt_id) desc, clusters.cluster_id
"""
_TABLES = f"""
    select columns.schema_name, columns.table_name
    from duckdb_columns() as columns
    inner join duckdb_tables() as tables using (database_name, schema_name, table_name)
    where columns.database_name = '{PUBLICATION}' and columns.column_name = 'cluster_id'
        and columns.schema_name in ('marts', 'estimates')
    order by all
"""


def compute_without_culprit(compute: Compute, warehouse: Warehouse, table: str) -> dg.MaterializeResult[None]:
    """Compute an estimate. If the rows of one cluster make it fail, record that and compute it without the cluster.

    Parameters
    ----------
    compute
        Reads the marts and writes the table.
    warehouse
        The warehouse that it reads and writes.
    table
        Its name, for the row of ops.cluster_failures.

    Raises
    ------
    Exception
        The error of the estimate, if leaving out a single cluster does not help.
    """
    try:
        return compute(warehouse)
    except OF_DATA as error:
        with warehouse.writing() as con:
            clusters = [cluster_id for (cluster_id,) in con.execute(_CLUSTERS).fetchall()]
        for cluster_id in clusters if len(clusters) > 1 else []:
            result = _computed_without(compute, warehouse, cluster_id)
            if result is not None:
                _note(warehouse, cluster_id, f"{table} could not be made of its rows: {_in_a_line(error)}")
                return result
        raise


def _computed_without(compute: Compute, warehouse: Warehouse, cluster_id: str) -> dg.MaterializeResult[None] | None:
    with warehouse.writing() as con:
        _hide(con, cluster_id)
    try:
        result = compute(warehouse)
    except OF_DATA:
        result = None
    with warehouse.writing() as con:
        if result is None:
            _show_again(con)
        con.execute(f"drop schema {PUBLICATION}.hidden cascade")
    return result


def _hide(con: duckdb.DuckDBPyConnection, cluster_id: str) -> None:
    con.begin()
    con.execute(f"drop schema if exists {PUBLICATION}.hidden cascade")
    con.execute(f"create schema {PUBLICATION}.hidden")
    for schema, table in con.execute(_TABLES).fetchall():
        name, hidden = identifier(PUBLICATION, schema, table), identifier(PUBLICATION, "hidden", f"{schema}.{table}")
        con.execute(f"create table {hidden} as from {name} where cluster_id = ?", [cluster_id])
        con.execute(f"delete from {name} where cluster_id = ?", [cluster_id])
    con.commit()


def _show_again(con: duckdb.DuckDBPyConnection) -> None:
    con.begin()
    for schema, table in con.execute(_TABLES).fetchall():
        name, hidden = identifier(PUBLICATION, schema, table), identifier(PUBLICATION, "hidden", f"{schema}.{table}")
        con.execute(f"insert into {name} by name from {hidden}")
    con.commit()


def _note(warehouse: Warehouse, cluster_id: str, reason: str) -> None:
    with warehouse.writing() as con:
        con.execute(
            """
            insert into ops.cluster_failures
            select run_id, ?, 'estimates', ?, ? from ops.runs where status = 'running' order by rowid desc limit 1
            """,
            [cluster_id, reason, datetime.now(UTC).replace(tzinfo=None)],
        )


def _in_a_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else ''}"
