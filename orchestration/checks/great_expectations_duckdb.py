"""Great Expectations on DuckDB: runs suites inside the database, over a connection that is ours to close.

GX 1.24 has no DuckDB engine, and through duckdb-engine every result is empty: GX ends its transaction before it fetches
the rows, and DuckDB drops pending rows at a rollback. The dialect below has transactions that do nothing, which is
safe on a file opened read-only. Importing this module takes seconds, so import it inside functions only.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
import duckdb_engine
import great_expectations as gx
from great_expectations.core.expectation_validation_result import ExpectationValidationResult
from great_expectations.data_context.types.base import ProgressBarsConfig
from great_expectations.expectations.expectation import Expectation
from sqlalchemy import BigInteger, Boolean, Date, DateTime, Double, Integer, String
from sqlalchemy.dialects import registry
from sqlalchemy.exc import SAWarning
from sqlalchemy.pool import StaticPool
from sqlalchemy.types import NullType, TypeEngine

from assets.expectations.columns import Columns
from assets.expectations.rules import Rule
from assets.expectations.suite import suite_of
from assets.warehouse import Warehouse, set_search_path
from orchestration.checks.verdicts import raised

DIALECT = "duckdb.gx"
TYPES: dict[str, type[TypeEngine[Any]]] = {
    "BOOLEAN": Boolean, "INTEGER": Integer, "BIGINT": BigInteger, "DOUBLE": Double, "VARCHAR": String, "DATE": Date,
    "TIMESTAMP": DateTime, "TIMESTAMP_S": DateTime,
}  # fmt: skip
"""SQLAlchemy's types by DuckDB's, for GX."""


class ReadOnlyDialect(duckdb_engine.Dialect):
    """DuckDB's dialect without transactions: a read-only file has nothing to commit or roll back."""

    supports_statement_cache = True

    def do_begin(self, dbapi_connection: Any) -> None:
        """Do nothing."""

    def do_commit(self, dbapi_connection: Any) -> None:
        """Do nothing."""

    def do_rollback(self, dbapi_connection: Any) -> None:
        """Do nothing: a rollback here would drop the rows GX has not fetched yet."""

    def get_columns(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> list[Any]:
        """Ask DuckDB itself: duckdb-engine asks PostgreSQL's catalogue, which takes longer than a suite's queries."""
        columns = connection.exec_driver_sql(f'describe "{table_name}"').fetchall()
        return [{"name": name, "type": TYPES.get(kind, NullType)()} for name, kind, *_ in columns]

    def get_pk_constraint(self, connection: Any, table_name: str, schema: str | None = None, **_: Any) -> Any:
        """Return no key: DuckDB knows of none in these tables."""
        return {"constrained_columns": [], "name": None}


registry.register(DIALECT, __name__, ReadOnlyDialect.__name__)


@dataclass(frozen=True)
class Validator:
    """One GX datasource on one open file."""

    con: duckdb.DuckDBPyConnection
    datasource: Any
    columns: Mapping[tuple[str, str], Columns]
    """By schema and name of every table and view of the file."""

    def validate(self, schema: str, table: str, rules: Sequence[Rule]) -> list[ExpectationValidationResult]:
        """Judge the rules of a table together, or each alone if they cannot be computed together.

        The `meta` of a result's configuration names its rules.
        """
        if not rules:
            return []
        has_clusters = "cluster_id" in self.columns[schema, table]
        set_search_path(self.con, schema)
        with warnings.catch_warnings():
            # duckdb-engine cannot reflect indexes nor DuckDB's list types; no rule needs either.
            warnings.simplefilter("ignore", category=duckdb_engine.DuckDBEngineWarning)
            warnings.simplefilter("ignore", category=SAWarning)
            asset = self.datasource.add_table_asset(f"{schema}.{table}", table_name=table)
            # A batch definition of its own would be written into the context's settings, as text, for each table.
            batch = asset.get_batch(asset.build_batch_request())
            results = _results(batch, table, suite_of(rules, has_clusters))
            if any(raised(result) for result in results):
                suites = [suite_of([rule], has_clusters) for rule in rules]
                results = [result for suite in suites for result in _results(batch, table, suite)]
        return results


def _results(batch: Any, table: str, suite: Sequence[Expectation]) -> list[ExpectationValidationResult]:
    # COMPLETE brings back the rows of a failed rows query, at most 200 of them.
    report = batch.validate(gx.ExpectationSuite(name=table, expectations=list(suite)), result_format="COMPLETE")
    return list(report.results)


def _columns(con: duckdb.DuckDBPyConnection) -> Mapping[tuple[str, str], Columns]:
    found: dict[tuple[str, str], dict[str, str]] = {}
    rows = con.execute(
        "select table_schema, table_name, column_name, data_type from information_schema.columns"
        " order by ordinal_position"
    ).fetchall()
    for schema, table, name, kind in rows:
        found.setdefault((schema, table), {})[name] = kind
    return found


@contextmanager
def validating(warehouse: Warehouse) -> Iterator[Validator]:
    """Yield a validator on a connection of its own, which SQLAlchemy only borrows.

    GX does not release a file when its engine is disposed of, and the next writer would be locked out.
    """
    with warehouse.reading() as con:
        context = gx.get_context(mode="ephemeral")
        context.variables.progress_bars = ProgressBarsConfig(globally=False)
        sources: Any = context.data_sources
        datasource = sources.add_sql(
            "duckdb",
            # The creator opens nothing. In a path, GX would take what follows a dollar sign for a variable.
            connection_string=f"duckdb+{DIALECT.split('.')[1]}://",
            create_temp_table=False,
            kwargs={"creator": lambda: duckdb_engine.ConnectionWrapper(con), "poolclass": StaticPool},
        )
        yield Validator(con, datasource, _columns(con))
