"""Which column comes from which: worked out once per version of the dbt project, then attached to every build.

Working it out means parsing every model's SQL, which takes longer than building a small warehouse; it depends on the
project alone, so it is kept beside the manifest.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import dagster as dg

from orchestration.upkeep.permissions import share_with_everybody

KEY = "dagster/column_lineage"
Row = tuple[str, str, str, str]


class ColumnLineage:
    """Column lineage of the dbt models, known from before or collected from the events of a build.

    Parameters
    ----------
    path
        Where it is kept: rows of table, column, upstream table, upstream column.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self.is_known = path.exists()
        self.rows: list[Row] = [tuple(row) for row in json.loads(path.read_text())] if self.is_known else []

    def attach(self, event: Any, context: dg.AssetExecutionContext) -> Any:
        """Give a materialization its lineage, or learn it from the materialization; pass other events on."""
        if not isinstance(event, dg.Output):
            return event
        table = ".".join(context.asset_key_for_output(event.output_name).path)
        if not self.is_known:
            self.rows.extend(_rows(table, event.metadata.get(KEY)))
            return event
        lineage = _lineage([row for row in self.rows if row[0] == table])
        if lineage is None:
            return event
        return dg.Output(event.value, event.output_name, metadata={**event.metadata, KEY: lineage})

    def keep(self) -> None:
        """Write what a complete build has taught; called only when the build succeeded."""
        if not self.is_known:
            beside = self._path.with_suffix(f".{os.getpid()}")
            beside.write_text(json.dumps(self.rows))
            beside.replace(self._path)
            share_with_everybody(self._path)


def _rows(table: str, value: Any) -> list[Row]:
    if value is None:
        return []
    return [
        (table, column, ".".join(dep.asset_key.path), dep.column_name)
        for column, deps in value.value.deps_by_column.items()
        for dep in deps
    ]


def _lineage(rows: list[Row]) -> dg.TableColumnLineage | None:
    if not rows:
        return None
    columns: dict[str, list[dg.TableColumnDep]] = {}
    for _, column, upstream, name in rows:
        columns.setdefault(column, []).append(dg.TableColumnDep(asset_key=upstream.split("."), column_name=name))
    return dg.TableColumnLineage(columns)
