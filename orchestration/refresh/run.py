"""One refresh from the command line: the main job in this process.

It adds no step of its own; the schedule runs the same job.
"""

from __future__ import annotations

import logging
import os
import time
from collections import Counter
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from assets.sources.text.privacy_key import WrongKey
from assets.warehouse import is_interruption
from orchestration import terminal
from orchestration.alerts.ledger import Ledger
from orchestration.alerts.sending import tell_of_publication
from orchestration.environment import HomeSettings, collect_garbage_seldom
from orchestration.failures import (
    INTERRUPTIONS,
    RefreshFailed,
    RefreshInterrupted,
    explain_error,
    explain_result,
    note_failure,
    was_interrupted,
)
from orchestration.home import Home, code_version
from orchestration.publication.folders import (
    newest_publication,
    problem_of_current,
    put_back_link,
    was_published,
)
from orchestration.refresh.outcome import Outcome, read_outcome
from orchestration.refresh.privacy import follow_privacy
from orchestration.refresh.progress import ProgressHandler, progress_logger
from orchestration.refresh.wrong_settings import stop_at_wrong_settings
from orchestration.terminal import redirect_other_output
from orchestration.upkeep.healing import Say, heal, heal_run_history, heal_schema
from orchestration.upkeep.permissions import WrongGroup, private_files, set_permissions

if TYPE_CHECKING:
    from dagster import ExecuteInProcessResult


PATIENCE_SECONDS = 600
"""How long to wait for a process that a killed refresh left behind and that still holds the working file."""
OTHER_OUTPUT = "other-output.txt"
"""Name of the file for what libraries and child processes print on stderr."""


def run_refresh(settings: HomeSettings, console: Console) -> Outcome:
    """Run the main job unless nothing changed; raise `RefreshFailed` with the reason in words."""
    home = settings.home
    from orchestration.upkeep.lock import RefreshRunning, lock_for_a_run

    try:
        # Fetching logs may take hours at first, and only adds files to the sources: the home is not locked for it.
        settings = _pulled(settings, console)
        # The lock comes first: a second refresh must not touch the files that the first one works on.
        with private_files(), lock_for_a_run(home.lock_file):
            set_permissions(home, settings.publish_group)
            return _refresh(settings, console)
    except (RefreshRunning, WrongGroup, WrongKey) as error:
        # The refresh that runs tells of its own end.
        raise RefreshFailed(str(error), is_alert=not isinstance(error, RefreshRunning)) from None
    except OSError as error:
        raise RefreshFailed(explain_error(error, home)) from error
    except (KeyboardInterrupt, RuntimeError) as error:
        if not is_interruption(error):
            raise
        raise RefreshInterrupted from None


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


def _pulled(settings: HomeSettings, console: Console) -> HomeSettings:
    """Fetch the logs of the clusters that are pulled, and return settings with which no step does it again."""
    from orchestration.pull.clusters import clusters_to_pull

    clusters = clusters_to_pull(settings.home.sources) if settings.is_pulling else {}
    if clusters:
        from orchestration.environment import read_slurm_token
        from orchestration.pull.clusters import pull_all
        from orchestration.pull.progress import PullProgress, lines_of

        with PullProgress(", ".join(clusters), console) as progress:
            results = pull_all(clusters, settings.home, read_slurm_token(), progress.say)
        for result in results:
            for line in lines_of(result):
                console.print(line)
    return replace(settings, is_pulling=False)


