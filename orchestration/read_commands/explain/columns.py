"""Where a number comes from: its meaning, what one row is, its formula, its tables and the files behind them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import duckdb

from assets.report.explained.failures import Part
from assets.report.wording import plural
from orchestration.formulas import formulas_behind
from orchestration.home import PROJECT
from orchestration.read_commands.catalogue import SCHEMAS, list_columns, list_tables, where
from orchestration.read_commands.explain.answers import Answer
from orchestration.read_commands.explain.subjects import Subject
from orchestration.read_commands.lineage import lineage

FOLLOWED = "select 1 from ops.lineage where table_name || '.' || column_name = ?"


def explain_column(con: duckdb.DuckDBPyConnection, subject: Subject) -> Answer:
    """Explain one column of a published table."""
    table, _, name = subject.key.rpartition(".")
    listing = next(each for each in list_tables(con) if each.name == table)
    columns = {column.name: column for column in list_columns(con, table)}
    column, file = columns[name], where(table).file
    parts: list[Part] = [("Meaning", column.description or "no description"), ("Unit", column.unit or "none")]
    parts += [("One row", listing.grain)] if listing.grain else []
    parts += [("Population", listing.description)] if listing.description else []
    if table.startswith("estimates."):
        parts += [("Method", columns["method"].description)] if "method" in columns else []
        parts += [("Formula", "\n".join(formulas_of(f"assets.{table}")))]
    parts.append(("Made in", str(file.relative_to(PROJECT)) if file.is_relative_to(PROJECT) else str(file)))
    return Answer("column", f"{subject.key} ({column.type})", [*parts, *_origin(con, subject.key)])


def _origin(con: duckdb.DuckDBPyConnection, column: str) -> Iterator[Part]:
    # Counts of rows, columns that are read, and tables of ops are made of no column.
    is_followed = con.execute(FOLLOWED, [column]).fetchone() is not None
    found = lineage(con, column if is_followed else column.rpartition(".")[0])
    above = list(dict.fromkeys(f"{edge[2]}.{edge[3]}" for edge in found.edges if f"{edge[0]}.{edge[1]}" == column))
    if above:
        yield "Computed from", "\n".join(above)
    tables = defaultdict(list)
    for name in sorted({edge[2] for edge in found.edges}):
        tables[name.split(".")[0]].append(name.split(".")[1])
    if tables:
        yield "Tables", "\n".join(f"{name}: {', '.join(tables[name])}" for name in SCHEMAS if name in tables)
    read = {name: f"{plural(len(paths), 'file')}, such as {paths[0]}" for name, paths in found.files.items() if paths}
    if read:
        yield "Files", "\n".join(f"{name}: {files}" for name, files in sorted(read.items()))


def formulas_of(module: str) -> list[str]:
    """Give the functions of assets/model that make an estimate, with the first line of their docstrings and sources."""
    texts = [
        f"{found.name} (assets/model/{found.module}.py): {' '.join(found.summary.split())}"
        + (f" Source: {' '.join(found.source.split())}" if found.source else "")
        for found in formulas_behind(module)
        if found.summary
    ]
    return texts or ["counts and ratios of its own query; see Method"]
