"""Where a number comes from: its meaning, grain, formula, tables and the files behind them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import duckdb

from assets.report.explained.failures import Part
from assets.report.wording import plural
from orchestration.read_commands.catalogue import SCHEMAS, split_grain
from orchestration.read_commands.descriptions import describe
from orchestration.read_commands.explain.answers import Answer
from orchestration.read_commands.explain.subjects import Subject
from orchestration.read_commands.formulas import formulas_behind
from orchestration.read_commands.lineage import Lineage, lineage
from orchestration.settings.home import PROJECT

FOLLOWED = "select 1 from ops.lineage where table_name || '.' || column_name = ?"


def explain_column(con: duckdb.DuckDBPyConnection, subject: Subject) -> Answer:
    """Explain one column of a table."""
    table, _, name = subject.key.rpartition(".")
    column = next(each for each in describe(table).columns if each.name == name)
    parts: list[Part] = [("Meaning", column.description or "no description"), ("Unit", column.unit or "none")]
    # Row counts, raw columns and tables of ops have no upstream column.
    is_followed = con.execute(FOLLOWED, [subject.key]).fetchone() is not None
    found = lineage(con, table, name)
    origin = _origin(found if is_followed else lineage(con, table))
    title = f"{subject.key} ({column.type})" if column.type else subject.key
    return Answer("column", title, [*parts, *_of_table(table), *origin], lineage=found)


def explain_table(con: duckdb.DuckDBPyConnection, subject: Subject) -> Answer:
    """Explain a table."""
    found = lineage(con, subject.key)
    return Answer("table", subject.key, [*_of_table(subject.key), *_origin(found)], lineage=found)


def _of_table(table: str) -> Iterator[Part]:
    described = describe(table)
    grain, text = split_grain(described.text)
    if grain:
        yield "One row", grain
    if text:
        yield "Population", text
    if table.startswith("estimates."):
        yield from (("Method", column.description) for column in described.columns if column.name == "method")
        yield "Formula", "\n".join(formulas_of(f"assets.{table}"))
    file = described.definition.file
    yield "Made in", str(file.relative_to(PROJECT)) if file.is_relative_to(PROJECT) else str(file)


def _origin(found: Lineage) -> Iterator[Part]:
    above = [f"{edge[2]}.{edge[3]}" for edge in found.edges if edge[3] and f"{edge[0]}.{edge[1]}" == found.asked]
    if above:
        yield "Computed from", "\n".join(dict.fromkeys(above))
    tables = defaultdict(list)
    for name in sorted({edge[2] for edge in found.edges}):
        tables[name.split(".")[0]].append(name.split(".")[1])
    if tables:
        yield "Tables", "\n".join(f"{name}: {', '.join(tables[name])}" for name in SCHEMAS if name in tables)
    read = {name: f"{plural(len(paths), 'file')}, such as {paths[0]}" for name, paths in found.files.items() if paths}
    if read:
        yield "Files", "\n".join(f"{name}: {files}" for name, files in sorted(read.items()))


def formulas_of(module: str) -> list[str]:
    """Return the functions of assets/model behind an estimate, with their summaries and sources."""
    texts = [
        f"{found.name} (assets/model/{found.module.replace('.', '/')}.py): {' '.join(found.summary.split())}"
        + (f" Source: {' '.join(found.source.split())}" if found.source else "")
        for found in formulas_behind(module)
        if found.summary
    ]
    return texts or ["counts and ratios of its own query; see Method"]
