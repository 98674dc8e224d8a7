"""The last step of a refresh: publish the new warehouse and its report together, in one atomic step.

Marts and estimates are built in the file for readers; the tables about runs and checks are added here. Raw records and
intermediate tables are several times as large and stay in the working file. A refresh with a failed blocking check does
not get here, so the last publication stays. Readers with an open connection keep the file that they opened.
"""

import json
import logging
from collections.abc import Sequence
from datetime import UTC, datetime

import duckdb

from assets.bad_clusters.left_out import CHANGED_PRIVACY, PRIVACY
from assets.sql import identifier, literal
from assets.warehouse import PUBLICATION, READER_SCHEMAS, Warehouse, one_value, set_search_path, transaction
from orchestration.publication.ddl import comments
from orchestration.publication.folders import publish, remove_old
from orchestration.settings.home import Home, code_version
from orchestration.upkeep.permissions import WrongGroup

ADDED_SCHEMAS = ("ops",)
ADDED_TABLES = ("raw.clusters",)
"""The settings of the publication, with which the next refresh compares its own."""
_ADDED = f"""
    select
        database_name, schema_name || '.' || table_name as name, sql,
        (database_name, schema_name, table_name) in (
            select (database_name, schema_name, table_name) from duckdb_columns() where column_name = 'cluster_id'
        ) as has_clusters
    from duckdb_tables()
    where database_name <> '{PUBLICATION}'
        and (list_contains($schemas, schema_name) or list_contains($tables, schema_name || '.' || table_name))
    order by name
"""
_BUILT = f"""
    select table_schema || '.' || table_name from information_schema.tables
    where table_catalog = '{PUBLICATION}' and list_contains($schemas, table_schema)
"""
INPUT_HASH = """
    select coalesce(sha256(string_agg(entry, chr(10) order by entry)), sha256(''))
    from (
        select path || ' ' || sha256 as entry from ops.files
        union all
        select cluster_id || ' ' || coalesce(config_sha256, 'defaults') from raw.clusters
    )
"""


def complete_publication(con: duckdb.DuckDBPyConnection) -> None:
    """Add the other tables for readers to marts and estimates, and write the file to disk.

    Parameters
    ----------
    con
        A writing connection to the working file, with the publication attached.
    """
    added = _added(con)
    changed = [cluster_id for (cluster_id,) in con.execute(CHANGED_PRIVACY).fetchall()]
    schemas = sorted({name.partition(".")[0] for _, name, *_ in added})
    con.execute(f"use {PUBLICATION}")
    try:
        with transaction(con):
            for schema in schemas:
                con.execute(f"drop schema if exists {PUBLICATION}.{identifier(schema)} cascade")
                con.execute(f"create schema {PUBLICATION}.{identifier(schema)}")
            for database, name, definition, has_clusters in added:
                con.execute(definition)
                table = identifier(*name.split(".", 1))
                rows = _published_rows(database, name, changed if has_clusters else [])
                con.execute(f"insert into {PUBLICATION}.{table} from {rows}")
                for comment in comments(name):
                    con.execute(comment)
        con.execute(f"checkpoint {PUBLICATION}")
    finally:
        set_search_path(con)


def _added(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str, str, bool]]:
    return con.execute(_ADDED, {"schemas": ADDED_SCHEMAS, "tables": ADDED_TABLES}).fetchall()


def _published_rows(database: str, name: str, changed: Sequence[str]) -> str:
    """Return SQL for the published rows of a table: of clusters with changed privacy, only that reason."""
    table = f"{identifier(database)}.{identifier(*name.split('.', 1))}"
    if not changed:
        return table
    is_reason = f"stage = {literal(PRIVACY)}" if name == "ops.cluster_failures" else "false"
    names = ", ".join(literal(cluster_id) for cluster_id in changed)
    return f"{table} where {is_reason} or coalesce(cluster_id not in ({names}), true)"


def row_counts(con: duckdb.DuckDBPyConnection) -> dict[str, int]:
    """Return the exact row count of every table for readers, by `schema.table`."""
    changed = [cluster_id for (cluster_id,) in con.execute(CHANGED_PRIVACY).fetchall()]
    built = con.execute(_BUILT, {"schemas": READER_SCHEMAS}).fetchall()
    tables = [(name, has_clusters, database) for database, name, _, has_clusters in _added(con)]
    counts = {}
    for name, has_clusters, database in sorted([*((name, False, PUBLICATION) for (name,) in built), *tables]):
        rows = _published_rows(database, name, changed if has_clusters else [])
        counts[name] = one_value(con, f"select count(*) from {rows}")
    return counts


def close_run(con: duckdb.DuckDBPyConnection, run_id: str) -> dict[str, int]:
    """Mark the run as succeeded and record the publication; return its row counts."""
    now = datetime.now(UTC).replace(tzinfo=None)
    (input_hash,) = con.execute(INPUT_HASH).fetchall()[0]
    counts = row_counts(con)
    con.begin()
    con.execute("update ops.runs set status = 'succeeded', ended_at = ? where run_id = ?", [now, run_id])
    con.execute(
        "insert into ops.published values (?, ?, ?, ?, ?)",
        [run_id, now, input_hash, code_version(), json.dumps(counts)],
    )
    con.commit()
    con.execute("checkpoint")
    return counts


def reopen_run(con: duckdb.DuckDBPyConnection, run_id: str, why: str) -> None:
    """Undo `close_run` when the files could not be published."""
    con.execute("update ops.runs set status = 'failed', message = ? where run_id = ?", [why, run_id])
    con.execute("delete from ops.published where run_id = ?", [run_id])


def publish_run(warehouse: Warehouse, home: Home, run_id: str, keep: int, group: str | None = None) -> dict[str, int]:
    """Publish what a run built, and return the row count of each table.

    Parameters
    ----------
    warehouse
        The working file, with the publication attached.
    home, run_id
        The home, and the run, which has a row in ops.runs.
    keep
        How many publications are kept.
    group
        Who may read them besides the owner of the home.
    """
    with warehouse.writing() as con:
        counts = close_run(con, run_id)
    try:
        with warehouse.writing() as con:
            complete_publication(con)
        warehouse.close()
        publish(home, run_id, code_version(), home.build_file, home.working_reports / "latest", group=group)
    except (OSError, WrongGroup, duckdb.Error) as error:
        with warehouse.writing() as con:
            reopen_run(con, run_id, str(error))
        raise
    try:
        home.forgotten.unlink(missing_ok=True)
        remove_old(home, keep)
    except OSError as error:
        # The new publication is in place already, and the next refresh tries again.
        logging.getLogger(__name__).warning("an earlier publication could not be removed: %s", error)
    return counts
