"""The session of a Dagster run on a home: its lock, the repair of the home, its row in ops.runs, and its report.

A session begins at the run's first write, because pulling logs may take hours, and ends after its last step. A run
of selected assets is no refresh: it publishes nothing, and its row is deleted at its end. Its rows in ops.checks and
ops.cluster_failures stay; if it is killed, its row in ops.runs stays as failed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime

import dagster as dg
import duckdb
from sqlalchemy.exc import SQLAlchemyError

from assets.warehouse import OpenWarehouse, Warehouse, is_interruption
from orchestration.alerts.sending import tell_of_failure
from orchestration.dbt.processes import end_started
from orchestration.lifecycle.reporting import report_end
from orchestration.publication.folders import problem_of_current, put_back_link, remove_leftovers, was_published
from orchestration.pull.clusters import clusters_to_pull
from orchestration.pull.outcomes import last_outcome, record_pulls
from orchestration.runs.dead_runs import end_runs_of_commands
from orchestration.runs.old_runs import KEPT_DAYS, delete_old_runs
from orchestration.runs.refresh_errors import (
    RefreshInterrupted,
    explain_events,
    is_quiet,
    may_be_of_damage,
    was_interrupted,
)
from orchestration.runs.stages import record_stages
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home, code_version
from orchestration.upkeep.healing import heal, remove_scratch
from orchestration.upkeep.lock import RefreshLock
from orchestration.upkeep.permissions import private_files, set_permissions

Say = Callable[[str], None]
DIED = (
    "it stopped without an end: its process was killed, memory ran out, or the machine restarted; look for"
    ' "Out of memory" in `dmesg`, and lower FAULTLINE_MEMORY if it is there; what was read stays, and the next run'
    " continued from it"
)
STOPPED = "it was stopped between two steps; nothing was published; `faultline refresh` continues from what was read"


@dataclass
class Caller:
    """Who runs the job: how long it waits for the home, where its lines go, and whether its outcome was reported."""

    patience_seconds: float = 60
    say: Say | None = None
    """Where lines for people go; None: to the log of the run."""
    has_reported: bool = False


class Session:
    """A run's hold on a home.

    Parameters
    ----------
    settings
        The home, and where reports go.
    run, instance
        The run, and Dagster's storage.
    caller
        Who runs it.
    say
        Called with a line for people.
    is_whole
        The run makes everything, and publishes it.
    """

    def __init__(
        self,
        settings: HomeSettings,
        run: dg.DagsterRun,
        instance: dg.DagsterInstance,
        caller: Caller,
        say: Say,
        *,
        is_whole: bool,
    ) -> None:
        self._settings, self._run, self._instance, self._caller, self._say = settings, run, instance, caller, say
        self.is_whole = is_whole
        self._held: ExitStack | None = None
        self._has_read_deep = False
        self._died: list[str] = []

    def begin(self) -> None:
        """Take the home's lock, repair the home and open the run's row, unless that is done.

        Raises
        ------
        RefreshRunning
            Another process holds the lock.
        """
        if self._held is not None:
            return
        home = self._settings.home
        with ExitStack() as stack:
            stack.enter_context(private_files())
            # The lock comes first: a second run must not touch the files that the first one works on.
            stack.enter_context(RefreshLock(home.lock_file, self._caller.patience_seconds))
            set_permissions(home, self._settings.publish_group)
            self._heal()
            self._died = open_row(home, self._run.run_id)
            self._held = stack.pop_all()
        end_runs_of_commands(self._instance, home, but=self._run.run_id)
        home.unfinished_run.write_text(self._run.run_id, encoding="utf-8")

    def _heal(self) -> None:
        home = self._settings.home
        put_back = put_back_link(home)
        if put_back is not None:
            self._say(
                f"the link to what readers see was lost: they see publication {put_back.number} until there is a newer"
                " one"
            )
        problem = problem_of_current(home)
        if problem is not None:
            self._say(f"{home.published_file} was damaged ({problem}): what readers see is published again")
        self._has_read_deep = home.damage_suspected.exists()
        heal(home, self._say, deep=self._has_read_deep, is_full=self._settings.is_full)
        home.damage_suspected.unlink(missing_ok=True)

    def end(self) -> None:
        """Close the run's row, release the lock and report; every problem becomes a line.

        Dagster sets a run's status only after its resources are closed: it failed if a step did. If no step failed and
        nothing was published, the process that started the run knows why.
        """
        end_started()
        run_id, home, has_begun = self._run.run_id, self._settings.home, self._held is not None
        has_published = has_begun and was_published(home, run_id)
        events = self._failures()
        is_unexplained = has_begun and self.is_whole and not (has_published or events)
        message = STOPPED if is_unexplained else None
        if was_interrupted(events):
            message = str(RefreshInterrupted(has_published=has_published))
        elif events:
            message = explain_events(events, run_id, home, reads_checks=has_begun)
        is_suspected = may_be_of_damage(events) and not (self._has_read_deep or was_interrupted(events))
        with self._held or nullcontext():
            if has_begun:
                self._close(message, is_suspected=is_suspected)
        self._held = None
        for died in self._died:
            self._say(f"the run {died} before this one: {DIED}")
            tell_of_failure(self._settings, DIED, died, self._say)
        if is_unexplained or is_suspected or is_quiet(events):
            return
        self._caller.has_reported = True
        if message is not None or self.is_whole:
            report_end(self._settings, self._say, message, run_id, has_published=has_published)

    def _failures(self) -> list[dg.DagsterEvent]:
        try:
            records = self._instance.all_logs(self._run.run_id, of_type=dg.DagsterEventType.STEP_FAILURE)
        except (OSError, SQLAlchemyError, dg.DagsterError) as error:
            self._say(f"how the run ended could not be read: {' '.join(str(error).split())}")
            return []
        return [record.dagster_event for record in records if record.dagster_event is not None]

    def _close(self, message: str | None, *, is_suspected: bool) -> None:
        home, run_id = self._settings.home, self._run.run_id
        try:
            if is_suspected:
                home.damage_suspected.touch()
            close_row(home, run_id, message, is_refresh=self.is_whole)
            with Warehouse(path=str(home.working_file)).writing() as con:
                # The stage of publication ends only here.
                record_stages(con, self._instance, run_id)
            delete_old_runs(self._instance, KEPT_DAYS, run_id)
            home.unfinished_run.unlink(missing_ok=True)
        except (OSError, duckdb.Error, SQLAlchemyError, dg.DagsterError) as error:
            self._say(f"how the run ended could not be written: {' '.join(str(error).split())}")


def open_row(home: Home, run_id: str) -> list[str]:
    """Open a run's row in ops.runs and clean up after killed runs; return these runs, which are not reported yet."""
    outcomes = [last_outcome(home, cluster_id) for cluster_id in clusters_to_pull(home.sources)]
    with Warehouse(path=str(home.working_file)).writing() as con:
        remove_leftovers(home)
        remove_scratch(home)
        mark_unpublished_run_as_failed(con, home)
        died = con.execute(
            "update ops.runs set status = 'failed', ended_at = started_at, message = $message where status = 'running'"
            " returning run_id",
            {"message": DIED},
        ).fetchall()
        con.execute("insert into ops.runs values (?, ?, null, 'running', ?, null)", [run_id, _now(), code_version()])
        record_pulls(con, run_id, outcomes)
    return [run_id for (run_id,) in died]


