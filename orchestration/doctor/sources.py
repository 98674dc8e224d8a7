"""Findings in a sources folder: wrong settings, and missing kinds of logs with the consequences."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from assets.log_kinds import IN_SERVICE, LOG_KINDS, START
from assets.sources.errors import SourceError, SourceErrors
from assets.sources.formats import READERS
from assets.sources.intake.find.candidates import Candidate, candidates, shown, unreachable_folders
from assets.sources.intake.find.folder import cluster_folders
from assets.sources.regular import require_regular, unreadable
from assets.sources.settings import KINDS, ClusterSettings, Pull, Untrusted, read_settings, warnings_of
from orchestration.doctor.findings import Finding, Level

PULLED_KINDS = {"sacct": "sacct", "events": "sacctmgr", "inventory": "scontrol", "squeue": "squeue"}
"""The kinds of logs that `faultline pull` fetches, and the command for each."""


def sources_findings(sources: Path) -> list[Finding]:
    """Return the findings on every cluster of a sources folder."""
    try:
        folders = cluster_folders(sources)
    except SourceErrors as caught:
        first = LOG_KINDS["sacct"].export_to(sources / "CLUSTER" / "sacct", START)
        step = f"{first}, or name the folder with --sources"
        return [Finding("error", error.what, str(sources), step) for error in caught.errors]
    findings = [_finding("error", unreadable(link.name, why)) for link, why in unreachable_folders(sources)]
    for folder in folders:
        cluster, errors = read_settings(folder, folder.name)
        findings += [_finding("error", error) for error in errors]
        findings += [_finding("warning", warning) for warning in warnings_of(cluster)]
        if not errors:
            findings += [*_untrusted_findings(cluster), *_settings_findings(folder, cluster)]
        findings += _log_findings(folder, cluster)
    return findings


def _untrusted_findings(cluster: ClusterSettings) -> list[Finding]:
    settings, untrusted = cluster.settings, cluster.untrusted
    sections = {"[pull]": settings.pull is not None, "[alerts]": settings.alerts.has_channel}
    ignored = " and ".join(name for name, is_set in sections.items() if is_set)
    if untrusted is None or not ignored:
        return []
    what = f"{ignored} {'is' if ' ' not in ignored else 'are'} not obeyed: {untrusted.what}"
    return [Finding("error", what, f"{cluster.cluster_id}/cluster.toml", untrusted.next_step)]


def _settings_findings(folder: Path, cluster: ClusterSettings) -> list[Finding]:
    if "timezone" in cluster.settings.model_fields_set:
        return []
    what = "no timezone is set: times without an offset are read as UTC"
    step = 'add timezone = "Europe/Berlin" (the zone of the host that made the exports), or export epoch times'
    return [Finding("warning", what, f"{folder.name}/cluster.toml", step)]


def _log_findings(folder: Path, cluster: ClusterSettings) -> list[Finding]:
    """Return the findings on the files that a refresh would read, without reading them."""
    ignored: list[SourceError] = []
    try:
        found = [*candidates(cluster, folder, READERS, ignored)]
    except OSError as error:
        return [_finding("error", unreadable(folder.name, error))]
    findings = []
    kinds = {kind for kind in KINDS for candidate in found if candidate.path.is_relative_to(folder / kind)}
    has_records_alone = "failures" in kinds and "sacct" not in kinds
    if "failures" in kinds and not cluster.settings.failures.in_service:
        where = f"{folder.name}/cluster.toml"
        findings.append(Finding("warning", IN_SERVICE.consequence, where, IN_SERVICE.command))
    for kind in KINDS:
        files = [candidate for candidate in found if candidate.path.is_relative_to(folder / kind)]
        # Without accounting, no other log explains a failure.
        if not files and (kind == "sacct" or not has_records_alone):
            level = "warning" if has_records_alone else LOG_KINDS[kind].weight
            findings.append(_missing_kind(folder, kind, cluster.pull, level))
        for candidate in files:
            place = shown(candidate.path, folder.parent)
            findings += _file_findings(candidate, kind, place)
    return [*findings, *(_finding("warning", message) for message in ignored)]


def _missing_kind(folder: Path, kind: str, pull: Pull | Untrusted | None, level: Level) -> Finding:
    log = LOG_KINDS[kind]
    next_step = f"{_by_pull(folder, kind)}{log.export_to(folder / kind, START)}"
    if isinstance(pull, Pull) and kind in pull.kinds:
        next_step = "nothing to do: [pull] asks for it, and a file comes as soon as Slurm has any"
    return Finding(level, f"no logs there. {log.unknown_without}", f"{folder.name}/{kind}", next_step)


def _file_findings(candidate: Candidate, kind: str, place: str) -> list[Finding]:
    level: Level = "error" if kind == "sacct" else "warning"
    if candidate.error is not None:
        return [_finding(level, candidate.error)]
    path = candidate.path
    try:
        size = require_regular(path).st_size
    except OSError as error:
        return [_finding(level, unreadable(place, error))]
    if not os.access(path, os.R_OK):
        return [Finding(level, "unreadable", place, f"chmod a+r {shlex.quote(str(path))}")]
    if size == 0:
        command = LOG_KINDS[kind].export_to(path.parent, START)
        return [Finding(level, "empty", place, f"export it again: {command}; or rm {shlex.quote(str(path))}")]
    return []


def _finding(level: Level, error: SourceError) -> Finding:
    return Finding(level, error.what, error.path, error.next_step)


def _by_pull(folder: Path, kind: str) -> str:
    """Return the command that fetches a kind of log, if Slurm's commands are on this machine."""
    is_here = kind in PULLED_KINDS and shutil.which(PULLED_KINDS[kind]) is not None
    return f"faultline pull {shlex.quote(folder.name)}, as Slurm's commands are on this machine; or " if is_here else ""
