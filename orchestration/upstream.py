"""Patches of private parts of other packages, each with what it gains. There is no other place for them.

| patch | gains | upstream |
|---|---|---|
| dagster-dbt: no `dbt --version` as a process | 4 s of each build | dbt-core#6085 (it is slow), closed |
| dagster-dbt: no dbt adapter in this process | 2 s of each build | none found |
| dbt: no message is made of an event that no log takes | a sixth of dbt's own time | none found |

`tests/orchestration/test_upstream.py` fails when a private part that is patched here is gone, or when what a patch
avoids no longer happens. Packages are imported inside the functions, as dbt's process needs few of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version as installed_version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dagster_dbt import DbtCliResource
    from dbt_common.events.base_types import BaseEvent, EventLevel
    from packaging.version import Version


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
