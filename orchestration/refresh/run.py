"""`faultline refresh`: pull, check whether anything is new, run the same job as Dagster's own runs, and sum up.

The first two steps come before Dagster is loaded, so that a night without news takes a second. The job's lock, repair
and reports are in orchestration/lifecycle/session.py.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections import Counter
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from assets.sources.text.privacy_key import key_was_made
from assets.warehouse import is_interruption
from orchestration.lifecycle.reporting import report_end
from orchestration.publication.folders import newest_publication, was_published
from orchestration.publication.freshness import is_up_to_date
from orchestration.refresh.outcome import Outcome, read_outcome
from orchestration.refresh.progress import ProgressHandler, progress_logger
from orchestration.refresh.wrong_settings import tell_wrong_settings
from orchestration.runs.refresh_errors import (
    INTERRUPTIONS,
    NOT_PUBLISHED,
    RefreshFailed,
    RefreshInterrupted,
    explain_error,
    explain_events,
    is_quiet,
    require_address_space,
    was_interrupted,
)
from orchestration.settings.environment import HomeSettings, bytes_of, collect_garbage_seldom
from orchestration.settings.home import Home, code_version
from orchestration.terminal import output
from orchestration.terminal.output import redirect_other_output
from orchestration.upkeep.healing import Say
from orchestration.upkeep.lock import PATIENCE_SECONDS, RefreshLock, RefreshRunning
from orchestration.upkeep.permissions import private_files

if TYPE_CHECKING:
    from dagster import ExecuteInProcessResult

    from orchestration.lifecycle.session import Caller

AFTER_MARTS = {"inputs", "estimates", "report", "published"}
"""Schemas downstream of marts."""


def run_refresh(settings: HomeSettings, console: Console) -> Outcome:
    """Refresh a home and report the outcome; raise `RefreshFailed` with the reason in words if it failed."""
    try:
        return _refresh(settings, console)
    except RefreshFailed as error:
        if error.is_alert:
            with private_files():
                report_end(settings, to_stderr, str(error), error.run_id)
        raise


def _refresh(settings: HomeSettings, console: Console) -> Outcome:
    home, before, started = settings.home, None, time.monotonic()
    try:
        require_address_space(bytes_of(settings.memory_limit))
        before = newest_publication(home)
        check_sources_of_a_new_home(home)
        # Do not lock the home to fetch logs: it may take hours at first, and only adds files to the sources.
        if settings.is_pulling:
            _pull(settings, console)
        tell_wrong_settings(home, to_stderr)
        result = None
        with private_files():
            if settings.is_full or settings.is_from_marts or not is_up_to_date(home, settings.privacy_key):
                had_key = os.access(settings.privacy_key, os.F_OK)
                try:
                    result = _build(settings, console)
                finally:
                    if not had_key and os.access(settings.privacy_key, os.F_OK):
                        to_stderr(key_was_made(settings.privacy_key))
            else:
                report_end(settings, to_stderr, None, None)
        outcome = read_outcome(home, "unchanged" if result is None else "published", started)
        if result is not None:
            outcome.checks["warned"] += warnings_of_report(result)
        return outcome
    except RefreshFailed:
        raise
    except RefreshRunning as error:
        # The refresh that holds the lock reports its own outcome.
        raise RefreshFailed(str(error), is_alert=False) from None
    except (Exception, KeyboardInterrupt) as error:
        has_published = False
        with suppress(OSError):  # The home itself may be unreadable.
            has_published = newest_publication(home) != before
        if is_interruption(error):
            raise RefreshInterrupted(has_published=has_published) from None
        result_in_words = "the new publication is complete" if has_published else NOT_PUBLISHED
        raise RefreshFailed(explain_error(error, home, result_in_words)) from error


def check_sources_of_a_new_home(home: Home) -> None:
    """Refuse a new home without readable sources before any folder is made."""
    if not home.work.exists():
        if (wrong := tell_wrong_settings(home, lambda _line: None)) is not None:
            raise RefreshFailed(wrong)
        from assets.sources.errors import SourceErrors
        from assets.sources.intake.find.folder import cluster_folders

        try:
            cluster_folders(home.sources)
        except SourceErrors as error:
            raise RefreshFailed(explain_error(error, home)) from None


def _pull(settings: HomeSettings, console: Console) -> None:
    """Fetch the logs of the clusters with `[pull]`."""
    from orchestration.pull.clusters import clusters_to_pull

    clusters = clusters_to_pull(settings.home.sources)
    if not clusters:
        return
    from orchestration.pull.clusters import pull_all
    from orchestration.pull.outcomes import lines_of

    with console.status("pulling") as status:
        results = pull_all(clusters, settings.home, lambda line: status.update(Text(line)))
    for result in results:
        for line in lines_of(result):
            console.print(line)


def _build(settings: HomeSettings, console: Console) -> ExecuteInProcessResult:
    """Run Dagster's job, which publishes at its end; repeat it if the first run suspects damage."""
    home = settings.home
    # While another run holds the home, load nothing and start no run that can only fail.
    with RefreshLock(home.lock_file):
        pass
    collect_garbage_seldom()
    # For cron: lines about the run go to stderr, and nothing else does meanwhile.
    errors = console if console.file is sys.stderr else output.console(is_error=True)
    try:
        _prepare(home, console.print)
        from orchestration.lifecycle.session import Caller

        caller = Caller(PATIENCE_SECONDS, errors.print)
        result = _execute(settings, console, errors, caller)
        if home.damage_suspected.exists():
            result = _execute(settings, console, errors, caller)
    except BaseException as error:
        # Dagster's error for an interruption is a BaseException.
        if not (is_interruption(error) if isinstance(error, Exception) else type(error).__name__ in INTERRUPTIONS):
            raise
        raise RefreshInterrupted from None
    if result.success:
        return result
    if was_interrupted(result.all_events):
        raise RefreshInterrupted(has_published=was_published(home, result.run_id))
    message = explain_events(result.all_events, result.run_id, home)
    raise RefreshFailed(message, result.run_id, is_alert=not (caller.has_reported or is_quiet(result.all_events)))


