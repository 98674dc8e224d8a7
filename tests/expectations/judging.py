"""Plant anomalies in a warehouse, and list the checks that fail."""

from __future__ import annotations

from pathlib import Path

import duckdb

from assets.sources.intake.doubt import mark_doubtful_files
from assets.warehouse import Warehouse
from orchestration.checks.asset_checks import judge
from orchestration.checks.verdicts import Verdict


def spoil(path: Path, *statements: str) -> None:
    """Run statements on the file, and mark doubtful files as a refresh does."""
    with duckdb.connect(str(path)) as con:
        for statement in statements:
            con.execute(statement)
        mark_doubtful_files(con)


def failed(path: Path, schema: str, table: str) -> dict[str, Verdict]:
    """Return the failed checks of a table by name; if a check failed for several clusters, the first one."""
    found: dict[str, Verdict] = {}
    for verdict in judge(Warehouse(path=str(path)), [(schema, table)])[schema, table]:
        if not verdict.passed:
            found.setdefault(verdict.check_name, verdict)
    return found
