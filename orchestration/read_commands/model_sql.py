"""The SQL of dbt's models on DuckDB without dbt: the tables that a model reads, and the names of its columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

from jinja2 import Environment
from jinja2.runtime import Macro

from orchestration.read_commands.catalogue import definitions
from orchestration.settings.home import DBT_PROJECT

if TYPE_CHECKING:
    from sqlglot import exp

OF_CODE_ALONE = ("raw", "ops", "estimates")
"""Schemas that dbt does not build; the first two are dbt sources."""
NEEDS_ROWS = "check_message_rules"
"""A macro that queries rows from the database; no column depends on them."""
_READ_IN_PYTHON = re.compile(r"\bdbt\.ref\(\"(\w+)\"\)")


def upstream_in_python(text: str) -> list[str]:
    """Return the tables that a model in Python reads, by `schema.table`."""
    return sorted({_table_of(name) for name in _READ_IN_PYTHON.findall(text)})


def statement_of(text: str) -> exp.Query:
    """Return the statement of a model in SQL."""
    import sqlglot

    return cast("exp.Query", sqlglot.parse_one(_environment().from_string(text).render(), dialect="duckdb"))


def upstream_of(statement: exp.Query) -> list[str]:
    """Return the tables that a statement reads, by `schema.table`."""
    from sqlglot import exp

    return sorted({f"{table.db}.{table.name}" for table in statement.find_all(exp.Table) if table.db})


def column_names(statement: exp.Query, columns_of: Callable[[str], Sequence[str]]) -> list[str]:
    """Return the names of a statement's columns; `columns_of` returns the columns of its upstream tables."""
    from sqlglot.optimizer.qualify import qualify

    if "*" not in statement.named_selects:
        return list(statement.named_selects)
    known: dict[str, dict[str, dict[str, str]]] = {}
    for table in upstream_of(statement):
        schema, _, name = table.partition(".")
        known.setdefault(schema, {})[name] = dict.fromkeys(columns_of(table), "unknown")
    qualified = qualify(statement.copy(), dialect="duckdb", schema={**known}, validate_qualify_columns=False)
    return list(qualified.named_selects)


def _table_of(name: str) -> str:
    return next(
        table for table in definitions() if table.split(".")[1] == name and table.split(".")[0] not in OF_CODE_ALONE
    )


@cache
def _environment() -> Environment:
    """Return an environment like dbt on DuckDB: macros, with the default of dispatched ones, but without a database."""
    macros: dict[str, Any] = {}
    environment = Environment(extensions=["jinja2.ext.do"])  # noqa: S701 -- it renders SQL
    environment.globals |= {
        "ref": _table_of,
        "source": lambda schema, table: f"{schema}.{table}",
        "adapter": SimpleNamespace(dispatch=lambda name, _package=None: macros[f"default__{name}"]),
        "target": SimpleNamespace(type="duckdb"),
        "execute": False,
        "config": lambda **_: "",
        "return": lambda value: value,
        NEEDS_ROWS: list,
    }
    files = sorted((DBT_PROJECT / "macros").rglob("*.sql"))
    texts = [file.read_text(encoding="utf-8") for file in files if "materializations" not in file.parts]
    module = environment.from_string("\n".join(text for text in texts if f"macro {NEEDS_ROWS}(" not in text)).module
    macros |= {name: value for name, value in vars(module).items() if isinstance(value, Macro)}
    environment.globals |= macros
    return environment
