"""The life of a refresh, in its order, whoever starts it.

Fetch logs, lock the home, check settings, set damaged files aside, follow privacy, ask whether anything is new, build
and publish by Dagster's job, tell people. The command runs it in its own process. The schedule, the sensor and the jobs
of the web UI start the command (`orchestration/jobs.py`).
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from rich.console import Console

from assets.sources.text.privacy_key import WrongKey
from assets.warehouse import is_interruption
from orchestration import terminal
from orchestration.alerts.sending import tell_of_failure, tell_of_publication
from orchestration.environment import HomeSettings, collect_garbage_seldom
from orchestration.failures import (
    INTERRUPTIONS,
    NOT_PUBLISHED,
    RefreshFailed,
    RefreshInterrupted,
    explain_error,
    explain_result,
    may_be_of_damage,
    note_failure,
    was_interrupted,
)
from orchestration.home import Home, code_version
from orchestration.metrics.collecting import keep_metrics
from orchestration.open_lineage.sending import send_failure, send_publication
from orchestration.publication.folders import (
    newest_publication,
    problem_of_current,
    put_back_link,
    was_published,
)
from orchestration.publication.freshness import is_up_to_date
from orchestration.refresh.outcome import Outcome, read_outcome
from orchestration.refresh.privacy import follow_privacy
from orchestration.refresh.progress import ProgressHandler, progress_logger
from orchestration.refresh.wrong_settings import stop_at_wrong_settings
from orchestration.terminal import redirect_other_output
from orchestration.upkeep.healing import Say, heal
from orchestration.upkeep.lock import RefreshLock, RefreshRunning
from orchestration.upkeep.permissions import WrongGroup, private_files, set_permissions

if TYPE_CHECKING:
    from dagster import DagsterInstance, ExecuteInProcessResult

AFTER_MARTS = {"inputs", "estimates", "report", "published"}
"""Schemas that are made of marts."""


def run_refresh(settings: HomeSettings, console: Console) -> Outcome:
    """Refresh a home; tell people how it ended, and raise `RefreshFailed` with the reason in words if it failed."""
    try:
        return _refresh_alone(settings, console)
    except RefreshFailed as error:
        if error.is_alert:
            tell_of_failure(settings, str(error), error.run_id, to_stderr)
            send_failure(settings, error.run_id, str(error), to_stderr)
            # Where the home cannot be written, the failure says so already.
            if settings.metrics_file or os.access(settings.home.work, os.W_OK):
                keep_metrics(settings, to_stderr)
        raise


def _refresh_alone(settings: HomeSettings, console: Console) -> Outcome:
    home, before = settings.home, None
    try:
        before = newest_publication(home)
        check_sources_of_a_new_home(home)
        # Fetching logs may take hours at first, and only adds files to the sources: the home is not locked for it.
        if settings.is_pulling:
            _pull(settings, console)
        with private_files():
            # The lock comes first: a second refresh must not touch the files that the first one works on.
            with RefreshLock(home.lock_file):
                set_permissions(home, settings.publish_group)
                outcome = _refresh(settings, console)
            # The working file is read for them, which is not done while a refresh holds the lock.
            keep_metrics(settings, to_stderr)
            return outcome
    except (RefreshRunning, WrongGroup, WrongKey) as error:
        # The refresh that runs tells of its own end.
        raise RefreshFailed(str(error), is_alert=not isinstance(error, RefreshRunning)) from None
    except RefreshFailed:
        raise
    except (Exception, KeyboardInterrupt) as error:
        has_published = False
        with suppress(OSError):  # The home may be what cannot be read.
            has_published = newest_publication(home) != before
        if is_interruption(error):
            raise RefreshInterrupted(has_published=has_published) from None
        result = "the new publication is complete" if has_published else NOT_PUBLISHED
        raise RefreshFailed(explain_error(error, home, result)) from error


def check_sources_of_a_new_home(home: Home) -> None:
    """Refuse a new home without sources, or with none that can be read, before any folder is made."""
    if not home.work.exists():
        stop_at_wrong_settings(home, lambda _line: None)
        from assets.sources.errors import SourceErrors
        from assets.sources.intake.find.folder import cluster_folders

        try:
            cluster_folders(home.sources)
        except SourceErrors as error:
            raise RefreshFailed(explain_error(error, home)) from None


def _pull(settings: HomeSettings, console: Console) -> None:
    """Fetch the logs of the clusters that are pulled."""
    from orchestration.pull.clusters import clusters_to_pull

    clusters = clusters_to_pull(settings.home.sources)
    if not clusters:
        return
    from orchestration.pull.clusters import pull_all
    from orchestration.pull.progress import PullProgress, lines_of

    with PullProgress(", ".join(clusters), console) as progress:
        results = pull_all(clusters, settings.home, progress.say)
    for result in results:
        for line in lines_of(result):
            console.print(line)


def _refresh(settings: HomeSettings, console: Console) -> Outcome:
    started = time.monotonic()
    home = settings.home
    say = console.print
    stop_at_wrong_settings(home, to_stderr)
    has_damage = _heal(home, say)
    follow_privacy(settings, say)
    is_asked = settings.is_full or settings.is_from_marts
    result = _build(settings, console) if has_damage or is_asked or not is_up_to_date(home) else None
    tell_of_publication(settings, to_stderr)
    outcome = read_outcome(home, "unchanged" if result is None else "published", started)
    if result is not None:
        outcome.checks["warned"] += warnings_of_report(result)
        send_publication(settings, result.run_id, to_stderr)
    return outcome


def _heal(home: Home, say: Say) -> bool:
    """Set aside damaged files and report a damaged publication; return whether there was any damage."""
    put_back = put_back_link(home)
    if put_back is not None:
        say(f"the link to what readers see was lost: they see publication {put_back.number} until there is a newer one")
    problem = problem_of_current(home)
    if problem is not None:
        say(f"{home.published_file} was damaged ({problem}): what readers see is published anew")
    return heal(home, say) or problem is not None


def _build(settings: HomeSettings, console: Console) -> ExecuteInProcessResult:
    """Run Dagster's job, which publishes at its end; once more where a file turns out to be damaged in its middle."""
    home = settings.home
    collect_garbage_seldom()
    try:
        _prepare(home, console.print)
        result = _execute(settings, console)
        if not was_interrupted(result) and may_be_of_damage(result) and heal(home, console.print, deep=True):
            # Damage in the middle of a file is found only when that part is read.
            result = _execute(settings, console)
    except BaseException as error:
        # Dagster's error for an interruption is a BaseException.
        if not (is_interruption(error) if isinstance(error, Exception) else type(error).__name__ in INTERRUPTIONS):
            raise
        note_failure(home, None, str(RefreshInterrupted()))
        raise RefreshInterrupted from None
    if result.success:
        return result
    if was_interrupted(result):
        interrupted = RefreshInterrupted(has_published=was_published(home, result.run_id))
        note_failure(home, result.run_id, str(interrupted))
        raise interrupted
    message = explain_result(result, home)
    note_failure(home, result.run_id, message)
    raise RefreshFailed(message, result.run_id)


