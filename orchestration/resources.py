"""What the assets ask for by name, bound to one home."""

from __future__ import annotations

from typing import Any

from assets.raw.folder import SourcesFolder
from assets.report.folder import ReportFolder
from assets.warehouse import Warehouse
from orchestration.dbt import dbt_resource
from orchestration.environment import Settings
from orchestration.home import BUILT, Home
from orchestration.session import RefreshSession


def resources(home: Home, settings: Settings) -> dict[str, Any]:
    """Build every resource."""
    return {
        "warehouse": Warehouse(
            path=str(home.working_file),
            publication=str(home.publication),
            memory_limit=settings.memory_limit,
            threads=settings.threads,
        ),
        "sources": SourcesFolder(path=str(home.sources), full=settings.is_full),
        "report": ReportFolder(path=str(home.working_reports), parts=str(BUILT)),
        "session": RefreshSession(working_file=str(home.working_file), lock_file=str(home.lock_file)),
        "dbt": dbt_resource(home, settings),
    }
