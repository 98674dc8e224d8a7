"""What readers are given: a file of their own with the tables they read, not the whole working file.

Raw records and what dbt makes on the way are several times as large, and mean nothing to a reader.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

READER_SCHEMAS = ("marts", "estimates", "ops")


def reader_tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    """List the tables readers see, as `schema.table`, in order."""
    rows = con.execute(
        """
        select schema_name || '.' || table_name from duckdb_tables()
        where list_contains(?, schema_name) and database_name = current_database() order by 1
        """,
        [list(READER_SCHEMAS)],
    ).fetchall()
    return [name for (name,) in rows]


def write_publication(con: duckdb.DuckDBPyConnection, target: Path) -> None:
    """Write the tables readers see into a new file, with their constraints and comments.

    Parameters
    ----------
    con
        A writing connection to the working file.
    target
        The file to make; a broken one left by a crash is replaced.
    """
    target.unlink(missing_ok=True)
    source = con.execute("select current_database()").fetchall()[0][0]
    tables = reader_tables(con)
    definitions = dict(
        con.execute(
            "select schema_name || '.' || table_name, sql from duckdb_tables() where database_name = ?", [source]
        ).fetchall()
    )
    comments = _comments(con, source)
    escaped = str(target).replace("'", "''")
    con.execute(f"attach '{escaped}' as publication")
    try:
        con.execute("use publication")
        # One transaction: each of hundreds of comments would be flushed to disk on its own otherwise.
        con.begin()
        for schema in READER_SCHEMAS:
            con.execute(f"create schema if not exists {schema}")
        for table in tables:
            con.execute(definitions[table])
            con.execute(f"insert into publication.{table} from {source}.{table}")
        for comment in comments:
            con.execute(comment)
        con.commit()
    except BaseException:
        con.rollback()
        raise
    finally:
        con.execute(f"use {source}")
        con.execute("detach publication")


def _comments(con: duckdb.DuckDBPyConnection, source: str) -> list[str]:
    rows = con.execute(
        """
        select 'table', schema_name || '.' || table_name, comment from duckdb_tables()
        where comment is not null and list_contains($schemas, schema_name) and database_name = $source
        union all
        select 'column', schema_name || '.' || table_name || '."' || column_name || '"', comment from duckdb_columns()
        where comment is not null and list_contains($schemas, schema_name) and database_name = $source and not internal
        """,
        {"schemas": list(READER_SCHEMAS), "source": source},
    ).fetchall()
    return [f"comment on {kind} {name} is '{text.replace(chr(39), chr(39) * 2)}'" for kind, name, text in rows]
