"""The environment, read in one place: which home, which sources, which timezone the schedule keeps."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from assets.raw.folder import SourcesFolder
from assets.report.folder import ReportFolder
from assets.warehouse import Warehouse
from orchestration.dbt import dbt_resource
from orchestration.home import Home
from orchestration.session import RefreshSession

HOME = "FAULTLINE_HOME"
SOURCES = "FAULTLINE_SOURCES"
FULL = "FAULTLINE_FULL"
SCHEDULE = "FAULTLINE_SCHEDULE"
SCHEDULE_TIMEZONE = "FAULTLINE_TIMEZONE"
MEMORY = "FAULTLINE_MEMORY"


def current_home() -> Home:
    """Return the home of this process: FAULTLINE_HOME, by default `data` in the current folder."""
    sources = os.environ.get(SOURCES)
    return Home.at(Path(os.environ.get(HOME) or "data"), Path(sources) if sources else None)


def choose_home(home: Path | None, sources: Path | None, full: bool = False) -> Home:
    """Let the command line's options win over the environment, for this process and those it starts."""
    if home:
        os.environ[HOME] = str(home)
    if sources:
        os.environ[SOURCES] = str(sources)
    if full:
        os.environ[FULL] = "1"
    chosen = current_home()
    os.environ[HOME], os.environ[SOURCES] = str(chosen.root), str(chosen.sources)
    os.environ["DAGSTER_HOME"] = str(chosen.dagster)
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    return chosen


def schedule_settings() -> tuple[str, str]:
    """Return the nightly schedule's cron line and IANA timezone."""
    return os.environ.get(SCHEDULE) or "0 2 * * *", os.environ.get(SCHEDULE_TIMEZONE) or "UTC"


def resources(home: Home) -> dict[str, Any]:
    """Build every resource the assets ask for by name."""
    return {
        "warehouse": Warehouse(path=str(home.working_file), memory_limit=os.environ.get(MEMORY, "")),
        "sources": SourcesFolder(path=str(home.sources), full=os.environ.get(FULL) == "1"),
        "report": ReportFolder(path=str(home.working_reports)),
        "session": RefreshSession(working_file=str(home.working_file), lock_file=str(home.lock_file)),
        "dbt": dbt_resource(home),
    }
