"""The lineage of the models' columns, read from the compiled statements once per code version.

It depends only on the project and on the columns of the raw tables, so it is kept next to the manifest. Dagster gets it
as metadata of the assets' definitions: attached to each materialization, it would be half of Dagster's history.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Callable, Iterable, Mapping
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import lineage

from assets.warehouse import replace_lineage
from orchestration.settings.home import DBT_PROJECT

Row = tuple[str, str, str, str]
"""Table, column, upstream table, upstream column; tables as `schema.table`."""


def kept_lineage(file: Path) -> list[Row] | None:
    """Return the kept rows; None if there are none, or the file cannot be read."""
    try:
        return [(table, column, upstream, name) for table, column, upstream, name in json.loads(file.read_bytes())]
    except (OSError, ValueError, TypeError):
        return None


def lineage_metadata(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """Return the metadata of Dagster's assets, by table."""
    by_table: dict[str, dict[str, list[dg.TableColumnDep]]] = {}
    for table, column, upstream, name in rows:
        dependencies = by_table.setdefault(table, {}).setdefault(column, [])
        dependencies.append(dg.TableColumnDep(asset_key=upstream.split("."), column_name=name))
    return {table: {"dagster/column_lineage": dg.TableColumnLineage(found)} for table, found in by_table.items()}


def record_lineage(
    con: duckdb.DuckDBPyConnection,
    file: Path,
    manifest: Mapping[str, Any],
    compiled: Path | None,
    warn: Callable[[str], None],
) -> None:
    """Write the lineage of the models to ops.lineage after a successful build.

    Parameters
    ----------
    con
        A connection to the working file.
    file
        Where the lineage is kept.
    manifest
        dbt's parsed project.
    compiled
        Folder of the compiled statements; None if the build was not of the whole project.
    warn
        Called with a line for each statement that sqlglot cannot read.
    """
    rows = kept_lineage(file)
    if rows is None and compiled is not None:
        rows = read_lineage(manifest, compiled, columns_of_sources(con), warn)
        unfinished = file.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(rows))
        unfinished.replace(file)
    if rows is not None:
        replace_lineage(con, sorted({row[0] for row in rows}), rows)


def columns_of_sources(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Return the columns of the tables that dbt reads and does not build, by `schema.table`."""
    rows = con.execute(
        """
        select schema_name || '.' || table_name, list(column_name order by column_index)
        from duckdb_columns()
        where database_name = current_database() and schema_name in ('raw', 'ops')
        group by 1
        """
    ).fetchall()
    return dict(rows)


def read_lineage(
    manifest: Mapping[str, Any], compiled: Path, sources: Mapping[str, list[str]], warn: Callable[[str], None]
) -> list[Row]:
    """Return the lineage from compiled statements; a table follows the tables that it reads.

    Parameters
    ----------
    manifest, compiled, warn
        As above.
    sources
        Columns of the tables that dbt does not build, by `schema.table`.
    """
    nodes = {**manifest["nodes"], **manifest["sources"]}
    columns, rows = dict(sources), []
    reads = {
        key: node["depends_on"].get("nodes", [])
        for key, node in manifest["nodes"].items()
        if node["resource_type"] in ("model", "seed")
    }
    for node in (nodes[key] for key in TopologicalSorter(reads).static_order() if key in reads):
        table = _table(node)
        if node["resource_type"] == "seed":
            with (DBT_PROJECT / node["original_file_path"]).open(newline="") as seed:
                columns[table] = next(csv.reader(seed))
        elif node["language"] != "sql":
            # A Python model lists its columns in its properties.
            columns[table] = list(node["columns"])
        else:
            statement = (compiled / node["package_name"] / node["original_file_path"]).read_text()
            try:
                origins = _origins(statement, [nodes[key] for key in node["depends_on"]["nodes"]], columns)
            except SqlglotError as error:
                warn(f"{table} is published without the lineage of its columns: {error}")
                continue
            columns[table] = list(origins)
            rows += sorted({(table, column, *origin) for column, found in origins.items() for origin in found})
    return rows


def _origins(
    statement: str, parents: Iterable[Mapping[str, Any]], columns: Mapping[str, list[str]]
) -> dict[str, list[tuple[str, str]]]:
    """Return the columns of a statement, each with its source tables and columns."""
    schema: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
    for node in parents:
        if known := columns.get(_table(node)):
            of_schema = schema.setdefault(node["database"], {}).setdefault(node["schema"], {})
            of_schema[node["name"]] = dict.fromkeys(known, "unknown")
    found: dict[str, list[tuple[str, str]]] = {}
    for column, origin in lineage(None, statement, schema, dialect="duckdb", trim_selects=False).items():
        found[column] = []
        for leaf in origin.walk():
            upstream = leaf.expression.find(exp.Table)
            if not leaf.downstream and upstream is not None:
                table = f"{upstream.db}.{upstream.name}"
                if columns.get(table):
                    found[column].append((table, exp.to_column(leaf.name).name))
    return found


def _table(node: Mapping[str, Any]) -> str:
    return f"{node['schema']}.{node['name']}"
