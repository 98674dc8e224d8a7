"""dbt as a refresh calls it, but that the columns of a table are asked for once: `python -m tests.dbt.known_columns`.

Each unit test asks for those of all that its model reads, which was a quarter of the time of all unit tests. No unit
test changes a table, and what it makes has a name of its own.
"""

from __future__ import annotations

from functools import wraps
from typing import Any

from dbt.adapters.duckdb.impl import DuckDBAdapter

from orchestration.dbt.command import main

_columns_of = DuckDBAdapter.get_columns_in_relation
_known: dict[str, list[Any]] = {}


@wraps(_columns_of)
def _known_columns(self: DuckDBAdapter, relation: Any) -> list[Any]:
    name = str(relation)
    if name not in _known:
        _known[name] = _columns_of(self, relation)
    return _known[name]


if __name__ == "__main__":
    DuckDBAdapter.get_columns_in_relation = _known_columns
    main()
