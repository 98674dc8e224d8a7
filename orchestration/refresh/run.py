"""One refresh from the command line: the main job in this process, its failure in words, its summary.

It adds no step of its own; the schedule runs the same job.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
import traceback
from contextlib import redirect_stdout, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
from rich.console import Console

from assets.rows import rows_of
from assets.sources.masking import mask
from orchestration.environment import Settings, WrongSetting, collect_garbage_seldom
from orchestration.home import Home, code_version
from orchestration.publication.folders import (
    newest_publication,
    pinned_publication,
    problem_of_current,
    version_of,
)
from orchestration.publication.permissions import WrongGroup, private_files, set_permissions
from orchestration.refresh.healing import Say, heal, heal_run_history, heal_schema
from orchestration.terminal import others_write_to

if TYPE_CHECKING:
    from dagster import DagsterEvent, ExecuteInProcessResult


SHOWN_REFUSALS = 10
FULL_DISK_BYTES = 1_000_000  # SQLite, DuckDB and Python each word a full disk in their own way
PATIENCE_SECONDS = 600
"""How long what a killed refresh has left running may still hold the working file."""
INTERRUPTIONS = {"KeyboardInterrupt", "DagsterExecutionInterruptedError", "InterruptException"}
DUCKDB_INTERRUPTED = "Query interrupted"
OTHER_OUTPUT = "other-output.txt"
"""What libraries and child processes print on stderr; nothing of it is for a person."""
EXPLAIN_THEMSELVES = {"SourceError", "SourceErrors", "RefreshRunning", "Failure"}


class RefreshFailed(Exception):
    """A refresh that published nothing; its text says why and what to do next."""


class RefreshInterrupted(RefreshFailed):
    """A refresh that somebody stopped with Ctrl-C."""

    def __init__(self) -> None:
        super().__init__(
            "stopped by Ctrl-C; nothing was published, readers see the last publication as before; "
            "`faultline refresh` takes up what was read"
        )


@dataclass(frozen=True)
class Outcome:
    """What a refresh published, for people and for programs."""

    status: str
    seconds: float
    report: str
    warehouse: str
    clusters: list[dict[str, Any]] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    checks: dict[str, int] = field(default_factory=dict)
    pinned: int | None = None
    """Number of the publication that a rollback has pinned."""
    failing: list[dict[str, Any]] = field(default_factory=list)
    """Clusters that could not be built, and why."""
    refused: list[dict[str, Any]] = field(default_factory=list)
    """Files that were not read, and why."""

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return self.__dict__

    def print(self, console: Console) -> None:
        """Print the summary, the report's path last."""
        say = console.print
        for row in self.clusters:
            name = f"{row['cluster_id']} (simulated)" if row["is_simulated"] else row["cluster_id"]
            say(
                f"\n{name}: {row['attempts']:,} attempts on {row['node_count']:,} nodes,"
                f" {row['failures']:,} infrastructure failures\n  failure rate {_rate_in_words(row)}"
            )
        for cluster in self.failing:
            kept = "keeps its last good numbers" if cluster["is_stale"] else "is published without numbers"
            say(f"\n{cluster['cluster_id']} could not be built and {kept}:")
            for reason in cluster["reasons"]:
                say(f"  {reason}")
        for number, file in enumerate(self.refused[:SHOWN_REFUSALS]):
            say(f"{'' if number else chr(10)}not read  {file['path']}: {file['reason']}. {file['next_step']}")
        if len(self.refused) > SHOWN_REFUSALS:
            say(f"not read  {len(self.refused) - SHOWN_REFUSALS:,} more files; `faultline doctor` lists them")
        counts = self.lines
        say(
            f"\nlines     {counts['lines_in']:,} = {counts['loaded']:,} loaded + {counts['skipped']:,} skipped"
            f" + {counts['quarantined']:,} quarantined\nchecks    {self.checks['passed']:,} passed,"
            f" {self.checks['failed']:,} failed"
        )
        if self.status != "unchanged":
            say(f"published in {self.seconds:.0f} s")
        elif self.pinned is None:
            say("nothing new since the last publication")
        else:
            say(
                f"nothing new; publication {self.pinned} stays, which `faultline rollback` has pinned, until new logs"
                " come or `faultline refresh --full` is run"
            )
        say(f"warehouse {self.warehouse}\nreport    {self.report}")