def warnings_of_report(result: ExecuteInProcessResult) -> int:
    """Count the failed checks of the report, which is made after `ops.checks` is published."""
    found = result.get_asset_check_evaluations()
    return sum(not check.passed for check in found if check.asset_key.path[0] == "report")


def to_stderr(text: str) -> None:
    """Print a line that is no part of the answer."""
    terminal.say(text, is_error=True)


def _prepare(home: Home, say: Say) -> None:
    from orchestration.instance import prepare_storage

    newest = newest_publication(home)
    if newest and newest.code_version not in ("", code_version()):
        made_by = newest.code_version
        say(f"the last publication was made by Faultline {made_by}: this is {code_version()}, and all is built anew")
    prepare_storage(home, say)


def _execute(settings: HomeSettings, console: Console) -> ExecuteInProcessResult:
    from orchestration.instance import open_storage

    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    with ProgressHandler(console) as handler, open_storage(settings.home) as instance:
        return _execute_job(settings, console, handler, instance)


def _execute_job(
    settings: HomeSettings, console: Console, handler: ProgressHandler, instance: DagsterInstance
) -> ExecuteInProcessResult:
    import dagster as dg

    from orchestration import definitions
    from orchestration.session import recorded
    from orchestration.stages import record_stages
    from orchestration.upkeep.dead_runs import BUILD, end_runs_of_refreshes
    from orchestration.upkeep.old_runs import KEPT_DAYS, delete_old_runs

    loggers = dg.Definitions(loggers={"progress": progress_logger(handler)})
    handler.show("parsing the dbt project")
    built = dg.Definitions.merge(definitions.build(settings, is_refresh=True), loggers)
    job = built.resolve_job_def(BUILD)
    chosen = job.asset_layer.selected_asset_keys
    if settings.is_from_marts:
        chosen = {key for key in chosen if key.path[0] in AFTER_MARTS}
    handler.totals = Counter(key.path[0] for key in chosen)
    run_id = str(uuid4())
    # dagster-dbt repeats dbt's log on stdout; the log itself is kept beside the working file.
    with (
        recorded(settings.home, run_id) as file,
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_other_output(settings.home.other_output, console),
    ):
        end_runs_of_refreshes(instance, settings.home)
        settings.home.unfinished_run.write_text(run_id, encoding="utf-8")
        try:
            result = job.execute_in_process(
                instance=instance,
                run_id=run_id,
                raise_on_error=False,
                run_config={"loggers": {"progress": {}}},
                asset_selection=list(chosen) if settings.is_from_marts else None,
            )
        finally:
            # This run too, where it could not write how it ended.
            end_runs_of_refreshes(instance, settings.home)
    with file.writing() as con:
        # The stage of publication has ended only now.
        record_stages(con, instance, run_id)
    delete_old_runs(instance, KEPT_DAYS, run_id)
    return result
