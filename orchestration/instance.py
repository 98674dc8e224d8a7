"""Dagster's own storage inside the home: one run at a time, runs retried when a process dies, telemetry off."""

from __future__ import annotations

import logging
import sqlite3
from functools import cache
from typing import Any

from sqlalchemy import create_engine
from sqlalchemy.engine import Engine
from sqlalchemy.event import listens_for
from sqlalchemy.pool import SingletonThreadPool

from orchestration.home import Home
from orchestration.refresh.healing import heal_run_history

SETTINGS = """\
telemetry:
  enabled: false
concurrency:
  runs:
    max_concurrent_runs: 1
  pools:
    default_limit: 1
    granularity: op
run_retries:
  enabled: true
  max_retries: 2
  retry_on_asset_or_op_failure: false
"""
BUSY_SECONDS = 30
"""As long as Dagster itself waits for another process that writes the history."""


def prepare_storage(home: Home) -> None:
    """Write dagster.yaml, and the mark that spares a user the community dialog on the first page."""
    heal_run_history(home, logging.getLogger(__name__).warning)
    home.dagster.mkdir(parents=True, exist_ok=True)
    settings = home.dagster / "dagster.yaml"
    if not settings.exists() or settings.read_bytes() != SETTINGS.encode():
        settings.write_text(SETTINGS, encoding="utf-8")
    seen = home.dagster / ".nux" / "nux.yaml"
    if not seen.exists():
        seen.parent.mkdir(exist_ok=True)
        seen.write_text("seen: 1\n", encoding="utf-8")


def write_history_without_waiting() -> None:
    """Let this process write Dagster's event log without an fsync per event: 900 events cost 15 s otherwise.

    A power cut may then cost the history of runs, never data: the warehouse is flushed before it is published.
    Dagster makes a database engine and opens the file for each event; here one engine and one connection serve for all.
    """
    from dagster._core.storage.event_log.sqlite import sqlite_event_log
    from dagster._core.storage.runs.sqlite import sqlite_run_storage

    for storage in (sqlite_event_log, sqlite_run_storage):
        vars(storage)["create_engine"] = _engine_of_file

    @listens_for(Engine, "connect")
    def relax(connection: Any, _: Any) -> None:
        if isinstance(connection, sqlite3.Connection):
            connection.execute("pragma synchronous = off")


class KeptConnections(SingletonThreadPool):
    """A connection per thread that stays open when Dagster, done with an event, disposes of its engine."""

    def dispose(self) -> None:
        """Do nothing."""

    def recreate(self) -> KeptConnections:
        """Go on with the same connections."""
        return self


@cache
def _engine_of(address: str) -> Engine:
    return create_engine(address, poolclass=KeptConnections, connect_args={"timeout": BUSY_SECONDS})


def _engine_of_file(address: str, **_: Any) -> Engine:
    return _engine_of(address)
