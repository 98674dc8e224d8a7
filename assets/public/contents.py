"""The content of text columns: names of persons, words that people wrote, text of logs, or none of these."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Literal, cast

import yaml

Content = Literal["person", "free text", "log text", "none"]


@cache
def contents() -> dict[str, Content]:
    """Return the content of each listed column, by `COLUMN` or `TABLE.COLUMN`."""
    listed = yaml.safe_load(Path(__file__).with_name("contents.yml").read_text(encoding="utf-8"))
    return {column: cast(Content, content) for content, columns in listed.items() for column in columns}


def content_of(table: str, column: str) -> Content | None:
    """Return the content of a column of a table, or of a query of the report; None if it is not listed.

    >>> content_of("fct_node_outages", "reason"), content_of("fct_attempts", "account"), content_of("runs", "status")
    ('free text', 'person', 'none')
    """
    return contents().get(f"{table}.{column}") or contents().get(column)
