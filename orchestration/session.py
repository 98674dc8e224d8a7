"""One refresh at a time, and a row in ops.runs for each: the resource that opens and closes a run.

It writes the run's row when the run starts and closes it when the run ends, so that `faultline status` also shows
failed and killed runs. It refuses to start while another process refreshes the home.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import dagster as dg
import duckdb
from pydantic import PrivateAttr
from sqlalchemy.exc import SQLAlchemyError

from assets.warehouse import Warehouse
from orchestration.dbt.processes import end_started
from orchestration.home import Home, code_version
from orchestration.publication.folders import remove_leftovers, was_published
from orchestration.stages import record_stages
from orchestration.upkeep.healing import Say, heal, heal_schema, remove_scratch
from orchestration.upkeep.lock import RefreshLock, lock_of_session, wait_until_free
from orchestration.upkeep.old_runs import delete_old_runs
from orchestration.upkeep.permissions import private_files
from orchestration.upkeep.privacy import require_no_change


class RefreshSession(dg.ConfigurableResource):
    """Holds the lock and the run's row in ops.runs from the first step to the last.

    Attributes
    ----------
    working_file, lock_file
        Absolute paths.
    home
        Absolute path of the home. If it is empty, publications are not looked after.
    sources, privacy_key
        Where the settings of the clusters and the key of pseudonyms are.
    keep_runs_days
        For how long Dagster's history is kept.
    patience_seconds
        How long to wait for processes that a killed refresh left behind.
    """

    working_file: str
    lock_file: str
    home: str = ""
    sources: str = ""
    privacy_key: str = ""
    keep_runs_days: int = 90
    patience_seconds: float = 600
    _lock: RefreshLock | None = PrivateAttr(default=None)
    _umask: ExitStack = PrivateAttr(default_factory=ExitStack)

    def setup_for_execution(self, context: dg.InitResourceContext) -> None:
        """Take the lock, clean up after a killed refresh, and open the run's row."""
        self._umask.enter_context(private_files())
        try:
            self._lock = lock_of_session(Path(self.lock_file))
            wait_until_free(Path(self.working_file), self.patience_seconds)
            if self.home and self.privacy_key:
                home = Home.at(Path(self.home), Path(self.sources) if self.sources else None)
                require_no_change(home, Path(self.privacy_key))
            if self.home and self._lock is not None:
                # `faultline refresh` does this before it starts the run, and then hands its lock over.
                heal_before_a_run(Home.at(Path(self.home)), logging.getLogger(__name__).warning)
            self._open_run(_run_id(context))
        except BaseException:
            self._release()
            raise

    def _open_run(self, run_id: str) -> None:
        with Warehouse(path=self.working_file).writing() as con:
            if self.home:
                home = Home.at(Path(self.home))
                remove_leftovers(home)
                remove_scratch(home)
                mark_unpublished_run_as_failed(con, home)
            con.execute(
                "update ops.runs set status = 'failed', ended_at = started_at, message = 'stopped without an end'"
                " where status = 'running'"
            )
            con.execute(
                "insert into ops.runs values (?, ?, null, 'running', ?, null)",
                [run_id, _now(), code_version()],
            )

    def teardown_after_execution(self, context: dg.InitResourceContext) -> None:
        """Close the run's row as failed unless publication closed it, note its stages, then release the lock."""
        end_started()
        try:
            with Warehouse(path=self.working_file).writing() as con:
                con.execute(
                    "update ops.runs set status = 'failed', ended_at = ? where run_id = ? and status = 'running'",
                    [_now(), _run_id(context)],
                )
                if context.instance is not None:
                    record_stages(con, context.instance, _run_id(context))
            if context.instance is not None:
                _delete_old_runs(context.instance, self.keep_runs_days, _run_id(context))
        finally:
            self._release()

    def _release(self) -> None:
        self._umask.close()
        if self._lock is not None:
            self._lock.release()
            self._lock = None


def _delete_old_runs(instance: dg.DagsterInstance, days: int, running: str) -> None:
    """Delete them; what goes wrong is no reason for a run to fail, and the next one tries again."""
    try:
        delete_old_runs(instance, days, running)
    except (OSError, SQLAlchemyError, dg.DagsterError) as error:
        why = " ".join(str(error).split())
        logging.getLogger(__name__).warning("old runs of Dagster's history could not be deleted: %s", why)


def heal_before_a_run(home: Home, say: Say) -> None:
    """Set aside files that are damaged or of another version; read them from end to end if the last run failed."""
    heal(home, say, deep=_last_run_failed(home.working_file))
    heal_schema(home, say)


def _last_run_failed(file: Path) -> bool:
    if not file.is_file():
        return False
    try:
        with duckdb.connect(str(file), read_only=True) as con:
            last = con.execute("select status from ops.runs order by rowid desc limit 1").fetchone()
    except duckdb.Error:
        return False
    return last is not None and last[0] != "succeeded"


def mark_unpublished_run_as_failed(con: duckdb.DuckDBPyConnection, home: Home) -> None:
    """Mark the last run as failed if it was killed after it recorded its publication and before readers saw it."""
    last = con.execute("select run_id from ops.published order by rowid desc limit 1").fetchone()
    if last is None or was_published(home, last[0]):
        return
    con.execute(
        "update ops.runs set status = 'failed', message = 'stopped before its publication was finished'"
        " where run_id = ?",
        [last[0]],
    )
    con.execute("delete from ops.published where run_id = ?", [last[0]])


def _run_id(context: dg.InitResourceContext) -> str:
    return context.run.run_id if context.run else "no-run"


def _now() -> datetime:
    return datetime.now(UTC).replace(tzinfo=None)
