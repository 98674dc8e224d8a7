"""Progress of a refresh on the console: the current step, and a line for each complete stage.

It listens to Dagster's events. A terminal shows the current step with a clock; a log gets a line with the step after
ten seconds without output.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.status import Status

if TYPE_CHECKING:
    import dagster as dg

STAGES = ("raw", "seeds", "staging", "intermediate", "marts", "inputs", "estimates", "report", "published")
"""Schemas for which tables are counted."""
SECONDS_BETWEEN_LINES = 10.0
"""The longest silence of a log."""
MAX_CHARACTERS = 100


class ProgressHandler(logging.Handler):
    """Turns Dagster's events into lines, and into a spinner on a terminal.

    Parameters
    ----------
    console
        Where to write.

    Attributes
    ----------
    totals
        Number of tables by schema; when that many are built, the stage is complete and gets its line.
    """

    def __init__(self, console: Console) -> None:
        super().__init__(logging.DEBUG)
        self.totals: Mapping[str, int] = {}
        self._console = console
        self._started = self._written_at = time.monotonic()
        self._status: Status | None = console.status("starting") if console.is_terminal else None
        self._tables: Counter[str] = Counter()
        self._now = "starting"
        self._ended = Event()
        self._clock = Thread(target=self._tick, daemon=True)

    def emit(self, record: logging.LogRecord) -> None:
        """Show one event: a step, a table or a message of an asset; ignore others."""
        meta: dict[str, Any] = getattr(record, "dagster_meta", None) or {}
        event = meta.get("dagster_event")
        if event is None:
            message = str(meta.get("orig_message", ""))
            if meta.get("step_key"):
                # dagster-dbt prints the selection and the whole command.
                is_of_dbt = message.startswith(("A dbt ", "Running dbt command"))
                self.show("starting dbt" if is_of_dbt else message.partition(": `")[0])
        elif event.event_type_value == "STEP_START":
            self.show(str(event.step_key).replace("__", "."))
        elif event.event_type_value == "ASSET_MATERIALIZATION":
            self._count(event.asset_key.path)
        elif event.event_type_value == "ASSET_CHECK_EVALUATION":
            found = event.asset_check_evaluation_data
            # The summary counts all other checks, from ops.checks.
            if found.asset_key.path[0] == "report" and not found.passed:
                self._line(f"report       {found.description}")

    def show(self, text: str) -> None:
        """Set the current step."""
        self._now = text.splitlines()[0][:MAX_CHARACTERS] if text else ""
        if self._status is not None:
            self._status.update(escape(f"{self._seconds:.0f} s  {self._now}"))

    def _count(self, path: list[str]) -> None:
        schema = path[0]
        if schema not in STAGES:
            return
        self._tables[schema] += 1
        self.show(f"built {'.'.join(path)}: {self._tables.total():,} of {self._all:,} tables")
        if self._tables[schema] == self.totals.get(schema):
            count = self._tables[schema]
            self._line(f"{schema:<13}{count:>3} {'table' if count == 1 else 'tables'}")

    @property
    def _all(self) -> int:
        return sum(self.totals.get(schema, self._tables[schema]) for schema in STAGES)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _line(self, text: str) -> None:
        self._written_at = time.monotonic()
        self._console.print(f"{self._seconds:6.1f} s  {text}")

    def _tick(self) -> None:
        while not self._ended.wait(1.0):
            if self._status is not None:
                self.show(self._now)
            elif time.monotonic() - self._written_at >= SECONDS_BETWEEN_LINES:
                self._line(f"... {self._now}")

    def __enter__(self) -> ProgressHandler:
        if self._status is not None:
            self._status.start()
        else:
            self._line(self._now)
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._clock.join()
        for schema, count in self._tables.items():
            if count < self.totals.get(schema, 0):
                self._line(f"{schema:<13}{count:>3} of {self.totals[schema]} tables")
        if self._status is not None:
            self._status.stop()


def progress_logger(handler: ProgressHandler) -> dg.LoggerDefinition:
    """Return a handler as the only Dagster logger of a run."""
    import dagster as dg

    def progress(_: dg.InitLoggerContext) -> logging.Logger:
        log = logging.Logger("faultline.progress", logging.DEBUG)
        log.addHandler(handler)
        return log

    return dg.LoggerDefinition(progress, description="Progress of a refresh on the console.")
