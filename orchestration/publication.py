"""What readers are given: a file of their own with the tables they read, not the whole working file.

Raw records and what dbt makes on the way are several times as large, and mean nothing to a reader.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from assets.sources.batch import transaction

READER_SCHEMAS = ("marts", "estimates", "ops")
OTHER_TABLES = ("raw.clusters",)
"""With what settings the publication was made: the next refresh asks whether they changed."""
_PUBLISHED = """
    select schema_name || '.' || table_name as name, sql, comment from duckdb_tables()
    where database_name = current_database()
        and (list_contains($schemas, schema_name) or list_contains($tables, schema_name || '.' || table_name))
"""


def reader_tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    """List the tables that are published, as `schema.table`, in order."""
    return [name for name, _, _ in _tables(con)]


def _tables(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str | None]]:
    wanted = {"schemas": list(READER_SCHEMAS), "tables": list(OTHER_TABLES)}
    return con.execute(f"{_PUBLISHED} order by name", wanted).fetchall()


def write_publication(con: duckdb.DuckDBPyConnection, target: Path) -> None:
    """Write the tables readers see into a new file, with their constraints and comments.

    Parameters
    ----------
    con
        A writing connection to the working file.
    target
        The file to make; a broken one left by a crash is replaced.
    """
    for left in (target, target.with_name(f"{target.name}.wal")):
        left.unlink(missing_ok=True)
    source = con.execute("select current_database()").fetchall()[0][0]
    tables = _tables(con)
    comments = [f"comment on table {name} is {_text(comment)}" for name, _, comment in tables if comment]
    comments += _column_comments(con, [name for name, _, _ in tables])
    escaped = str(target).replace("'", "''")
    con.execute(f"attach '{escaped}' as publication")
    try:
        con.execute("use publication")
        # One transaction: each of hundreds of comments would be flushed to disk on its own otherwise.
        with transaction(con):
            for schema in sorted({name.partition(".")[0] for name, _, _ in tables}):
                con.execute(f"create schema {schema}")
            for name, definition, _ in tables:
                con.execute(definition)
                con.execute(f"insert into publication.{name} from {source}.{name}")
            for comment in comments:
                con.execute(comment)
        con.execute("checkpoint publication")
    finally:
        con.execute(f"use {source}")
        con.execute("detach publication")


def _column_comments(con: duckdb.DuckDBPyConnection, tables: list[str]) -> list[str]:
    rows = con.execute(
        """
        select schema_name || '.' || table_name || '."' || column_name || '"', comment from duckdb_columns()
        where comment is not null and database_name = current_database()
            and list_contains(?, schema_name || '.' || table_name)
        """,
        [tables],
    ).fetchall()
    return [f"comment on column {name} is {_text(comment)}" for name, comment in rows]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
