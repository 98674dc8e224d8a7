"""The claims of dbt's tests as sentences, for Dagster's pages and ops.checks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_REFERENCE = re.compile(r"(?:ref|source)\((.*)\)")


def describe_test(test: Mapping[str, Any]) -> str:
    """Return a test's own description, or sentences made of its kind and its arguments.

    >>> describe_test({"name": "assert_every_end_is_known", "description": ""})
    'Every end is known.'
    """
    if test.get("description"):
        return str(test["description"])
    metadata = test.get("test_metadata") or {}
    arguments = metadata.get("kwargs") or {}
    if metadata.get("name") == "rows_are_valid":
        return " ".join(_describe_rules(arguments))
    of_name = str(test["name"]).removeprefix("assert_").replace("_", " ")
    return f"{of_name[:1].upper()}{of_name[1:]}."


def _describe_rules(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Yield a sentence for each rule of the test `rows_are_valid`."""
    for key in arguments.get("keys", []):
        yield f"Every row has a value of {_and(key)}, and no two have the same."
    if arguments.get("required"):
        yield f"Every row has a value of {_and(arguments['required'])}."
    for column, values in arguments.get("accepted_values", {}).items():
        yield _describe_values(column, values)
    for reference in arguments.get("references", []):
        columns = reference["columns"]
        but = f" but {', '.join(reference['but'])}" if reference.get("but") else ""
        place = f"{_and(reference.get('to_columns', columns))} of {_parent(reference)}"
        yield f"Every {_and(columns)}{but} stands in {place}."


def _describe_values(column: Any, values: list[Any]) -> str:
    return f"{column} is one of: {', '.join(map(str, values))}."


def _and(columns: str | list[str]) -> str:
    return columns if isinstance(columns, str) else " and ".join(columns)


def _parent(reference: Mapping[str, Any]) -> str:
    """Return the name of the model that `to` refers to."""
    found = _REFERENCE.search(str(reference.get("to") or ""))
    return ".".join(re.findall(r"[\"']([^\"']+)[\"']", found[1] if found else ""))
