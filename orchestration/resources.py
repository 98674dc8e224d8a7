"""The resources of the assets, bound to one home.

None of them accepts configuration from a run: a user who may start runs cannot choose a program, a path or a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import dagster as dg

from assets.raw.folder import SourcesFolder
from assets.report.folder import ReportFolder
from assets.warehouse import OpenWarehouse
from orchestration.code_cache import cache_folder
from orchestration.dbt.build import build_without_failing, dbt_resource
from orchestration.environment import HomeSettings
from orchestration.session import session_of_chosen_assets


def resources(settings: HomeSettings, *, is_refresh: bool = False) -> dict[str, Any]:
    """Build every resource; a refresh holds the home's lock already."""
    home = settings.home
    return {
        "warehouse": dg.ResourceDefinition(
            lambda _: _warehouse_of(settings), config_schema={}, required_resource_keys={"session"}
        ),
        "sources": bound(
            lambda: SourcesFolder(
                path=str(home.sources),
                privacy=str(home.privacy),
                full=settings.is_full,
                privacy_key=str(settings.privacy_key),
            )
        ),
        "report": bound(
            lambda: ReportFolder(
                path=str(home.working_reports),
                parts=str(cache_folder(home)),
                publications=str(home.publications),
                keep=settings.keep_publications,
                fresh_hours=settings.freshness_hours,
                sources=str(home.sources),
            )
        ),
        "session": dg.ResourceDefinition.none_resource() if is_refresh else session_of_chosen_assets(settings),
        "dbt": bound(lambda: dbt_resource(home)),
        # Assets pass no values to each other. Dagster's default would accept a folder from a run's configuration.
        "io_manager": dg.IOManagerDefinition(resource_fn=lambda _: dg.InMemoryIOManager(), config_schema={}),
    }


def _warehouse_of(settings: HomeSettings) -> Iterator[OpenWarehouse]:
    """Name the files of a home, with the limits of the settings, and close them when the run ends."""
    warehouse = OpenWarehouse(
        path=str(settings.home.working_file),
        publication=str(settings.home.build_file),
        memory_limit=settings.memory_limit,
        threads=settings.threads,
        rebuild=partial(build_without_failing, settings),
    )
    with closing(warehouse):
        yield warehouse


def bound(make: Callable[[], dg.ConfigurableResource]) -> dg.ResourceDefinition:
    """Make a resource that is new for each run and refuses all configuration.

    Dagster lets a run's configuration replace any field of a `ConfigurableResource`. Through the web server that would
    let a request name the program that is run for dbt.
    """

    def provide(context: dg.InitResourceContext) -> Iterator[Any]:
        with make().yield_for_execution(context) as resource:
            yield resource

    return dg.ResourceDefinition(resource_fn=provide, config_schema={})
