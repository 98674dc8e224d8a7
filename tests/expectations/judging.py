"""Plant anomalies in a warehouse, and list the checks that fail."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb

from assets.sources.intake.account.doubtful_files import mark_doubtful_files
from assets.warehouse import Warehouse
from orchestration.checks.asset_checks import judge
from orchestration.checks.verdicts import Verdict


@dataclass(frozen=True, kw_only=True)
class Undone(Warehouse):
    """A warehouse on an open connection, in a transaction that its opener ends."""

    con: duckdb.DuckDBPyConnection

    @contextmanager
    def reading(self) -> Iterator[Any]:
        """Yield the connection without beginning or ending a transaction."""
        yield _InTransaction(self.con)


class _InTransaction:
    """A connection whose transaction stays open: SQLAlchemy would end it after reading, and close the connection."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con

    def __getattr__(self, name: str) -> Any:
        return getattr(self._con, name)

    def begin(self) -> None:
        """Do nothing."""

    commit = rollback = close = begin


def spoil(warehouse: Undone, *statements: str) -> None:
    """Execute statements on the warehouse, and mark doubtful files as a refresh does."""
    with warehouse.reading() as con:
        for statement in statements:
            con.execute(statement)
        mark_doubtful_files(con)


def failed(warehouse: Warehouse, schema: str, table: str) -> dict[str, Verdict]:
    """Return the failed checks of a table by name; for several clusters, the first verdict."""
    found: dict[str, Verdict] = {}
    for verdict in judge(warehouse, [(schema, table)])[schema, table]:
        if not verdict.passed:
            found.setdefault(verdict.check_name, verdict)
    return found
