"""`faultline doctor`: what is missing or wrong in the sources, the home and the last publication.

It changes nothing, and it does not read whole logs: a refresh reports what is in their lines.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sqlite3

import duckdb

from orchestration.doctor.findings import Finding, Level, print_findings
from orchestration.doctor.pulls import pull_findings
from orchestration.doctor.sources import sources_findings
from orchestration.doctor.warehouse import NOT_READ, warehouse_findings
from orchestration.publication.folders import leftovers, problem_of_current
from orchestration.read_commands.published import ReadingError, one_line
from orchestration.read_commands.sent_alerts import problems
from orchestration.read_commands.status import BLOCKED, FREES_THE_QUEUE, status
from orchestration.runs.instance import (
    UnreadableSettings,
    changes_of_user,
    losses_by_changes,
    parse_settings,
    settings_file,
)
from orchestration.settings.home import Home
from orchestration.terminal.output import say_json
from orchestration.upkeep.healing import set_aside_files
from orchestration.upkeep.lock import free_of_refresh
from orchestration.upkeep.permissions import writable_by_others

SPACE_PER_WORKING_BYTE = 2
MIN_FREE_BYTES = 1 << 30


def show_doctor(home: Home, cluster_id: str | None = None, *, shows_rules: bool = False, as_json: bool = False) -> bool:
    """Print what is missing or wrong, and the command that fixes it; return whether no finding is an error."""
    findings = doctor(home)
    if cluster_id is not None:
        findings = _without_other_clusters(findings, cluster_id, home)
    if as_json:
        say_json([finding.as_dict() for finding in findings], indent=2)
    else:
        print_findings(findings, shows_rules=shows_rules)
    return all(finding.level != "error" for finding in findings)


def doctor(home: Home) -> list[Finding]:
    """Return all findings on a home and its sources; one that is in both the folder and the publication counts once."""
    now = [
        *sources_findings(home.sources),
        *pull_findings(home),
        *home_findings(home),
        *settings_findings(home),
        *alert_findings(home),
        *run_findings(home),
    ]
    try:
        last = warehouse_findings(home)
    except (ReadingError, duckdb.Error) as error:
        is_listed = problem_of_current(home) is not None
        what, _, step = (
            one_line(error).rpartition("; ") if isinstance(error, ReadingError) else (one_line(error), "", "")
        )
        finding = Finding("error", what, str(home.published_file), step or "faultline refresh --full")
        return now if is_listed else [*now, finding]
    places = {finding.where for finding in now}
    return [
        *now,
        *(finding for finding in last if finding.where not in places or not finding.what.startswith(NOT_READ)),
    ]


def _without_other_clusters(findings: list[Finding], cluster_id: str, home: Home) -> list[Finding]:
    """Return the findings on a cluster, the home or the sources folder."""
    places = [(finding, finding.where.partition("/")[0]) for finding in findings]
    is_known = (home.sources / cluster_id).is_dir() or cluster_id in {place for _, place in places}
    if home.sources.is_dir() and not is_known:
        raise ReadingError(f"there is no cluster '{cluster_id}'; `faultline status` names the clusters")
    return [finding for finding, place in places if place in (cluster_id, "")]


def home_findings(home: Home) -> list[Finding]:
    """Check the home folder: permissions, free space, and leftovers of killed processes."""
    existing = next(folder for folder in (home.root, *home.root.parents) if folder.exists())
    if not os.access(existing, os.W_OK):
        what = "this user may not write there"
        return [Finding("error", what, str(existing), "set FAULTLINE_HOME to a folder of yours, or change its owner")]
    findings = [Finding("warning", place.what, place.path, place.next_step) for place in writable_by_others(home)]
    free = shutil.disk_usage(existing).free
    size = sum(path.stat().st_size for path in (home.working_file, home.build_file) if path.exists())
    needed = max(MIN_FREE_BYTES, SPACE_PER_WORKING_BYTE * size)
    if free < needed:
        what = f"{_gib(free)} are free; a refresh wants about {_gib(needed)}"
        level: Level = "error" if free < size else "warning"
        findings.append(Finding(level, what, str(existing), "free space, or set FAULTLINE_HOME to a larger disk"))
    with free_of_refresh(home.lock_file) as holder:
        if holder is not None:
            what = f"a refresh is running ({holder})"
            return [*findings, Finding("note", what, str(home.root), "wait for it; `faultline status` follows it")]
        problem = problem_of_current(home)
        if problem is not None:
            step = "`faultline refresh` publishes it again; until then, `faultline rollback` shows an earlier one"
            findings.append(Finding("error", f"damaged: {problem}", str(home.published_file), step))
        for path in set_aside_files(home):
            what = "was damaged and is kept aside; nothing needs it"
            findings.append(Finding("note", what, str(path), f"look at it, or rm -r {shlex.quote(str(path))}"))
        for path in leftovers(home):
            what = "left behind by a refresh that was killed while it published; readers never saw it"
            findings.append(Finding("note", what, str(path), "`faultline refresh` removes it"))
        journal = home.working_file.with_name(f"{home.working_file.name}.wal")
        if journal.exists():
            what = "the last refresh did not end in order; what it had written is in this journal"
            findings.append(Finding("note", what, str(journal), "`faultline refresh` replays it; do not delete it"))
    return findings


def settings_findings(home: Home) -> list[Finding]:
    """Report how the user's dagster.yaml differs from Faultline's own, and what is lost by that."""
    changes = changes_of_user(home)
    if not changes:
        return []
    file = settings_file(home)
    try:
        losses = losses_by_changes(parse_settings(file, file.read_bytes()))
    except UnreadableSettings as error:
        return [Finding("error", str(error).partition(": ")[2], str(file), "faultline refresh", tuple(changes))]
    what = "was changed by somebody, and Faultline leaves it as it is"
    if losses:
        what += f"; what that gives up: {'; '.join(losses)}"
    step = "keep it, or copy lines with - into it; without the file, `faultline refresh` writes its own"
    return [Finding("warning" if losses else "note", what, str(file), step, tuple(changes))]


def alert_findings(home: Home) -> list[Finding]:
    """List the channels whose last alert did not arrive."""
    try:
        failing = problems(home)
    except sqlite3.Error as error:
        what = f"the record of sent alerts cannot be read: {one_line(error)}"
        return [Finding("warning", what, str(home.alerts), "remove the file: current alerts are then sent once more")]
    return [
        Finding(
            "warning",
            f"the alert of {row['time'][:16]} UTC may not have arrived ({row['status']}, attempts: {row['attempts']})",
            f"alerts by {row['channel']}",
            "`faultline alerts --test` says why; correct the channel's settings (docs/alerts.md)",
        )
        for row in failing
    ]


def run_findings(home: Home) -> list[Finding]:
    """Report a failed last run, and a dead run that blocks Dagster's queue."""
    try:
        found = status(home)
    except ReadingError as error:
        return [Finding("note", str(error), str(home.published_file), "faultline refresh")]
    dead, run = found["dead_run"], found["last_run"]
    findings = [Finding("error", BLOCKED.format(dead), str(home.dagster), FREES_THE_QUEUE)] if dead else []
    if not run or run["status"] != "failed":
        return findings
    why = (run["message"] or "no reason was kept; `faultline ui` shows its log").splitlines()
    return [
        *findings,
        Finding(
            "error",
            f"the last run, started {run['started_at']}, failed: {' '.join(line.strip() for line in why)}",
            str(home.root),
            "repair what it names, then run `faultline refresh`",
        ),
    ]


def _gib(count: int) -> str:
    return f"{count / (1 << 30):.1f} GiB"
