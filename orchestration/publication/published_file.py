"""Write the published file: the tables that readers use, copied out of the working file.

Marts and estimates are built in that file. The tables about runs and checks are added when it is published. Raw records
and intermediate tables are several times as large and stay in the working file.
"""

from __future__ import annotations

import duckdb

from assets.sql import identifier
from assets.warehouse import PUBLICATION, READER_SCHEMAS, look_in, transaction

ADDED_SCHEMAS = ("ops",)
ADDED_TABLES = ("raw.clusters",)
"""The settings that the publication was made with; the next refresh compares them."""
_ADDED = f"""
    select database_name, schema_name || '.' || table_name as name, sql from duckdb_tables()
    where database_name <> '{PUBLICATION}'
        and (list_contains($schemas, schema_name) or list_contains($tables, schema_name || '.' || table_name))
    order by name
"""
_BUILT = f"""
    select table_schema || '.' || table_name from information_schema.tables
    where table_catalog = '{PUBLICATION}' and list_contains($schemas, table_schema)
"""


def reader_tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    """List the tables and views that are published, as `schema.table`, in order."""
    built = con.execute(_BUILT, {"schemas": READER_SCHEMAS}).fetchall()
    return sorted([name for (name,) in built] + [name for _, name, _ in _added(con)])


def complete_publication(con: duckdb.DuckDBPyConnection) -> None:
    """Add the tables that readers get besides marts and estimates, and write the file to disk.

    Parameters
    ----------
    con
        A writing connection to the working file, with the publication attached.
    """
    added = _added(con)
    schemas = sorted({name.partition(".")[0] for _, name, _ in added})
    con.execute(f"use {PUBLICATION}")
    try:
        with transaction(con):
            for schema in schemas:
                con.execute(f"drop schema if exists {PUBLICATION}.{identifier(schema)} cascade")
                con.execute(f"create schema {PUBLICATION}.{identifier(schema)}")
            for database, name, definition in added:
                con.execute(definition)
                table = identifier(*name.split(".", 1))
                con.execute(f"insert into {PUBLICATION}.{table} from {identifier(database)}.{table}")
        con.execute(f"checkpoint {PUBLICATION}")
    finally:
        look_in(con)


def _added(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str]]:
    return con.execute(_ADDED, {"schemas": ADDED_SCHEMAS, "tables": ADDED_TABLES}).fetchall()