def run_refresh(home: Home, full: bool, console: Console) -> Outcome:
    """Run the main job unless nothing changed; raise `RefreshFailed` with the reason in words."""
    from orchestration.refresh.lock import RefreshRunning, lock_for_a_run

    try:
        # Before anything else: who does not get the lock must not touch what the other one works on.
        with private_files(), lock_for_a_run(home.lock_file):
            set_permissions(home, Settings.current().publish_group)
            return _refresh(home, full, console)
    except (RefreshRunning, WrongGroup, WrongSetting) as error:
        raise RefreshFailed(str(error)) from None
    except OSError as error:
        raise RefreshFailed(_in_words(error, home)) from error


def _refresh(home: Home, full: bool, console: Console) -> Outcome:
    started = time.monotonic()
    say = console.print
    if not _heal_files(home, say) and not full and _nothing_new(home):
        return _outcome(home, "unchanged", started)
    collect_garbage_seldom()
    try:
        _heal_before_a_run(home, say)
        result = _execute(home, console)
        if not result.success and not _was_interrupted(result) and heal(home, say, deep=True):
            # Damage in the middle of a file shows only when that part is read.
            result = _execute(home, console)
    except Exception as error:
        raise RefreshFailed(_in_words(error, home)) from error
    except BaseException as error:
        # Dagster's interruption is no Exception.
        if type(error).__name__ not in INTERRUPTIONS:
            raise
        _note_failure(home, None, str(RefreshInterrupted()))
        raise RefreshInterrupted from None
    if not result.success:
        if _was_interrupted(result):
            _note_failure(home, result.run_id, str(RefreshInterrupted()))
            raise RefreshInterrupted
        message = _why(result, home)
        _note_failure(home, result.run_id, message)
        raise RefreshFailed(message)
    return _outcome(home, "published", started)


def _heal_files(home: Home, say: Say) -> bool:
    """Set aside damaged files, tell of a damaged publication, and tell whether there was either."""
    from orchestration.refresh.lock import wait_until_free

    wait_until_free(home.working_file, PATIENCE_SECONDS)
    problem = problem_of_current(home)
    if problem is not None:
        say(f"{home.published_file} was damaged ({problem}): what readers see is published anew")
    return heal(home, say) or problem is not None


def _heal_before_a_run(home: Home, say: Say) -> None:
    from orchestration.dbt.build import heal_project_cache

    _tell_of_another_version(home, say)
    heal_schema(home, say)
    heal_run_history(home, say)
    heal_project_cache(say)


def _tell_of_another_version(home: Home, say: Say) -> None:
    newest = newest_publication(home)
    made_by = newest.code_version if newest else version_of(home.published_file)
    if made_by and made_by != code_version():
        say(f"the last publication was made by Faultline {made_by}: this is {code_version()}, and all is built anew")


def _nothing_new(home: Home) -> bool:
    from orchestration.refresh.freshness import is_up_to_date

    return is_up_to_date(home)


def _execute(home: Home, console: Console) -> ExecuteInProcessResult:
    import dagster as dg

    from orchestration import definitions
    from orchestration.instance import prepare_storage
    from orchestration.refresh.progress import ProgressHandler, progress_logger
    from orchestration.upstream import write_history_without_waiting

    logging.getLogger("dagster").setLevel(logging.CRITICAL)
    prepare_storage(home)
    write_history_without_waiting()
    with ProgressHandler(console) as handler, dg.DagsterInstance.get() as instance:
        loggers = dg.Definitions(loggers={"progress": progress_logger(handler)})
        job = dg.Definitions.merge(definitions.build(home), loggers).resolve_job_def("refresh")
        # dagster-dbt repeats dbt's log on stdout; the log itself is kept beside the working file.
        with (
            Path(os.devnull).open("w") as nowhere,
            redirect_stdout(nowhere),
            others_write_to(home.work / OTHER_OUTPUT, console),
        ):
            return job.execute_in_process(
                instance=instance, raise_on_error=False, run_config={"loggers": {"progress": {}}}
            )


