"""The page docs/tables.md: every table that readers get, its columns, and how tables join.

What it says stands in the yml files of marts, in the specs of estimates and in the SQL of schema ops. `python -m
tests.docs.writers.tables_page` prints the page, and `--write FILE` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from orchestration.read_commands.catalogue import ColumnListing, definitions, models_of_marts
from orchestration.read_commands.descriptions import describe
from tests.docs.writers.pages import run_page_command, table

OWNERS = {
    "cluster_id": "dim_clusters",
    "node_id": "dim_nodes",
    "attempt_id": "fct_attempts",
    "run_id": "fct_job_runs",
    "incident_id": "fct_incidents",
    "event_id": "fct_health_events",
    "failure_category": "dim_failure_categories",
}
"""The tables of marts that columns are the key of: a column of the same name elsewhere means a row there."""
OWNING = ("column", "a row of")
COLUMNS = ("column", "type", "unit", "description")
INTRODUCTION = """# Tables

This page is written by `make tables` from the descriptions that the database has, too. `faultline tables` lists what is
published, and `faultline tables TABLE` prints the columns of one table. There are three schemas: **marts** (`dim_` and
`fct_` hold what there is and what happened, `agg_` sums of it), **estimates** (numbers with limits and methods) and
**ops** (files, runs, checks). In `faultline query` a table needs no schema before its name.
[Questions](questions.md) has examples. Times are of UTC, without a zone. NULL is unknown, never zero.

## How tables join

Columns of one name mean the same everywhere, and these are keys:

"""
JOINING = """
`node_id` is unique inside a cluster only: join `using (cluster_id, node_id)`. The other keys are unique by themselves,
but for `cluster_id` beside them DuckDB reads less. Columns of other names that hold a key stand under `Joins` of their
table. Every table but `dim_failure_categories` has `cluster_id`; the picture leaves it out, and sums and estimates too.
In `ops`, `run_id` is a refresh, a row of `ops.runs`, and not a run of jobs.

<!-- run by: tests/docs/test_written_pages.py -->
```mermaid
flowchart LR
"""


@dataclass(frozen=True)
class Described:
    """A table as its source describes it; `references` are pairs of a column and the `table.column` that it holds."""

    schema: str
    name: str
    description: str
    columns: Sequence[ColumnListing]
    keys: Sequence[str] = ()
    references: Sequence[tuple[str, str]] = ()

    @property
    def edges(self) -> Iterator[str]:
        """Draw the tables that this one refers to, with the columns that do."""
        columns: dict[str, list[str]] = {}
        for name in [column.name for column in self.columns]:
            if name != "cluster_id" and OWNERS.get(name, self.name) != self.name:
                columns.setdefault(OWNERS[name], []).append(name)
        for column, target in self.references:
            columns.setdefault(target.partition(".")[0], []).append(column)
        for target, names in columns.items():
            yield f"    {self.name} -->|{', '.join(names)}| {target}\n"


def page() -> str:
    """Write the page."""
    tables = [*marts(), *_estimates(), *_ops()]
    owners = table(OWNING, ((f"`{column}`", f"`{owner}`") for column, owner in OWNERS.items()), OWNING)
    drawn = [found for found in tables if found.schema == "marts" and not found.name.startswith("agg_")]
    parts = [INTRODUCTION, owners, JOINING, *(edge for found in drawn for edge in found.edges), "```\n"]
    for schema in dict.fromkeys(found.schema for found in tables):
        parts.append(f"\n## {schema}\n")
        parts += [_section(found) for found in tables if found.schema == schema]
    return "".join(parts)


def _section(found: Described) -> str:
    keys = f" Key: {', or '.join(f'`{key}`' for key in found.keys)}." if found.keys else ""
    joins = ", ".join(f"`{column}` is `{target}`" for column, target in found.references)
    text = f"{' '.join(found.description.split())}{keys}{f' Joins: {joins}.' if joins else ''}"
    rows = ((f"`{column.name}`", column.type, column.unit, column.description) for column in found.columns)
    return f"\n### {found.name}\n\n{text}\n\n{table(COLUMNS, rows, COLUMNS)}"


def marts() -> Iterator[Described]:
    """Read the tables of marts and their columns."""
    for model, rules in models_of_marts():
        keys = [_joined(key) for rule in rules for key in rule.get("keys", [])]
        references = [found for rule in rules for found in map(_reference, rule.get("references", [])) if found]
        yield _described(f"marts.{model['name']}", keys, references)


def _reference(declared: Mapping[str, Any]) -> tuple[str, str] | None:
    """Give a column that refers to one of another name, and `table.column` that it refers to."""
    columns, targets = (
        [given] if isinstance(given, str) else given
        for given in (declared["columns"], declared.get("to_columns", declared["columns"]))
    )
    differing = [pair for pair in zip(columns, targets, strict=True) if pair[0] != pair[1]]
    table = re.sub(r"ref\('(\w+)'\)", r"\1", declared["to"])
    return (differing[0][0], f"{table}.{differing[0][1]}") if differing else None


def _joined(key: str | list[str]) -> str:
    return key if isinstance(key, str) else ", ".join(key)


def _described(name: str, keys: Sequence[str] = (), references: Sequence[tuple[str, str]] = ()) -> Described:
    schema, _, own = name.partition(".")
    found = describe(name)
    return Described(schema, own, found.text, found.columns, keys, references)


def _estimates() -> Iterator[Described]:
    for name in _names_in("estimates"):
        yield _described(name, [", ".join(import_module(f"assets.{name}").TABLE.key)])


def _ops() -> Iterator[Described]:
    yield from map(_described, _names_in("ops"))


def _names_in(schema: str) -> Iterator[str]:
    return (name for name in definitions() if name.startswith(f"{schema}."))


if __name__ == "__main__":
    run_page_command("tests.docs.writers.tables_page", __doc__, page)
