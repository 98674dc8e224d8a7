"""The published tables, their columns, and the file that defines a table.

Descriptions come from the database's comments; for a table without one, from the file that defines it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import yaml

from assets.sql import identifier
from assets.warehouse import one_value
from orchestration.publication.ddl import declared_tables
from orchestration.read_commands.published import ReadingError, published
from orchestration.settings.home import DBT_PROJECT, PROJECT
from orchestration.terminal.output import print_table, say_json

SCHEMAS = ("marts", "estimates", "ops", "raw", "seeds", "inputs", "intermediate", "staging")
_GRAIN = re.compile(r"\bone row per ([^.]+)\.?", re.IGNORECASE)
_UNIT = re.compile(r"\s*\b(?:Unit: (?P<unit>[^.]+)|(?P<utc>UTC timestamp)|No unit)\.\s*$")


@dataclass(frozen=True)
class TableListing:
    """A published table; a view has no row count."""

    name: str
    row_count: int | None
    grain: str
    description: str


@dataclass(frozen=True)
class ColumnListing:
    """A column of a published table; `unit` is empty where it has none."""

    name: str
    type: str
    unit: str
    description: str


@dataclass(frozen=True)
class Definition:
    """Where a table is defined; `str()` is what an editor opens."""

    table: str
    file: Path
    line: int | None = None

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.line else str(self.file)


def show_tables(path: Path, as_json: bool = False) -> None:
    """Print every published table with its number of rows and its grain."""
    with published(path) as con:
        tables = list_tables(con)
    if as_json:
        say_json([asdict(table) for table in tables], indent=2)
        return
    rows = [
        (table.name, "view" if table.row_count is None else f"{table.row_count:,}", table.grain) for table in tables
    ]
    print_table(("table", "rows", "one row per"), rows, right=(1,))


def list_tables(con: duckdb.DuckDBPyConnection) -> list[TableListing]:
    """List every table and view of the stages, those for readers first."""
    found = con.execute(
        """
        select schema_name, table_name, true as is_table, comment from duckdb_tables()
        union all
        select schema_name, view_name, false, comment from duckdb_views() where not internal
        """
    ).fetchall()
    known = [row for row in found if row[0] in SCHEMAS]
    listings = []
    for schema, table, is_table, comment in sorted(known, key=lambda row: (SCHEMAS.index(row[0]), row[1])):
        name = f"{schema}.{table}"
        count = one_value(con, f"select count(*) from {identifier(schema, table)}") if is_table else None
        declared = declared_tables().get(name)
        description = comment or (declared.description if declared else "")
        listings.append(TableListing(name, count, *split_grain(description)))
    return listings


def split_grain(description: str) -> tuple[str, str]:
    """Split the grain from the description of a table.

    >>> split_grain("Nodes of inventory snapshots. One row per node and snapshot.")
    ('node and snapshot', 'Nodes of inventory snapshots.')
    """
    grain = _GRAIN.search(description)
    return " ".join(grain[1].split()) if grain else "", " ".join(_GRAIN.sub("", description).split())


def list_columns(con: duckdb.DuckDBPyConnection, table: str) -> list[ColumnListing]:
    """List the columns of a table in their order."""
    found = con.execute(
        """
        select column_name, data_type, comment from duckdb_columns()
        where schema_name || '.' || table_name = ? order by column_index
        """,
        [table],
    ).fetchall()
    return [column_listing(name, kind.lower(), comment or "") for name, kind, comment in found]


def column_listing(name: str, kind: str, comment: str) -> ColumnListing:
    """Split the unit from the end of a column's description.

    >>> column_listing("hours", "double", "Time it ran. Unit: hours.")
    ColumnListing(name='hours', type='double', unit='hours', description='Time it ran.')
    """
    text = " ".join(comment.split())
    found = _UNIT.search(text)
    unit = (found["unit"] or found["utc"] or "") if found else ""
    is_time = kind.startswith("timestamp")
    return ColumnListing(name, kind, unit or ("UTC timestamp" if is_time else ""), _UNIT.sub("", text))


def models_of_marts() -> Iterator[tuple[Mapping[str, Any], list[Mapping[str, Any]]]]:
    """Yield the properties of each mart, and the rules of its test `rows_are_valid`."""
    for path in sorted((DBT_PROJECT / "models" / "marts").glob("*.yml")):
        for model in yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader).get("models", []):
            tests = [test for test in model.get("data_tests", []) if isinstance(test, Mapping)]
            yield model, [test["rows_are_valid"]["arguments"] for test in tests if "rows_are_valid" in test]


def keys_of_marts() -> dict[str, Sequence[str]]:
    """Return the key columns of each mart, by `schema.table`; the first key if it has several."""
    keys = {}
    for model, rules in models_of_marts():
        for key in [key for rule in rules for key in rule.get("keys", [])][:1]:
            keys[f"marts.{model['name']}"] = [key] if isinstance(key, str) else key
    return keys


def where(name: str) -> Definition:
    """Return where a table is defined, by `schema.table` or by the table's name alone."""
    known = definitions()
    return known[_the_one(name, known)]


def _the_one(name: str, known: Iterable[str]) -> str:
    """Return the full name of a table, by `schema.table` or by its name alone."""
    wanted = name.strip().strip('"').lower()
    matches = [table for table in known if wanted in (table, table.split(".")[1])]
    if len(matches) == 1:
        return matches[0]
    if matches:
        raise ReadingError(f"'{name}' is the name of several tables: {', '.join(matches)}; give one with its schema")
    pool = {table.split(".")[1]: table for table in known} | {table: table for table in known}
    close = dict.fromkeys(pool[name] for name in difflib.get_close_matches(wanted, pool, n=3))
    hint = f"did you mean {' or '.join(close)}?" if close else "`faultline tables` lists what there is"
    raise ReadingError(f"there is no table '{name}'; {hint}")


@cache
def definitions() -> dict[str, Definition]:
    """Return every table that the code defines, by `schema.table`."""
    found = {name: Definition(name, table.file, table.line) for name, table in declared_tables().items()}
    models = DBT_PROJECT / "models"
    for path in sorted([*models.rglob("*.sql"), *models.rglob("*.py")]):
        schema = path.relative_to(models).parts[0]
        found[f"{schema}.{path.stem}"] = Definition(f"{schema}.{path.stem}", path)
    for path in sorted((DBT_PROJECT / "seeds").rglob("*.csv")):
        found[f"seeds.{path.stem}"] = Definition(f"seeds.{path.stem}", path)
    for path in sorted((PROJECT / "assets" / "estimates").glob("est_*.py")):
        found[f"estimates.{path.stem}"] = Definition(f"estimates.{path.stem}", path)
    return found
