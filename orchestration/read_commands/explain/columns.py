"""Where a number comes from: its meaning, what one row is, its formula, its tables and the files behind them."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import duckdb

from assets.report.explained.failures import Part
from assets.report.wording import plural
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
        parts += [("Formula", "\n".join(formulas_of(file)))]
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


def formulas_of(file: Path) -> list[str]:
    """Give the functions of assets/model that make an estimate, with the first line of their docstrings and sources."""
    texts = []
    for module, names in _imported(file).items():
        path = PROJECT / f"{module.replace('.', '/')}.py"
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name in names and (text := ast.get_docstring(node)):
                source = re.search(r"References\n-+\n(.+?)(?:\n\n|\Z)", text, re.DOTALL)
                cited = f" Source: {' '.join(source[1].split())}" if source else ""
                texts.append(f"{node.name} ({path.relative_to(PROJECT)}): {text.splitlines()[0]}{cited}")
    return texts or ["counts and ratios of its own query; see Method"]


def _imported(file: Path, names: set[str] | None = None) -> dict[str, set[str]]:
    """List the names of assets.model that an estimate imports, itself or by the helpers it takes from its own room."""
    found: dict[str, set[str]] = defaultdict(set)
    tree = ast.parse(file.read_text(encoding="utf-8"))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    if names is not None:
        bodies = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
        used = {node.id for body in bodies for node in ast.walk(body) if isinstance(node, ast.Name)}
    for node in tree.body:
        if not isinstance(node, ast.ImportFrom) or node.module is None:
            continue
        taken = {alias.name for alias in node.names} & used
        if node.module.startswith("assets.model.") and taken:
            found[node.module] |= taken
        elif node.module.startswith("assets.estimates.") and taken and names is None:
            for module, more in _imported(PROJECT / f"{node.module.replace('.', '/')}.py", taken).items():
                found[module] |= more
    return found
