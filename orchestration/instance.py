"""Dagster's own storage inside the home: one run at a time, runs retried when a process dies, telemetry off."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from orchestration.environment import given_to_dagster
from orchestration.home import Home
from orchestration.upkeep.healing import heal_run_history

if TYPE_CHECKING:
    from dagster import DagsterInstance

SETTINGS = """\
telemetry:
  enabled: false
run_storage:
  module: orchestration.history
  class: RunHistory
  config:
    dagster_home:
      env: DAGSTER_HOME
event_log_storage:
  module: orchestration.history
  class: EventHistory
  config:
    dagster_home:
      env: DAGSTER_HOME
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


def prepare_storage(home: Home) -> None:
    """Write dagster.yaml, and the mark by which Dagster's pages do not open with their community dialog."""
    heal_run_history(home, logging.getLogger(__name__).warning)
    home.dagster.mkdir(parents=True, exist_ok=True)
    settings = home.dagster / "dagster.yaml"
    if not settings.exists() or settings.read_bytes() != SETTINGS.encode():
        settings.write_text(SETTINGS, encoding="utf-8")
    seen = home.dagster / ".nux" / "nux.yaml"
    if not seen.exists():
        seen.parent.mkdir(exist_ok=True)
        seen.write_text("seen: 1\n", encoding="utf-8")


@contextmanager
def open_storage(home: Home) -> Iterator[DagsterInstance]:
    """Open the storage that was prepared, and close it afterwards."""
    from dagster import DagsterInstance

    with given_to_dagster(home):
        opened = DagsterInstance.get()
    with opened as instance:
        yield instance