def warnings_of_report(result: ExecuteInProcessResult) -> int:
    """Count the failed checks of the report, which runs after `ops.checks` is published."""
    found = result.get_asset_check_evaluations()
    return sum(not check.passed for check in found if check.asset_key.path[0] == "report")


def to_stderr(text: str) -> None:
    """Print a line that is no part of the answer."""
    output.say(text, is_error=True)


def _prepare(home: Home, say: Say) -> None:
    from orchestration.runs.instance import prepare_storage

    newest = newest_publication(home)
    if newest and newest.code_version not in ("", code_version()):
        made_by = newest.code_version
        say(f"the last publication was made by Faultline {made_by}: this is {code_version()}, and all is built again")
    prepare_storage(home, say)


def _execute(settings: HomeSettings, console: Console, errors: Console, caller: Caller) -> ExecuteInProcessResult:
    import dagster as dg

    from orchestration import definitions
    from orchestration.runs.instance import open_storage
    from orchestration.runs.jobs import COMMAND, REFRESH

    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    with (
        ProgressHandler(console) as handler,
        open_storage(settings.home) as instance,
        # dagster-dbt repeats dbt's log on stdout; the log itself is kept next to the working file.
        Path(os.devnull).open("w") as nowhere,
        redirect_stdout(nowhere),
        redirect_other_output(settings.home.other_output, errors),
    ):
        handler.show("parsing the dbt project")
        loggers = dg.Definitions(loggers={"progress": progress_logger(handler)})
        job = dg.Definitions.merge(definitions.build(settings, caller), loggers).resolve_job_def(REFRESH)
        chosen = job.asset_layer.selected_asset_keys
        if settings.is_from_marts:
            chosen = {key for key in chosen if key.path[0] in AFTER_MARTS}
        handler.totals = Counter(key.path[0] for key in chosen)
        return job.execute_in_process(
            instance=instance,
            raise_on_error=False,
            run_config={"loggers": {"progress": {}}},
            # Only another refresh may repeat it.
            tags={COMMAND: "true", "dagster/max_retries": "0"},
            asset_selection=list(chosen) if settings.is_from_marts else None,
        )
