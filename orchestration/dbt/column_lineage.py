"""Which column comes from which: worked out once per version of the dbt project, then attached to every build.

It depends on the project and on the columns of the raw tables alone, so it is kept beside the manifest.
"""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import duckdb
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.lineage import lineage

from orchestration.home import DBT_PROJECT
from orchestration.upkeep.permissions import share_with_everybody

KEY = "dagster/column_lineage"
Row = tuple[str, str, str, str]


class ColumnLineage:
    """Column lineage of the dbt models, known from before or read from the statements of a build.

    Parameters
    ----------
    path
        Where it is kept: rows of table, column, upstream table, upstream column.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._statements: Statements | None = None
        try:
            self.rows: list[Row] = [tuple(row) for row in json.loads(path.read_bytes())]
            self.is_known = True
        except (OSError, ValueError, TypeError):
            self.rows, self.is_known = [], False

    def read_from(self, statements: Statements) -> None:
        """Read the lineage from these statements, whatever was known before."""
        self.rows, self._statements = [], statements

    def attach(self, event: Any, context: dg.AssetExecutionContext) -> Any:
        """Give a materialization its lineage; pass other events on."""
        if not isinstance(event, dg.Output):
            return event
        table = ".".join(context.asset_key_for_output(event.output_name).path)
        if self._statements is not None:
            try:
                self.rows.extend(self._statements.lineage(table))
            except SqlglotError as error:
                context.log.warning(f"{table} is published without the lineage of its columns: {error}")
        lineage = _lineage([row for row in self.rows if row[0] == table])
        if lineage is None:
            return event
        return dg.Output(event.value, event.output_name, metadata={**event.metadata, KEY: lineage})

    def keep(self) -> None:
        """Write the rows that were read from statements; called only when a whole build succeeded."""
        if self._statements is not None:
            unfinished = self._path.with_suffix(f".{os.getpid()}")
            unfinished.write_text(json.dumps(self.rows))
            unfinished.replace(self._path)
            share_with_everybody(self._path)


class Statements:
    """The statements that dbt has compiled. Each gives the columns of a table and where they come from.

    Parameters
    ----------
    manifest
        dbt's parsed project.
    compiled
        Folder of the compiled statements.
    columns
        Names of the columns of every table that dbt does not build, by `schema.table`.
    """

    def __init__(self, manifest: Mapping[str, Any], compiled: Path, columns: Mapping[str, Sequence[str]]) -> None:
        self._nodes = {**manifest["nodes"], **manifest["sources"]}
        self._built = {
            _table(node): node for node in self._nodes.values() if node["resource_type"] in {"model", "seed"}
        }
        self._compiled = compiled
        self._columns = {table: list(names) for table, names in columns.items()}

    def lineage(self, table: str) -> list[Row]:
        """Return the rows of a table that was just built; those that its statement reads have to come first."""
        node = self._built[table]
        if node["resource_type"] == "seed":
            with (DBT_PROJECT / node["original_file_path"]).open(newline="") as file:
                self._columns[table] = next(csv.reader(file))
            return []
        if node["language"] != "sql":
            # The columns of a model in Python stand in its properties.
            self._columns[table] = list(node["columns"])
            return []
        schema: dict[str, dict[str, dict[str, dict[str, str]]]] = {}
        for read in (self._nodes[name] for name in node["depends_on"]["nodes"]):
            if columns := self._columns.get(_table(read)):
                of_schema = schema.setdefault(read["database"], {}).setdefault(read["schema"], {})
                of_schema[read["name"]] = dict.fromkeys(columns, "unknown")
        statement = (self._compiled / node["package_name"] / node["original_file_path"]).read_text()
        origins = lineage(None, statement, schema, dialect="duckdb", trim_selects=False)
        self._columns[table] = list(origins)
        rows = set()
        for column, origin in origins.items():
            for leaf in origin.walk():
                upstream = leaf.expression.find(exp.Table)
                if not leaf.downstream and upstream is not None:
                    name = f"{upstream.db}.{upstream.name}"
                    if self._columns.get(name):
                        rows.add((table, column, name, exp.to_column(leaf.name).name))
        return sorted(rows)


def columns_of_sources(con: duckdb.DuckDBPyConnection) -> dict[str, list[str]]:
    """Name the columns of the tables that dbt reads and does not build, by `schema.table`."""
    rows = con.execute(
        """
        select schema_name || '.' || table_name, list(column_name order by column_index)
        from duckdb_columns()
        where database_name = current_database() and schema_name in ('raw', 'ops')
        group by 1
        """
    ).fetchall()
    return dict(rows)


def _table(node: Mapping[str, Any]) -> str:
    return f"{node['schema']}.{node['name']}"


def _lineage(rows: list[Row]) -> dg.TableColumnLineage | None:
    if not rows:
        return None
    columns: dict[str, list[dg.TableColumnDep]] = {}
    for _, column, upstream, name in rows:
        columns.setdefault(column, []).append(dg.TableColumnDep(asset_key=upstream.split("."), column_name=name))
    return dg.TableColumnLineage(columns)
