"""Small warehouses: every table with its published columns, and rows that tests insert by column name.

A column that a row leaves out is NULL, or has its value in `DEFAULTS`. A test gives only the columns of its subject.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pandas as pd
import yaml
from jinja2 import Environment

from assets.estimates.table import ENOUGH_DATA, TableSpec
from assets.warehouse import OpenWarehouse, Warehouse, create_raw_and_ops

PROJECT = Path(__file__).parents[1]
NUMBERS = count()
MODELS = PROJECT / "dbt_project" / "models"
MACROS = PROJECT / "dbt_project" / "macros"
MARTS = MODELS / "marts"
ESTIMATES = PROJECT / "assets" / "estimates"

Row = Mapping[str, Any]
Columns = dict[str, str]

READ_BY_ESTIMATES: dict[str, Columns] = {
    "inputs.inp_lemon_windows_chosen": {
        "cluster_id": "varchar",
        "window_end_date": "date",
        "rate_days": "integer",
        "rate_start_date": "date",
        "judged_days": "integer",
        "day_count": "integer",
        "thresholds": "json",
        "large_gpu_count": "integer",
    },
    "staging.stg_config__clusters": {
        "cluster_id": "varchar",
        "checkpoint_minutes": "double",
        "restart_minutes": "double",
        "write_minutes": "double",
        "attribution_before_seconds": "integer",
        "attribution_after_seconds": "integer",
    },
    "intermediate.int_failure_draws": {
        "cluster_id": "varchar",
        "attempt_id": "varchar",
        "draw": "bigint",
        "probability": "double",
    },
    "intermediate.int_covered_node_days": {"cluster_id": "varchar", "day_date": "date", "node_days": "double"},
    "intermediate.int_node_boots": {"cluster_id": "varchar", "node_id": "varchar", "booted_at": "timestamp"},
    "intermediate.int_repair_actions": {"cluster_id": "varchar", "text_key": "varchar", "repair_action": "varchar"},
    "staging.stg_config__rules": {"cluster_id": "varchar", "kind": "varchar", "failure_category": "varchar"},
    "seeds.kernel_rules": {
        "vendor": "varchar",
        "is_event": "boolean",
        "failure_category": "varchar",
        "co_category": "varchar",
        "evidence_class": "varchar",
    },
    "seeds.xids": {
        "failure_category": "varchar",
        "co_category": "varchar",
        "evidence_class": "varchar",
        "fatal_evidence_class": "varchar",
    },
    "seeds.health_check_rules": {"check_key": "varchar", "failure_category": "varchar", "evidence_class": "varchar"},
    "seeds.node_reason_rules": {"failure_category": "varchar", "evidence_class": "varchar"},
}
"""Columns of tables without a contract, as far as the estimates read them."""

DEFAULTS: dict[str, Columns] = {
    "marts.dim_clusters": {
        "checkpoint_minutes": "60",
        "is_stale": "false",
        "has_accounting": "true",
    },
    "marts.agg_check_introductions": {"source": "'health_check'"},
    "seeds.kernel_rules": {"is_event": "true", "evidence_class": "'A'"},
    "seeds.xids": {"evidence_class": "'A'", "fatal_evidence_class": "'A'"},
    "seeds.health_check_rules": {"evidence_class": "'A'"},
    "seeds.node_reason_rules": {"evidence_class": "'A'"},
    "marts.fct_incidents": {"touched_node_count": "1"},
    "marts.fct_job_runs": {"qos": "'normal'"},
    "marts.fct_failures": {"posterior_probability": "1"},
    "staging.stg_config__clusters": {"attribution_before_seconds": "600", "attribution_after_seconds": "300"},
}
"""Default values of columns, as SQL."""

FEW_ROWS_ARE_ENOUGH = (
    "select cluster_id, is_simulated, true as has_enough_data, cast(null as varchar) as note from marts.dim_clusters"
)


@cache
def published_tables() -> dict[str, Columns]:
    """Return the columns of every published table with their types: the contracts of marts, the specs of estimates."""
    tables: dict[str, Columns] = {}
    for path in sorted(MARTS.glob("*.yml")):
        contracts = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        for model in contracts.get("models", []):
            tables[f"marts.{model['name']}"] = {column["name"]: column["data_type"] for column in model["columns"]}
    for path in sorted(ESTIMATES.glob("est_*.py")):
        spec: TableSpec = importlib.import_module(f"assets.estimates.{path.stem}").TABLE
        tables[spec.name] = {column.name: column.type for column in spec.columns}
    return tables


def create_tables(con: duckdb.DuckDBPyConnection) -> None:
    """Create every table without rows: raw and ops as a refresh does, marts and estimates as they are published."""
    create_raw_and_ops(con)
    tables = READ_BY_ESTIMATES | published_tables()
    statements = [f"create schema if not exists {schema}" for schema in {name.split(".")[0] for name in tables}]
    for table, columns in tables.items():
        defaults = {"has_enough_data": "true"} | DEFAULTS.get(table, {})
        declared = [
            f'"{name}" {kind}' + (f" default {defaults[name]}" if name in defaults else "")
            for name, kind in columns.items()
        ]
        statements.append(f"create table {table} ({', '.join(declared)})")
    con.execute(";\n".join(statements))
    prepare(con)


@cache
def _empty() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "faultline.duckdb")
        with Warehouse(path=str(path)).writing() as con:
            create_tables(con)
        return path.read_bytes()


def filled(folder: Path, *statements: str) -> Warehouse:
    """Return a warehouse with every table and the rows that statements insert. It stays open, as in a refresh.

    Its name is unique: DuckDB would take a file of the same name for the one that is still open, and pytest reuses the
    folder of a test that passed.
    """
    path = folder / f"faultline-{next(NUMBERS)}.duckdb"
    path.write_bytes(_empty())
    warehouse = OpenWarehouse(path=str(path))
    with warehouse.writing() as con:
        for statement in statements:
            con.execute(statement)
    return warehouse


def prepare(con: duckdb.DuckDBPyConnection) -> None:
    """Create the inputs of estimates as views, so that they always show the rows of the test.

    The few rows of a test are enough for an estimate; `test_enough_data` tests the minimum.
    """
    con.execute("create schema if not exists inputs")
    for name, query in (inputs() | {ENOUGH_DATA: FEW_ROWS_ARE_ENOUGH}).items():
        con.execute(f"create or replace view inputs.{name} as {query}")


@cache
def inputs() -> dict[str, str]:
    """Return the query of every input by its name, in an order in which the views can be created."""
    places = {path.stem: path.relative_to(MODELS).parts[0] for path in MODELS.rglob("*.sql")}
    queries: dict[str, str] = {}

    def ref(name: str) -> str:
        if name.startswith("inp_") and name not in queries and f"inputs.{name}" not in READ_BY_ESTIMATES:
            make(name)
        return f"{places.get(name, 'seeds')}.{name}"

    environment = Environment(extensions=["jinja2.ext.do"])
    environment.globals |= {"ref": ref, "source": lambda schema, table: f"{schema}.{table}"}
    macros = environment.from_string("".join(path.read_text(encoding="utf-8") for path in MACROS.glob("*.sql")))
    environment.globals |= vars(macros.module)

    def make(name: str) -> None:
        model = (MODELS / "inputs" / f"{name}.sql").read_text(encoding="utf-8")
        queries[name] = environment.from_string(model).render()

    for path in sorted((MODELS / "inputs").glob("*.sql")):
        ref(path.stem)
    return queries


def insert(con: duckdb.DuckDBPyConnection, table: str, rows: Iterable[Row]) -> None:
    """Insert rows by column name. An unknown column is an error."""
    given = pd.DataFrame(list(rows)).astype(object)
    con.register("given_rows", given.where(given.notna(), None))
    con.execute(f"insert into {table} by name select * from given_rows")
    con.unregister("given_rows")


def insert_known(con: duckdb.DuckDBPyConnection, table: str, rows: Iterable[Row]) -> None:
    """Insert rows by column name, without values for unknown columns."""
    known = columns_of(table)
    insert(con, table, [{name: value for name, value in row.items() if name in known} for row in rows])


def columns_of(table: str) -> Columns:
    """Return the columns of a published table with their types."""
    return published_tables()[table]