def _refresh(settings: HomeSettings, console: Console) -> Outcome:
    from orchestration.upkeep.lock import wait_until_free

    started = time.monotonic()
    home = settings.home
    say = console.print
    stop_at_wrong_settings(home, to_stderr)
    wait_until_free(home.working_file, PATIENCE_SECONDS)
    follow_privacy(settings, say)
    if not _heal_files(home, say) and not settings.is_full and _nothing_new(home):
        tell_of_publication(settings, to_stderr)
        return read_outcome(home, "unchanged", started)
    collect_garbage_seldom()
    try:
        _heal_before_a_run(home, say)
        result = _execute(settings, console)
        if not result.success and not was_interrupted(result) and heal(home, say, deep=True):
            # Damage in the middle of a file is found only when that part is read.
            result = _execute(settings, console)
    except BaseException as error:
        if isinstance(error, Exception) and not is_interruption(error):
            raise RefreshFailed(explain_error(error, home)) from error
        # Dagster's error for an interruption is a BaseException.
        if not isinstance(error, Exception) and type(error).__name__ not in INTERRUPTIONS:
            raise
        note_failure(home, None, str(RefreshInterrupted()))
        raise RefreshInterrupted from None
    if not result.success:
        if was_interrupted(result):
            interrupted = RefreshInterrupted(has_published=was_published(home, result.run_id))
            note_failure(home, result.run_id, str(interrupted))
            raise interrupted
        message = explain_result(result, home)
        note_failure(home, result.run_id, message)
        raise RefreshFailed(message, result.run_id)
    for problem in Ledger(home.alerts).problems():
        to_stderr(f"alert not delivered by {problem['channel']}: {problem['error']}")
    outcome = read_outcome(home, "published", started)
    outcome.checks["warned"] += warnings_of_report(result)
    return outcome


def warnings_of_report(result: ExecuteInProcessResult) -> int:
    """Count the failed checks of the report, which is made after `ops.checks` is published."""
    found = result.get_asset_check_evaluations()
    return sum(not check.passed for check in found if check.asset_key.path[0] == "report")


def to_stderr(text: str) -> None:
    """Print a line that is no part of the answer."""
    terminal.say(text, is_error=True)


def _heal_files(home: Home, say: Say) -> bool:
    """Set aside damaged files and report a damaged publication; return whether there was any damage."""
    put_back = put_back_link(home)
    if put_back is not None:
        say(f"the link to what readers see was lost: they see publication {put_back.number} until there is a newer one")
    problem = problem_of_current(home)
    if problem is not None:
        say(f"{home.published_file} was damaged ({problem}): what readers see is published anew")
    return heal(home, say) or problem is not None


def _heal_before_a_run(home: Home, say: Say) -> None:
    from orchestration.dbt.build import heal_project_cache

    _tell_of_another_version(home, say)
    heal_schema(home, say)
    heal_run_history(home, say)
    heal_project_cache(home, say)


def _tell_of_another_version(home: Home, say: Say) -> None:
    newest = newest_publication(home)
    if newest and newest.code_version not in ("", code_version()):
        made_by = newest.code_version
        say(f"the last publication was made by Faultline {made_by}: this is {code_version()}, and all is built anew")


def _nothing_new(home: Home) -> bool:
    from orchestration.publication.freshness import is_up_to_date

    return is_up_to_date(home)


def _execute(settings: HomeSettings, console: Console) -> ExecuteInProcessResult:
    with ProgressHandler(console) as handler:
        return _execute_job(settings, console, handler)


def _execute_job(settings: HomeSettings, console: Console, handler: ProgressHandler) -> ExecuteInProcessResult:
    import dagster as dg

    from orchestration import definitions
    from orchestration.instance import open_storage, prepare_storage
    from orchestration.skipped_runs import HAS_NEWS

    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    prepare_storage(settings.home)
    with open_storage(settings.home) as instance:
        loggers = dg.Definitions(loggers={"progress": progress_logger(handler)})
        handler.show("parsing the dbt project")
        job = dg.Definitions.merge(definitions.build(settings), loggers).resolve_job_def("refresh")
        handler.totals = Counter(key.path[0] for key in job.asset_layer.selected_asset_keys)
        # dagster-dbt repeats dbt's log on stdout; the log itself is kept beside the working file.
        with (
            Path(os.devnull).open("w") as nowhere,
            redirect_stdout(nowhere),
            redirect_other_output(settings.home.work / OTHER_OUTPUT, console),
        ):
            return job.execute_in_process(
                instance=instance,
                raise_on_error=False,
                run_config={"loggers": {"progress": {}}},
                tags={HAS_NEWS: "true"},
            )
