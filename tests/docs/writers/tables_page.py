"""The page docs/tables.md: every published table, its columns, and how tables join.

The text comes from the yml files of marts, the specs of estimates and the SQL of schema ops.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from orchestration.read_commands.catalogue import ColumnListing, definitions, models_of_marts
from orchestration.read_commands.descriptions import describe
from tests.docs.writers.pages import table

OWNERS = {
    "cluster_id": "dim_clusters",
    "node_id": "dim_nodes",
    "attempt_id": "fct_attempts",
    "run_id": "fct_job_runs",
    "incident_id": "fct_incidents",
    "event_id": "fct_health_events",
    "failure_category": "dim_failure_categories",
}
"""The table of marts for each key column: a column of the same name elsewhere refers to a row of that table."""
OWNING = ("column", "a row of")
COLUMNS = ("column", "type", "unit", "description")
INTRODUCTION = """# Tables

`make docs` writes this page from the descriptions in the database. `faultline tables` lists the published tables, and
`faultline tables TABLE` prints the columns of one table. There are three schemas: **marts** (`dim_` and `fct_` hold
entities and events, `agg_` sums), **estimates** (numbers with limits and methods) and **ops** (files, runs, checks). In
`faultline query` a table needs no schema before its name. [Questions](questions.md) has examples. Times are in UTC,
without a zone. NULL is unknown, never zero.

## How tables join

A column name has the same meaning in every table. These columns are keys:

"""
JOINING = """
`node_id` is unique only within a cluster: join `using (cluster_id, node_id)`. The other keys are unique by themselves,
but DuckDB reads less if you join on `cluster_id`, too. A column of another name that holds a key is listed under
`Joins` of its table. Every table but `dim_failure_categories` has `cluster_id`. The diagram leaves out `cluster_id`,
sums and estimates. In `ops`, `run_id` is a refresh (a row of `ops.runs`), not a run of jobs.

<!-- run by: tests/docs/test_written_pages.py -->
```mermaid
flowchart LR
"""


@dataclass(frozen=True)
class Described:
    """A table as its source describes it; `references` pairs each column with the `table.column` that it refers to."""

    schema: str
    name: str
    description: str
    columns: Sequence[ColumnListing]
    keys: Sequence[str] = ()
    references: Sequence[tuple[str, str]] = ()

    @property
    def edges(self) -> Iterator[str]:
        """Return the diagram's edges to the tables that this one refers to, with the referring columns."""
        columns: dict[str, list[str]] = {}
        for name in [column.name for column in self.columns]:
            if name != "cluster_id" and OWNERS.get(name, self.name) != self.name:
                columns.setdefault(OWNERS[name], []).append(name)
        for column, target in self.references:
            columns.setdefault(target.partition(".")[0], []).append(column)
        for target, names in columns.items():
            yield f"    {self.name} -->|{', '.join(names)}| {target}\n"


def page() -> str:
    """Return the page."""
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
    """Return the tables of marts with their columns."""
    for model, rules in models_of_marts():
        keys = [_joined(key) for rule in rules for key in rule.get("keys", [])]
        references = [found for rule in rules for found in map(_reference, rule.get("references", [])) if found]
        yield _described(f"marts.{model['name']}", keys, references)


def _reference(declared: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return a column and the `table.column` of another name that it refers to; None if the names are equal."""
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
