"""Why a refresh failed, in one message with the next step."""

from __future__ import annotations

import logging
import os
import re
import shutil
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import duckdb

from assets.bad_clusters.errors import kind_of, said_by_the_machine
from assets.sources.text.masking import mask
from assets.sql import literal
from assets.warehouse import HELD
from orchestration.home import Home, code_version
from orchestration.upkeep.healing import is_damage
from orchestration.upkeep.holder import holder_of

if TYPE_CHECKING:
    from dagster import DagsterEvent, ExecuteInProcessResult

FULL_DISK_BYTES = 1_000_000  # SQLite, DuckDB and Python each word a full disk in their own way
INTERRUPTIONS = {"KeyboardInterrupt", "DagsterExecutionInterruptedError", "InterruptException"}
NOT_PUBLISHED = "nothing was published"
DUCKDB_INTERRUPTED = "Query interrupted"
DBT_TELLS_NOTHING = "dbt could not be run"
_HELD_BY = re.compile(rf'{HELD} "(?P<file>[^"]*)".*PID (?P<process>\d+)')
EXPLAIN_THEMSELVES = {
    "SourceError",
    "SourceErrors",
    "RefreshRunning",
    "Failure",
    "UnreadableSettings",
    "WrongKey",
    "DbtKilled",
    "WouldLoseLines",
}


class RefreshFailed(Exception):
    """A refresh that published nothing; its text says why and what to do next.

    Attributes
    ----------
    run_id
        The run that failed, if one was started.
    is_alert
        An alert reports it to those who do not read the terminal.
    """

    def __init__(self, message: str, run_id: str | None = None, *, is_alert: bool = True) -> None:
        super().__init__(message)
        self.run_id, self.is_alert = run_id, is_alert


class RefreshInterrupted(RefreshFailed):
    """A refresh that was stopped by Ctrl-C or SIGTERM, perhaps when readers saw what it had built already."""

    def __init__(self, *, has_published: bool = False) -> None:
        super().__init__(
            "stopped by Ctrl-C or SIGTERM; it had published, and the publication is complete; `faultline refresh` sends"
            " what is left to tell of it"
            if has_published
            else "stopped by Ctrl-C or SIGTERM; nothing was published, readers see the last publication as before; "
            "`faultline refresh` takes up what was read",
            is_alert=False,
        )


def was_interrupted(result: ExecuteInProcessResult) -> bool:
    """Return whether a step ended by Ctrl-C, of which DuckDB makes an error of its own."""
    return was_interrupted_by(result.all_events)


def was_interrupted_by(events: Iterable[DagsterEvent]) -> bool:
    """Tell the same of the events of a run."""
    return any(error.cls_name in INTERRUPTIONS or DUCKDB_INTERRUPTED in error.message for error in _errors_of(events))


def may_be_of_damage(result: ExecuteInProcessResult) -> bool:
    """Return whether a run may have failed because a DuckDB file is damaged; dbt may end without a reason."""
    for error in [] if result.success else _errors_of(result.all_events):
        kind = kind_of(error.message)
        if kind == "fatal" or (kind and is_damage(error.message)) or DBT_TELLS_NOTHING in error.message:
            return True
    return False


def _errors_of(events: Iterable[DagsterEvent]) -> Iterator[Any]:
    """Yield the errors of a run; what fails while a step is being stopped has the interruption as its context."""
    errors = [_error_of(event) for event in events if event.is_step_failure or event.is_job_failure]
    while errors:
        error = errors.pop()
        if error is not None:
            yield error
            errors += [error.cause, error.context]


def _error_of(event: DagsterEvent) -> Any:
    # A run that somebody else marked as failed has no data.
    data = event.step_failure_data if event.is_step_failure else event.job_failure_data
    return data.error if data else None


def explain_result(result: ExecuteInProcessResult, home: Home) -> str:
    """Explain a failed run: by the checks that stopped it or, if there are none, by the first error of a step."""
    return explain_events(result.all_events, result.run_id, home)


def explain_events(events: Iterable[DagsterEvent], run_id: str, home: Home, *, reads_checks: bool = True) -> str:
    """Explain the same of a run's events; the checks are left out while another run may write them."""
    from assets.warehouse import Warehouse
    from orchestration.checks.asset_checks import failed_checks

    if reads_checks:
        with suppress(duckdb.Error), Warehouse(path=str(home.working_file)).reading() as con:
            failures = failed_checks(con, run_id)
            if failures:
                return "\n".join(["nothing was published; these checks failed:", *(f"  {line}" for line in failures)])
    for event in events:
        if event.is_step_failure or event.is_job_failure:
            return _explain_event(event, home)
    return f"the run {run_id} failed; `faultline ui` shows its log"


