"""The resources of the assets, bound to one home.

No resource accepts configuration from a run: a user who may start runs cannot choose a program, a path or a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from assets.raw.folder import SourcesFolder
from assets.report.folder import ReportFolder
from orchestration.dbt.build import dbt_resource
from orchestration.lifecycle.session import Caller, Session, SessionWarehouse
from orchestration.publication.freshness import is_up_to_date
from orchestration.runs.jobs import ASKING, Everything
from orchestration.settings.code_cache import cache_folder
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home


def resources(
    settings: HomeSettings, caller: Caller | None = None, everything: Everything | None = None
) -> dict[str, Any]:
    """Return every resource for the runs of a caller; without `everything`, each run is only a part of a refresh."""
    home = settings.home
    return {
        "warehouse": dg.ResourceDefinition(
            lambda context: _warehouse_of(settings, caller or Caller(), everything, context), config_schema={}
        ),
        "sources": bound(lambda run: _sources_of(settings, run)),
        "report": bound(
            lambda _: ReportFolder(
                path=str(home.working_reports),
                parts=str(cache_folder(home)),
                publications=str(home.publications),
                keep=settings.keep_publications,
                fresh_hours=settings.freshness_hours,
                sources=str(home.sources),
            )
        ),
        "dbt": bound(lambda _: dbt_resource(home)),
        # Assets pass no values to each other. Dagster's default would accept a folder from a run's configuration.
        "io_manager": dg.IOManagerDefinition(resource_fn=lambda _: dg.InMemoryIOManager(), config_schema={}),
    }


def _warehouse_of(
    settings: HomeSettings, caller: Caller, everything: Everything | None, context: dg.InitResourceContext
) -> Iterator[SessionWarehouse]:
    """Yield the warehouse of a home with the limits of the settings; close it and the session when the run ends."""
    if context.run is None or context.instance is None or context.log is None:
        raise dg.DagsterInvariantViolationError("the warehouse is opened by runs alone")
    say = caller.say or context.log.warning
    is_whole = settings.is_from_marts or (everything is not None and everything.is_in(context.run))
    session = Session(settings, context.run, context.instance, caller, say, is_whole=is_whole)
    warehouse = SessionWarehouse(
        path=str(settings.home.working_file),
        publication=str(settings.home.build_file),
        memory_limit=settings.memory_limit,
        threads=settings.threads,
        session=session,
    )
    try:
        yield warehouse
    finally:
        warehouse.close()
        session.end()


class AskedSources(SourcesFolder):
    """The sources folder of a scheduled run or a sensor's run, which builds only if something is new."""

    home: str

    def has_news(self) -> bool:
        """Return whether the folder or the code differ from the publication."""
        return not is_up_to_date(Home.at(Path(self.home), Path(self.path)), Path(self.privacy_key))


def _sources_of(settings: HomeSettings, run: dg.DagsterRun | None) -> SourcesFolder:
    """Return the folder; for runs of the schedule and of sensors, one that can ask for news."""
    given: dict[str, Any] = {
        "path": str(settings.home.sources),
        "privacy": str(settings.home.privacy),
        "full": settings.is_full,
        "privacy_key": str(settings.privacy_key),
    }
    if run is not None and any(tag in run.tags for tag in ASKING):
        return AskedSources(home=str(settings.home.root), **given)
    return SourcesFolder(**given)


def bound(make: Callable[[dg.DagsterRun | None], dg.ConfigurableResource]) -> dg.ResourceDefinition:
    """Return a resource that is created for each run and refuses all configuration.

    Dagster lets a run's configuration replace any field of a `ConfigurableResource`. A request to the web server could
    then choose the program that runs as dbt.
    """

    def provide(context: dg.InitResourceContext) -> Iterator[Any]:
        with make(context.run).yield_for_execution(context) as resource:
            yield resource

    return dg.ResourceDefinition(resource_fn=provide, config_schema={})