def _was_interrupted(result: ExecuteInProcessResult) -> bool:
    """Tell whether a step ended by Ctrl-C, of which DuckDB makes an error of its own."""
    for event in result.all_events:
        error = _error_of(event) if event.is_step_failure or event.is_job_failure else None
        while error is not None:
            if error.cls_name in INTERRUPTIONS or DUCKDB_INTERRUPTED in error.message:
                return True
            error = error.cause
    return False


def _error_of(event: DagsterEvent) -> Any:
    return event.step_failure_data.error if event.is_step_failure else event.job_failure_data.error


def _why(result: ExecuteInProcessResult, home: Home) -> str:
    """Name the first thing that went wrong: failed blocking checks first, then the error of the first failed step."""
    from assets.warehouse import Warehouse
    from orchestration.checks.asset_checks import failed_checks

    with suppress(duckdb.IOException), Warehouse(path=str(home.working_file)).reading() as con:
        failures = failed_checks(con, result.run_id)
        if failures:
            return "\n".join(["nothing was published; these checks failed:", *(f"  {line}" for line in failures)])
    for event in result.all_events:
        if event.is_step_failure or event.is_job_failure:
            return _event_in_words(event, home)
    return f"the run {result.run_id} failed; `faultline ui` shows its log"


def _event_in_words(event: DagsterEvent, home: Home) -> str:
    error = _error_of(event)
    if error is None:
        return event.message or "the run failed"
    trace = error.to_string()
    while error.cause is not None:
        error = error.cause
    text = error.message.strip()
    prefix, _, rest = text.partition(": ")
    return _explained(rest if rest and " " not in prefix else text, error.cls_name or "", trace, home)


def _in_words(error: BaseException, home: Home) -> str:
    trace = "".join(traceback.format_exception(error))
    while error.__cause__ is not None:
        error = error.__cause__
    return _explained(str(error), type(error).__name__, trace, home)


def _explained(text: str, error_class: str, trace: str, home: Home) -> str:
    """Add the next step to an error that lacks one; an error nobody foresaw keeps its traceback in a file.

    Both may quote a line of a log: secrets are masked.
    """
    text, trace = mask(text), mask(trace)
    if "no space left" in text.lower() or shutil.disk_usage(_existing(home.root)).free < FULL_DISK_BYTES:
        return (
            f"no space is left on the disk of {home.root}; nothing was published and nothing was lost; "
            "free space there or set FAULTLINE_HOME to a larger disk, then run `faultline refresh` again"
        )
    if error_class in EXPLAIN_THEMSELVES:
        return text
    first = text.splitlines()[0] if text else ""
    if any(words in text.lower() for words in ("read-only file system", "permission denied")):
        return (
            f"{home.root} cannot be written ({first}); nothing was published; what is published can be read as"
            " before; make it writable for this user or name another with --home, then run `faultline refresh` again"
        )
    if "input/output error" in text.lower():
        return (
            f"the disk of {home.root} does not work ({first}); nothing was published; check the disk, then run"
            " `faultline refresh` again"
        )
    kept = home.work / "unexpected-error.txt"
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text(trace, encoding="utf-8")
    except OSError:
        return f"unexpected {error_class}: {first}; nothing was published; details:\n{trace}"
    return f"unexpected {error_class}: {first}; nothing was published; details: {kept}"


def _existing(path: Path) -> Path:
    return path if path.exists() else _existing(path.parent)