def note_failure(home: Home, run_id: str | None, message: str) -> None:
    """Write the reason of a failure to ops.runs, for `faultline status`.

    Without a run id the latest run gets the reason, unless it has one: then the failure came before any run.

    If it cannot be written, for instance on a full disk, the user has seen it on the terminal.
    """
    from assets.warehouse import Warehouse

    try:
        with Warehouse(path=str(home.working_file)).writing() as con:
            con.execute(
                """
                update ops.runs set message = $message
                where status = 'failed' and (
                    run_id = $run_id
                    or (
                        $run_id is null
                        and message is null
                        and run_id = (select run_id from ops.runs order by rowid desc limit 1)
                    )
                )
                """,
                {"message": message, "run_id": run_id},
            )
    except (duckdb.IOException, OSError) as error:
        logging.getLogger(__name__).warning("the reason could not be kept in ops.runs: %s", error)


def note_failed_run(home: Home, message: str) -> str | None:
    """Keep a refresh that failed before a run was started as a failed run, and return its id."""
    from assets.warehouse import Warehouse

    run_id, now = str(uuid4()), datetime.now(UTC).replace(tzinfo=None).isoformat()
    # Literals: DuckDB loads pandas to look at parameters, which takes three seconds on a busy machine.
    values = ", ".join(literal(text) for text in (run_id, now, now, "failed", code_version(), message))
    try:
        with Warehouse(path=str(home.working_file)).writing() as con:
            con.execute(
                f"insert into ops.runs (run_id, started_at, ended_at, status, code_version, message) values ({values})"
            )
    except (duckdb.Error, OSError) as error:
        logging.getLogger(__name__).warning("the reason could not be kept in ops.runs: %s", error)
        return None
    return run_id


def _explain_event(event: DagsterEvent, home: Home) -> str:
    error = _error_of(event)
    if error is None:
        return event.message or "the run failed"
    trace = error.to_string()
    while error.cause is not None:
        error = error.cause
    text = error.message.strip()
    prefix, _, rest = text.partition(": ")
    return explain(rest if rest and " " not in prefix else text, error.cls_name or "", trace, home)


def explain_error(error: BaseException, home: Home, result: str = NOT_PUBLISHED) -> str:
    """Explain an error by its first cause."""
    trace = "".join(traceback.format_exception(error))
    while error.__cause__ is not None:
        error = error.__cause__
    return explain(str(error), type(error).__name__, trace, home, result)


def explain(text: str, error_class: str, trace: str, home: Home, result: str = NOT_PUBLISHED) -> str:
    """Add to an error what was published and the next step; write the traceback of an unexpected error to a file.

    Both may quote a line of a log, so secrets are masked.
    """
    text, trace = mask(text), mask(trace)
    of_machine = said_by_the_machine(text)
    if "no space left" in of_machine or shutil.disk_usage(_existing(home.root)).free < FULL_DISK_BYTES:
        return (
            f"no space is left on the disk of {home.root}; {result} and nothing was lost; "
            "free space there or set FAULTLINE_HOME to a larger disk, then run `faultline refresh` again"
        )
    if error_class in EXPLAIN_THEMSELVES:
        return text
    first = text.splitlines()[0] if text else ""
    if of_machine and (known := _explain_file(text, first, home, result)):
        return known
    kept = home.work / "unexpected-error.txt"
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(trace, encoding="utf-8")
    except OSError:
        return f"unexpected {error_class}: {first}; {result}; details:\n{trace}"
    return f"unexpected {error_class}: {first}; {result}; details: {kept}"


def _explain_file(text: str, first: str, home: Home, result: str) -> str | None:
    """Explain why the system or DuckDB did not open, read or write a file."""
    if any(words in text.lower() for words in ("read-only file system", "permission denied")):
        return (
            f"{home.root} cannot be written ({first}); {result}; what is published can be read as"
            " before; make it writable for this user or name another with --home, then run `faultline refresh` again"
        )
    if held := _HELD_BY.search(text):
        return (
            f"{held['file']} is held by {holder_of(held['process'])}; {result}; end that process, or wait"
            " until it ends, then run `faultline refresh` again"
        )
    if "input/output error" in text.lower():
        return (
            f"the disk of {home.root} does not work ({first}); {result}; check the disk, then run"
            " `faultline refresh` again"
        )
    return None


def _existing(path: Path) -> Path:
    return path if os.path.exists(path) else _existing(path.parent)  # noqa: PTH110 -- Path.exists() may raise