def mark_unpublished_run_as_failed(con: duckdb.DuckDBPyConnection, home: Home) -> None:
    """Mark the last run as failed if it was killed between recording its publication and showing it to readers."""
    last = con.execute("select run_id from ops.published order by rowid desc limit 1").fetchone()
    if last is None or was_published(home, last[0]):
        return
    con.execute(
        "update ops.runs set status = 'failed', message = 'stopped before its publication was finished'"
        " where run_id = ?",
        [last[0]],
    )
    con.execute("delete from ops.published where run_id = ?", [last[0]])


def close_row(home: Home, run_id: str, message: str | None, *, is_refresh: bool) -> None:
    """Mark a run as failed unless it was published; delete the row of a run that is no refresh."""
    with Warehouse(path=str(home.working_file)).writing() as con:
        if is_refresh:
            con.execute(
                "update ops.runs set status = 'failed', ended_at = ?, message = ? where run_id = ? and"
                " status = 'running'",
                [_now(), message, run_id],
            )
        else:
            con.execute("delete from ops.runs where run_id = ?", [run_id])


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)


@dataclass(frozen=True, kw_only=True)
class SessionWarehouse(OpenWarehouse):
    """A warehouse that begins its run's session when it is first opened."""

    session: Session = field(repr=False, compare=False)

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """Yield a connection to the open files; turn DuckDB's error for a signal into Dagster's, which ends the run."""
        try:
            self.session.begin()
            with super().writing() as con:
                yield con
        except Exception as error:
            if is_interruption(error):
                raise dg.DagsterExecutionInterruptedError from error
            raise
