"""`faultline tables` and `faultline where`: the published tables, and the file that defines a table.

Descriptions come from the database's comments; for a table without one, from the file that defines it.
"""

from __future__ import annotations

import difflib
import re
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import duckdb

from assets.sql import identifier
from assets.warehouse import TABLE_FILES
from orchestration.home import DBT_PROJECT, PROJECT
from orchestration.reading.published import ReadingError, published
from orchestration.terminal import print_table, say, say_json

SCHEMAS = ("marts", "estimates", "ops", "raw", "seeds", "intermediate", "staging")
_GRAIN = re.compile(r"\bone row per ([^.]+)\.?", re.IGNORECASE)
_CREATE = re.compile(r"^create table if not exists (?P<name>\w+\.\w+) \((?:\s*--\s*(?P<comment>.*))?$", re.MULTILINE)


@dataclass(frozen=True)
class TableListing:
    """A published table; a view has no row count."""

    name: str
    row_count: int | None
    grain: str
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
    """Print every published table with its rows and what one row is."""
    with published(path) as con:
        tables = list_tables(con)
    if as_json:
        say_json([asdict(table) for table in tables], indent=2)
        return
    rows = [
        (table.name, "view" if table.row_count is None else f"{table.row_count:,}", table.grain) for table in tables
    ]
    print_table(("table", "rows", "one row per"), rows, right=(1,))


def show_where(name: str, as_json: bool = False) -> None:
    """Print the file that defines a table, with the line where the file defines several."""
    found = where(name)
    if as_json:
        say_json({"table": found.table, "file": str(found.file), "line": found.line})
    else:
        say(str(found))


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
        count = con.execute(f"select count(*) from {identifier(schema, table)}").fetchall()[0][0] if is_table else None
        description = comment or commented_in_ddl().get(name, "")
        grain = _GRAIN.search(description)
        listings.append(
            TableListing(
                name,
                count,
                " ".join(grain.group(1).split()) if grain else "",
                " ".join(_GRAIN.sub("", description).split()),
            )
        )
    return listings


def where(name: str) -> Definition:
    """Find the file that defines a table, by `schema.table` or by the table's name alone."""
    known = definitions()
    wanted = name.strip().strip('"').lower()
    matches = [table for table in known if wanted in (table, table.split(".")[1])]
    if len(matches) == 1:
        return known[matches[0]]
    if matches:
        raise ReadingError(f"'{name}' is the name of several tables: {', '.join(matches)}; give one with its schema")
    pool = {table.split(".")[1]: table for table in known} | {table: table for table in known}
    close = dict.fromkeys(pool[name] for name in difflib.get_close_matches(wanted, pool, n=3))
    hint = f"did you mean {' or '.join(close)}?" if close else "`faultline tables` lists what there is"
    raise ReadingError(f"there is no table '{name}'; {hint}")


@cache
def definitions() -> dict[str, Definition]:
    """Walk the tree for every table it defines."""
    found = {}
    for file in TABLE_FILES:
        ddl = file.read_text(encoding="utf-8")
        for match in _CREATE.finditer(ddl):
            name = match["name"]
            found[name] = Definition(name, file, ddl.count("\n", 0, match.start()) + 1)
    models = DBT_PROJECT / "models"
    for path in sorted([*models.rglob("*.sql"), *models.rglob("*.py")]):
        schema = path.relative_to(models).parts[0]
        found[f"{schema}.{path.stem}"] = Definition(f"{schema}.{path.stem}", path)
    for path in sorted((DBT_PROJECT / "seeds").rglob("*.csv")):
        found[f"seeds.{path.stem}"] = Definition(f"seeds.{path.stem}", path)
    for path in sorted((PROJECT / "assets" / "estimates").glob("est_*.py")):
        found[f"estimates.{path.stem}"] = Definition(f"estimates.{path.stem}", path)
    return found


@cache
def commented_in_ddl() -> dict[str, str]:
    """Take the comment beside each `create table` of schemas raw and ops."""
    statements = (match for file in TABLE_FILES for match in _CREATE.finditer(file.read_text(encoding="utf-8")))
    return {match["name"]: (match["comment"] or "").strip() for match in statements}
