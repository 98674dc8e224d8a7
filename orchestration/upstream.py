"""Patches of private parts of other packages, each with what it gains. There is no other place for them.

| patch | gains | upstream |
|---|---|---|
| dagster-dbt: no dbt in this process | 1 s of each refresh | none found |
| dagster-dbt: no `dbt --version` as a process | 4 s of each build | dbt-core#6085 (it is slow), closed |
| dagster-dbt: no dbt adapter in this process | 2 s of each build | none found |
| dbt: no settings are compared with their JSON schemas | a fifth of dbt's start | none found |
| dbt: no message is made of an event that no log takes | a sixth of dbt's own time | none found |

`tests/orchestration/test_upstream.py` fails when a private part that is patched here is gone, or when what a patch
avoids no longer happens. Packages are imported inside the functions, as dbt's process needs few of them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.metadata import version as installed_version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dagster_dbt import DbtCliResource
    from dbt_common.events.base_types import BaseEvent, EventLevel
    from packaging.version import Version


@contextmanager
def without_dbt() -> Iterator[None]:
    """Have dagster-dbt, imported in the block, find no dbt-core, as where dbt Fusion is installed.

    It starts dbt as a process and needs its package for two things only: selections of nodes other than all, and the
    adapter.
    """
    name = "dbt.version"
    before = sys.modules.get(name)
    sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        del sys.modules[name]
        if before is not None:
            sys.modules[name] = before


def fast_dbt_resource(**arguments: Any) -> DbtCliResource:
    """Make a DbtCliResource that starts no process for dbt's version and opens no database itself.

    Parameters
    ----------
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
            return None

    return FastDbtCliResource(**arguments)


def skip_unwanted_events() -> None:
    """Have dbt look at an event's level before it makes a message of it, not after.

    A build has 8,000 events. 7,000 of them are for dbt's developers, and no log takes them. One function of dbt hears
    of all events (`track_behavior_change_warn`), but it looks for warnings only.
    """
    from dbt_common.events.base_types import EventLevel
    from dbt_common.events.event_manager import EventManager

    fire_event = EventManager.fire_event

    def fire_wanted(
        self: EventManager, e: BaseEvent, level: EventLevel | None = None, *others: Any, **named: Any
    ) -> None:
        is_for_developers = (level or e.level_tag()) == EventLevel.DEBUG
        if not is_for_developers or any(log.level == EventLevel.DEBUG for log in self.loggers):
            fire_event(self, e, level, *others, **named)

    EventManager.fire_event = fire_wanted  # type: ignore[method-assign]


def skip_schemas_of_settings() -> None:
    """Have dbt skip the validation of the project and the profile against JSON schemas.

    `dbt parse` does so whenever a file of the project has changed.
    """
    from dbt_common.dataclass_schema import dbtClassMixin

    dbtClassMixin.validate = classmethod(lambda cls, data: None)  # type: ignore[assignment, method-assign]
