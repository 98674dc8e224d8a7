"""The resources of the assets, bound to one home.

None of them accepts configuration from a run: a user who may start runs cannot choose a program, a path or a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import closing
from functools import partial
from typing import Any

import dagster as dg

from assets.report.folder import ReportFolder
from assets.warehouse import OpenWarehouse
from orchestration.code_cache import cache_folder
from orchestration.dbt.build import build_without_failing, dbt_resource
from orchestration.environment import HomeSettings
from orchestration.home import code_version
from orchestration.session import RefreshSession
from orchestration.skipped_runs import HomeSources, rebuilds_all


def resources(settings: HomeSettings, whole: Collection[dg.AssetKey] = ()) -> dict[str, Any]:
    """Build every resource; `whole` are all assets, of which a run may be skipped where nothing is new."""
    home = settings.home
    return {
        "warehouse": dg.ResourceDefinition(lambda context: _warehouse_of(settings, _tags(context)), config_schema={}),
        "sources": bound(lambda context: HomeSources.of(settings, whole, _tags(context))),
        "report": bound(
            lambda _: ReportFolder(
                path=str(home.working_reports),
                parts=str(cache_folder(home)),
                publications=str(home.publications),
                keep=settings.keep_publications,
                fresh_hours=settings.freshness_hours,
            )
        ),
        "session": bound(
            lambda _: RefreshSession(
                working_file=str(home.working_file),
                lock_file=str(home.lock_file),
                home=str(home.root),
                sources=str(home.sources),
                privacy_key=str(settings.privacy_key),
                keep_runs_days=settings.keep_runs_days,
            )
        ),
        "dbt": bound(lambda _: dbt_resource(home)),
        # Assets pass no values to each other. Dagster's default would accept a folder from a run's configuration.
        "io_manager": dg.IOManagerDefinition(resource_fn=lambda _: dg.InMemoryIOManager(), config_schema={}),
    }


def _tags(context: dg.InitResourceContext) -> Mapping[str, str]:
    return context.run.tags if context.run else {}


def _warehouse_of(settings: HomeSettings, tags: Mapping[str, str]) -> Iterator[OpenWarehouse]:
    """Name the files of a home, with the limits of the settings, and close them when the run ends."""
    warehouse = OpenWarehouse(
        path=str(settings.home.working_file),
        publication=str(settings.home.publication),
        memory_limit=settings.memory_limit,
        threads=settings.threads,
        version="" if rebuilds_all(settings, tags) else code_version(),
        rebuild=partial(build_without_failing, settings),
    )
    with closing(warehouse):
        yield warehouse


def bound(make: Callable[[dg.InitResourceContext], dg.ConfigurableResource]) -> dg.ResourceDefinition:
    """Make a resource that is new for each run, which it may ask for its tags, and refuses all configuration.

    Dagster lets a run's configuration replace any field of a `ConfigurableResource`. Through the web server that would
    let a request name the program that is run for dbt.
    """

    def provide(context: dg.InitResourceContext) -> Iterator[Any]:
        with make(context).yield_for_execution(context) as resource:
            yield resource

    return dg.ResourceDefinition(resource_fn=provide, config_schema={})
