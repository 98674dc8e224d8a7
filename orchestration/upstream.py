"""Patches of private parts of other packages, each with what it gains. There is no other place for them.

| patch | gains | upstream |
|---|---|---|
| dagster-dbt: no `dbt --version` as a process | 4 s of each build | dbt-core#6085 (it is slow), closed |
| dagster-dbt: no dbt adapter in this process, and its end | 2 s of each build | none found |
| dbt: no line is made of an event that no log takes | a tenth of dbt's own time | none found |

`tests/orchestration/test_upstream.py` fails when a private part that is patched here is gone, or when what a patch
avoids no longer happens. Packages are imported inside the functions, as dbt's process needs few of them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dagster_dbt import DbtCliResource
    from dbt_common.events.base_types import EventMsg
    from packaging.version import Version


def fast_dbt_resource(lineage: Path, **arguments: Any) -> DbtCliResource:
    """Make a DbtCliResource that starts no process for dbt's version.

    Parameters
    ----------
    lineage
        Where column lineage is kept. dagster-dbt makes an adapter in this process only while this file is missing.
    arguments
        Those of the resource.
    """
    from dagster_dbt import DbtCliResource
    from packaging.version import Version

    class FastDbtCliResource(DbtCliResource):
        @cached_property
        def _cli_version(self) -> Version:
            return Version(installed_version("dbt-core"))

        def _initialize_dbt_core_adapter(self, args: Sequence[str]) -> Any:
            return None if lineage.exists() else super()._initialize_dbt_core_adapter(args)

    return FastDbtCliResource(**arguments)


def release_dbt_adapter() -> None:
    """Close the DuckDB connection that dagster-dbt opens in this process to read columns, if it did."""
    if "dbt.adapters.duckdb" not in sys.modules:
        return
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager

    environment = DuckDBConnectionManager._ENV
    if environment is not None:
        environment.close()
        DuckDBConnectionManager.close_all_connections()


def skip_unwanted_lines() -> None:
    """Have dbt's loggers look at an event's level before they make a line of it, not after."""
    from dbt_common.events.base_types import EventLevel
    from dbt_common.events.logger import _Logger

    write_line = _Logger.write_line

    def write_wanted(self: _Logger, msg: EventMsg) -> None:
        if msg.info.level != EventLevel.DEBUG or self.level == EventLevel.DEBUG:
            write_line(self, msg)

    _Logger.write_line = write_wanted  # type: ignore[method-assign]
