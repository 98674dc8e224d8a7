"""The reason why a refresh failed, in one message with the next step."""

from __future__ import annotations

import os
import re
import resource
import shutil
import traceback
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from assets.bad_clusters.errors import kind_of, said_by_the_machine
from assets.sources.text.masking import mask
from assets.warehouse import HELD
from orchestration.settings.home import Home
from orchestration.upkeep.healing import is_damage
from orchestration.upkeep.holder import holder_of
from orchestration.upkeep.lock import RefreshRunning

if TYPE_CHECKING:
    from dagster import DagsterEvent

FULL_DISK_BYTES = 1_000_000  # SQLite, DuckDB and Python have different messages for a full disk
INTERRUPTIONS = {"KeyboardInterrupt", "DagsterExecutionInterruptedError", "InterruptException"}
LIBRARIES_BYTES = 3_600_000_000
"""Address space of libraries and threads: the peak in a refresh of the capture on two cores."""
NOT_PUBLISHED = "nothing was published"
DUCKDB_INTERRUPTED = "Query interrupted"
DBT_TELLS_NOTHING = "dbt could not be run"
_OUT_OF_MEMORY = {"MemoryError", "OutOfMemoryException"}
_NO_MEMORY = re.compile(
    r"cannot allocate memory|failed to map segment|can't start new thread|resource temporarily unavailable", re.I
)
"""The system's errors for missing memory or threads."""
_MAY_LACK_MEMORY = {"ImportError", "OSError", "BlockingIOError", "RuntimeError", "SystemError"}
_HELD_BY = re.compile(rf'{HELD} "(?P<file>[^"]*)".*PID (?P<process>\d+)')
EXPLAIN_THEMSELVES = {
    "SourceError",
    "SourceErrors",
    "RefreshRunning",
    "Failure",
    "UnreadableSettings",
    "WrongKey",
    "WrongGroup",
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
        Whether an alert reports it.
    """

    def __init__(self, message: str, run_id: str | None = None, *, is_alert: bool = True) -> None:
        super().__init__(message)
        self.run_id, self.is_alert = run_id, is_alert


class RefreshInterrupted(RefreshFailed):
    """A refresh that Ctrl-C or SIGTERM stopped, perhaps after it had published."""

    def __init__(self, *, has_published: bool = False) -> None:
        super().__init__(
            "stopped by Ctrl-C or SIGTERM; it had published, and the publication is complete; `faultline refresh` sends"
            " the alerts that are left"
            if has_published
            else "stopped by Ctrl-C or SIGTERM; nothing was published, readers see the last publication as before; "
            "`faultline refresh` continues from what was read",
            is_alert=False,
        )


def require_address_space(memory_limit: int) -> None:
    """Raise `RefreshFailed` if this process may not use the address space that a refresh needs.

    Under such a limit, libraries end the process silently, or wait for ever for a thread that was not started.

    Parameters
    ----------
    memory_limit
        DuckDB's memory in bytes.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    needed = memory_limit + LIBRARIES_BYTES
    if limit != resource.RLIM_INFINITY and limit < needed:
        raise RefreshFailed(
            f"this process may have {limit / 1e9:.1f} GB of address space (`ulimit -v`), and a refresh takes"
            f" {needed / 1e9:.1f} GB; {NOT_PUBLISHED}; raise that limit, or lower FAULTLINE_MEMORY, then run"
            " `faultline refresh` again"
        )


def was_interrupted(events: Iterable[DagsterEvent]) -> bool:
    """Return whether Ctrl-C ended a step of a run; DuckDB raises its own error for it."""
    return any(error.cls_name in INTERRUPTIONS or DUCKDB_INTERRUPTED in error.message for error in _errors_of(events))


def is_quiet(events: Iterable[DagsterEvent]) -> bool:
    """Return whether a run's end is not reported: somebody stopped it, or another run is in progress."""
    events = list(events)
    return was_interrupted(events) or any(error.cls_name == RefreshRunning.__name__ for error in _errors_of(events))


def may_be_of_damage(events: Iterable[DagsterEvent]) -> bool:
    """Return whether a damaged DuckDB file may have failed a run; dbt may end without a reason."""
    for error in _errors_of(events):
        kind = kind_of(error.message)
        if kind == "fatal" or (kind and is_damage(error.message)) or DBT_TELLS_NOTHING in error.message:
            return True
    return False


def _errors_of(events: Iterable[DagsterEvent]) -> Iterator[Any]:
    """Yield the errors of a run; an error while a step is being stopped has the interruption as its context."""
    errors = [_error_of(event) for event in events if event.is_step_failure or event.is_job_failure]
    while errors:
        error = errors.pop()
        if error is not None:
            yield error
            errors += [error.cause, error.context]


def _error_of(event: DagsterEvent) -> Any:
    # A run that another process marked as failed has no data.
    data = event.step_failure_data if event.is_step_failure else event.job_failure_data
    return data.error if data else None


def explain_events(events: Iterable[DagsterEvent], run_id: str, home: Home, *, reads_checks: bool = True) -> str:
    """Explain a failed run by the checks that stopped it or, if there are none, by the first error of a step.

    Without `reads_checks`, the checks are left out: another run may be writing them.
    """
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
    """Return an error with the result and the next step; write the traceback of an unexpected error to a file.

    Secrets are masked, because both may quote a line of a log.
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
    if lacks_memory(text, error_class):
        return _explain_memory(text, result)
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


def lacks_memory(text: str, error_class: str) -> bool:
    """Return whether an error reports missing memory or a missing thread."""
    if error_class in _OUT_OF_MEMORY or kind_of(text) == "out of memory":
        return True
    return error_class in _MAY_LACK_MEMORY and _NO_MEMORY.search(text) is not None


def _explain_memory(text: str, result: str) -> str:
    first = next(iter(text.splitlines()), "") or "no more was said"
    # DuckDB reports how much is used if its own limit was reached.
    is_of_duckdb = " used)" in text
    step = (
        "raise FAULTLINE_MEMORY"
        if is_of_duckdb
        else "free memory, raise the limit of the process (`ulimit -v`, the service or the container), or lower"
        " FAULTLINE_MEMORY"
    )
    return f"memory ran out ({first}); {result}; {step}, then run `faultline refresh` again"


def _explain_file(text: str, first: str, home: Home, result: str) -> str | None:
    """Return why the system or DuckDB did not open, read or write a file; None if that is not the cause."""
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
