"""Progress of a refresh on the console: a line per finished stage and, on a terminal, the current step.

It listens to Dagster's events.
"""

from __future__ import annotations

import logging
import time
from typing import Any

import dagster as dg
from rich.console import Console
from rich.markup import escape
from rich.status import Status

STAGES = ("raw", "seeds", "staging", "intermediate", "marts", "estimates", "report", "published")


class ProgressHandler(logging.Handler):
    """Turns Dagster's events into one line per stage, with a spinner for the table under way.

    Parameters
    ----------
    console
        Where to write; a terminal gets the spinner, anything else only the lines.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(logging.DEBUG)
        self.console = console
        self.started = time.monotonic()
        self._status: Status | None = console.status("starting") if console.is_terminal else None
        self._tables: dict[str, int] = {}

    def emit(self, record: logging.LogRecord) -> None:
        """Show one event: a step, a table or a message of an asset. Others are ignored."""
        meta: dict[str, Any] = getattr(record, "dagster_meta", None) or {}
        event = meta.get("dagster_event")
        if event is None:
            if meta.get("step_key"):
                self._doing(str(meta.get("orig_message", "")))
        elif event.event_type_value == "STEP_START":
            self._stage_of(str(event.step_key).split("__")[0])
            self._doing(str(event.step_key).replace("__", "."))
        elif event.event_type_value == "ASSET_MATERIALIZATION":
            stage = str(event.asset_key.path[0])
            self._tables[stage] = self._tables.get(stage, 0) + 1
            self._doing(".".join(event.asset_key.path))
        elif event.event_type_value == "ASSET_CHECK_EVALUATION":
            found = event.asset_check_evaluation_data
            # All other checks have rows in ops.checks, which the summary counts.
            if found.asset_key.path[0] == "report" and not found.passed:
                self._line(f"report       {found.description}")

    def _stage_of(self, group: str) -> None:
        """Print the stages before `group`; checks run between the stages and belong to none."""
        if group not in (*STAGES, "dbt_models"):
            return
        for stage in [name for name in STAGES if name in self._tables and name != group]:
            count = self._tables.pop(stage)
            self._line(f"{stage:<13}{count:>3} {'table' if count == 1 else 'tables'}")

    def _line(self, text: str) -> None:
        self.console.print(f"{time.monotonic() - self.started:6.1f} s  {text}")

    def _doing(self, text: str) -> None:
        if self._status is not None:
            self._status.update(escape(text.splitlines()[0][:100] if text else ""))

    def __enter__(self) -> ProgressHandler:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stage_of("dbt_models")
        if self._status is not None:
            self._status.stop()


def progress_logger(handler: ProgressHandler) -> dg.LoggerDefinition:
    """Wrap a handler as the only Dagster logger of a run."""

    def progress(_: dg.InitLoggerContext) -> logging.Logger:
        log = logging.Logger("faultline.progress", logging.DEBUG)
        log.addHandler(handler)
        return log

    return dg.LoggerDefinition(progress, description="Progress of a refresh on the console.")
