"""What each of dbt's tests claims, as one sentence for Dagster's pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_REFERENCE = re.compile(r"(?:ref|source)\((.*)\)")


def describe_test(test: Mapping[str, Any]) -> str:
    """Return a test's own description, or a sentence made of its kind and its arguments.

    >>> describe_test({"name": "assert_every_end_is_known", "description": ""})
    'Every end is known.'
    """
    if test.get("description"):
        return str(test["description"])
    metadata = test.get("test_metadata") or {}
    arguments = metadata.get("kwargs") or {}
    column = arguments.get("column_name")
    columns = ", ".join(arguments.get("columns") or [])
    parent = ".".join(re.findall(r"[\"']([^\"']+)[\"']", _reference(arguments)))
    sentences = {
        "unique": f"No value of {column} stands in two rows.",
        "not_null": f"Every row has a value of {column}.",
        "accepted_values": f"{column} is one of: {', '.join(map(str, arguments.get('values') or []))}.",
        "relationships": f"Every value of {column} stands in {arguments.get('field')} of {parent}.",
        "unique_combination_of_columns": f"No two rows have the same {columns}.",
        "combination_exists_in": f"Every combination of {columns} stands in {parent}.",
    }
    of_name = str(test["name"]).removeprefix("assert_").replace("_", " ")
    return sentences.get(str(metadata.get("name")), f"{of_name[:1].upper()}{of_name[1:]}.")


def _reference(arguments: Mapping[str, Any]) -> str:
    found = _REFERENCE.search(str(arguments.get("to") or ""))
    return found[1] if found else ""
