"""`faultline tables NAME`: the code's description of a table of any schema, without a home.

Descriptions of models and seeds are in their yml files, those of estimates in their specs, and those of schemas raw and
ops in the comments of their SQL.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from orchestration.publication.ddl import declared_tables
from orchestration.read_commands.catalogue import (
    ColumnListing,
    Definition,
    column_listing,
    list_tables,
    split_grain,
    where,
)
from orchestration.read_commands.model_sql import column_names, statement_of, upstream_in_python, upstream_of
from orchestration.read_commands.published import ReadingError, published
from orchestration.settings.home import DBT_PROJECT
from orchestration.terminal.output import print_table, say, say_json

if TYPE_CHECKING:
    from assets.estimates.table import TableSpec


@dataclass(frozen=True)
class Described:
    """A table as the code describes it; a type is empty if only the database knows it."""

    definition: Definition
    text: str
    columns: Sequence[ColumnListing]
    upstream: Sequence[str] = ()


@cache
def describe(name: str) -> Described:
    """Return the description of a table, by `schema.table` or by the table's name alone.

    Raises
    ------
    ReadingError
        There is no such table, or several have the name.
    """
    definition = where(name)
    schema = definition.table.split(".")[0]
    return _DESCRIBE.get(schema, _of_model)(definition)


def show_table(path: Path, name: str, as_json: bool = False) -> None:
    """Print a table's grain, file, upstream tables and columns, and its row count if it is published."""
    found = describe(name)
    table, (grain, text) = found.definition.table, split_grain(found.text)
    count = _row_count(path, table)
    if as_json:
        say_json(
            {
                "name": table,
                "row_count": count,
                "grain": grain,
                "description": text,
                "file": str(found.definition.file),
                "line": found.definition.line,
                "upstream": found.upstream,
                "columns": [asdict(column) for column in found.columns],
            },
            indent=2,
        )
        return
    rows = [] if count is None else [f"{count:,} rows"]
    say(f"{table}: {', '.join([*rows, *([f'one row per {grain}'] if grain else [])])}".removesuffix(": "))
    if text:
        say(text)
    say(f"file: {found.definition}")
    if found.upstream:
        say(f"upstream: {', '.join(found.upstream)}")
    print_table(("column", "type", "unit", "description"), [tuple(asdict(column).values()) for column in found.columns])


def _row_count(path: Path, table: str) -> int | None:
    with suppress(ReadingError), published(path) as con:
        return next((listed.row_count for listed in list_tables(con) if listed.name == table), None)
    return None


def _of_ddl(definition: Definition) -> Described:
    declared = declared_tables()[definition.table]
    columns = [
        column_listing(name, kind.split(" not null")[0].split(" default")[0], meaning)
        for name, (kind, meaning) in declared.columns.items()
    ]
    return Described(definition, declared.description, columns)


def _of_estimate(definition: Definition) -> Described:
    spec: TableSpec = import_module(f"assets.{definition.table}").TABLE
    columns = [column_listing(column.name, column.type, column.comment) for column in spec.columns]
    upstream = [*(f"inputs.{name}" for name in spec.inputs), *(f"estimates.{name}" for name in spec.estimates)]
    return Described(definition, spec.description, columns, upstream)


def _of_seed(definition: Definition) -> Described:
    stated = _stated(definition.file.with_name("_seeds.yml"), "seeds", definition.file.stem)
    types = stated["config"]["column_types"]
    with definition.file.open(encoding="utf-8", newline="") as file:
        names = next(csv.reader(file))
    meanings = {column["name"]: column.get("description", "") for column in stated.get("columns", [])}
    columns = [column_listing(name, types.get(name, ""), meanings.get(name, "")) for name in names]
    return Described(definition, stated["description"], columns)


def _of_model(definition: Definition) -> Described:
    file = definition.file.with_suffix(".yml")
    stated = _stated(file if file.exists() else file.with_name("inputs.yml"), "models", file.stem)
    by_name = {column["name"]: column for column in stated.get("columns", [])}
    text = definition.file.read_text(encoding="utf-8")
    if definition.file.suffix == ".py":
        names, upstream = list(by_name), upstream_in_python(text)
    else:
        statement = statement_of(text)
        names, upstream = column_names(statement, _names_of), upstream_of(statement)
    columns = [
        column_listing(name, of.get("data_type", ""), _resolved(of.get("description", "")))
        for name, of in ((name, by_name.get(name, {})) for name in names)
    ]
    return Described(definition, stated["description"], columns, upstream)


def _names_of(table: str) -> list[str]:
    return [column.name for column in describe(table).columns]


def _stated(file: Path, kind: str, name: str) -> Mapping[str, Any]:
    stated = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader)[kind]
    return next(found for found in stated if found["name"] == name)


@cache
def _meanings() -> dict[str, str]:
    """Return the shared descriptions of columns, by name."""
    texts = (path.read_text(encoding="utf-8") for path in (DBT_PROJECT / "models" / "columns").glob("*.md"))
    found = (re.findall(r"\{% docs (\w+) %\}\n(.*?)\n\{% enddocs %\}", text, re.DOTALL) for text in texts)
    return {name: meaning for pairs in found for name, meaning in pairs}


def _resolved(description: str) -> str:
    return re.sub(r"\{\{ doc\('(\w+)'\) \}\}", lambda found: _meanings()[found[1]], description)


_DESCRIBE: dict[str, Callable[[Definition], Described]] = {
    "raw": _of_ddl,
    "ops": _of_ddl,
    "estimates": _of_estimate,
    "seeds": _of_seed,
}
"""The function that describes a table, by schema; other schemas have models."""