def _note_failure(home: Home, run_id: str | None, message: str) -> None:
    """Keep the reason for `faultline status`, by default of the latest run.

    A disk too full to write it has been told to the user already.
    """
    from assets.warehouse import Warehouse

    try:
        with Warehouse(path=str(home.working_file)).writing() as con:
            con.execute(
                "update ops.runs set message = ? where status = 'failed' and run_id = coalesce("
                "?, (select run_id from ops.runs order by started_at desc limit 1))",
                [message, run_id],
            )
    except (duckdb.IOException, OSError) as error:
        logging.getLogger(__name__).warning("the reason could not be kept in ops.runs: %s", error)


def _outcome(home: Home, status: str, started: float) -> Outcome:
    with duckdb.connect(str(home.published_file), read_only=True) as con:
        clusters = rows_of(con, CLUSTERS)
        lines = rows_of(con, LINES)[0]
        checks = rows_of(con, CHECKS)[0]
        failing, refused = rows_of(con, FAILING), rows_of(con, REFUSED)
    pinned = pinned_publication(home)
    return Outcome(
        status,
        time.monotonic() - started,
        str(home.report),
        str(home.published_file),
        clusters,
        lines,
        checks,
        pinned.number if pinned else None,
        failing,
        refused,
    )


def _rate_in_words(row: dict[str, Any]) -> str:
    if row["rate_high"] is None:
        return "unknown"
    jobs = {
        "gpus_gt_128": "jobs of more than 128 GPUs",
        "whole_nodes": "jobs on whole nodes",
        "nodes": "nodes in use",
        "all": "all jobs",
    }[row["population"]]
    evidence = f"k={_number(row['rate_failures'])} in {_number(row['node_days'])} node-days, {jobs}"
    if not row["rate_failures"]:
        return f"per 1,000 node-days: none seen, below {_number(row['rate_high'])} (90%; {evidence})"
    limits = f"{_number(row['rate_low'])} to {_number(row['rate_high'])}"
    return f"{_number(row['rate'])} per 1,000 node-days, 90% interval {limits} ({evidence})"


def _number(value: float) -> str:
    """Three significant digits, never in powers of ten."""
    return f"{float(f'{value:.3g}'):,.10g}"


CLUSTERS = """
    select
        cluster.cluster_id,
        cluster.is_simulated,
        cluster.node_count,
        (select count(*) from marts.fct_attempts a where a.cluster_id = cluster.cluster_id) as attempts,
        (select count(*) from marts.fct_failures f where f.cluster_id = cluster.cluster_id) as failures,
        rate.failures_per_1000_node_days as rate,
        rate.failures_per_1000_node_days_low as rate_low,
        rate.failures_per_1000_node_days_high as rate_high,
        rate.failure_count as rate_failures,
        rate.node_days,
        rate.population
    from marts.dim_clusters cluster
    left join estimates.est_failure_rates rate
        on rate.cluster_id = cluster.cluster_id and rate.is_reference
    order by cluster.cluster_id
"""
LINES = """
    select
        coalesce(sum(lines_in), 0)::bigint as lines_in,
        coalesce(sum(loaded), 0)::bigint as loaded,
        coalesce(sum(skipped), 0)::bigint as skipped,
        coalesce(sum(quarantined), 0)::bigint as quarantined
    from ops.files
"""
FAILING = """
    select
        failures.cluster_id,
        coalesce(bool_or(clusters.is_stale), false) as is_stale,
        list(failures.reason order by failures.failed_at, failures.reason) as reasons
    from ops.cluster_failures as failures
    left join marts.dim_clusters as clusters using (cluster_id)
    where run_id = (select run_id from ops.published order by rowid desc limit 1)
    group by failures.cluster_id
    order by cluster_id
"""
REFUSED = "select path, reason, next_step from ops.files where status = 'refused' order by path"
CHECKS = """
    select count(*) filter (passed) as passed, count(*) filter (not passed) as failed
    from ops.checks
    where run_id = (select run_id from ops.published order by rowid desc limit 1)
"""
