"""What the assets ask for by name, bound to one home in code.

A run accepts no configuration for any of it: whoever may start a run cannot choose a program, a path or a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import dagster as dg

from assets.raw.folder import SourcesFolder
from assets.report.folder import ReportFolder
from assets.warehouse import Warehouse
from orchestration.dbt.build import dbt_resource
from orchestration.environment import Settings
from orchestration.home import BUILT, Home
from orchestration.refresh.session import RefreshSession


def resources(home: Home, settings: Settings) -> dict[str, Any]:
    """Build every resource."""
    return {
        "warehouse": bound(
            lambda: Warehouse(
                path=str(home.working_file),
                publication=str(home.publication),
                memory_limit=settings.memory_limit,
                threads=settings.threads,
            )
        ),
        "sources": bound(lambda: SourcesFolder(path=str(home.sources), full=settings.is_full)),
        "report": bound(
            lambda: ReportFolder(path=str(home.working_reports), parts=str(BUILT), publications=str(home.publications))
        ),
        "session": bound(
            lambda: RefreshSession(
                working_file=str(home.working_file), lock_file=str(home.lock_file), home=str(home.root)
            )
        ),
        "dbt": bound(partial(dbt_resource, home, settings)),
        # No asset hands values on in memory. Dagster's default would take a folder from the run's configuration.
        "io_manager": dg.IOManagerDefinition(resource_fn=lambda _: dg.InMemoryIOManager(), config_schema={}),
    }


def bound(make: Callable[[], dg.ConfigurableResource]) -> dg.ResourceDefinition:
    """Make a resource that each run gets anew and that refuses all configuration.

    Dagster lets a run's configuration replace any field of a `ConfigurableResource`. Through the web server that would
    let a request name the program that is run for dbt.
    """

    def provide(context: dg.InitResourceContext) -> Iterator[Any]:
        with make().yield_for_execution(context) as resource:
            yield resource

    return dg.ResourceDefinition(resource_fn=provide, config_schema={})
