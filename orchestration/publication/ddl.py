"""Descriptions of the tables and columns of schemas raw and ops, from the comments in their SQL files.

A column without a comment has the description of the first column of that name in the file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from assets.sql import identifier, literal
from assets.warehouse import TABLE_FILES

_TABLE = re.compile(
    r"^create table if not exists (?P<name>\w+\.\w+) \((?: *-- *(?P<comment>[^\n]*))?\n(?P<columns>.*?)^\);",
    re.M | re.S,
)
_COLUMN = re.compile(r"^    (?P<name>\w+) (?P<declared>.*?),? *(?:-- (?P<comment>.*))?$", re.M)


@dataclass(frozen=True)
class Declared:
    """A table of the DDL: its file and line, its description, and type and description of its columns."""

    file: Path
    line: int
    description: str
    columns: Mapping[str, tuple[str, str]]


@cache
def declared_tables() -> dict[str, Declared]:
    """Return every declared table of schemas raw and ops, by `schema.table`."""
    found = {}
    for file in TABLE_FILES:
        text = file.read_text(encoding="utf-8")
        meanings: dict[str, str] = {}
        for table in _TABLE.finditer(text):
            columns = {}
            for column in _COLUMN.finditer(table["columns"]):
                meaning = column["comment"] or meanings.get(column["name"], "")
                meanings.setdefault(column["name"], meaning)
                columns[column["name"]] = (column["declared"], _sentence(meaning))
            line = text.count("\n", 0, table.start()) + 1
            found[table["name"]] = Declared(file, line, _sentence(table["comment"] or ""), columns)
    return found


def comments(table: str) -> Iterator[str]:
    """Yield the statements that add the DDL's comments to a table and its columns."""
    if declared := declared_tables().get(table):
        name = identifier(*table.split("."))
        if declared.description:
            yield f"comment on table {name} is {literal(declared.description)}"
        for column, (_, meaning) in declared.columns.items():
            if meaning:
                yield f"comment on column {name}.{identifier(column)} is {literal(meaning)}"


def _sentence(comment: str) -> str:
    """Write a comment as a sentence.

    >>> _sentence("one row per run")
    'One row per run.'
    """
    return f"{comment[:1].upper()}{comment[1:].removesuffix('.')}." if comment else ""
