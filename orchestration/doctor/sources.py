"""Findings in a sources folder: wrong settings, and missing kinds of logs with what cannot be known without them."""

from __future__ import annotations

import os
import shlex
import shutil
from pathlib import Path

from assets.log_kinds import LOG_KINDS
from assets.sources.errors import SourceErrors
from assets.sources.intake.candidates import IGNORED_SUFFIXES, shown
from assets.sources.intake.folder import cluster_folders
from assets.sources.regular import require_regular, unreadable
from assets.sources.settings import KINDS, ClusterSettings, Pull, read_settings
from orchestration.doctor.findings import Finding, Level

PULLED_KINDS = {"sacct": "sacct", "events": "sacctmgr", "inventory": "scontrol", "squeue": "squeue"}
"""What `faultline pull` fetches, and the command that it runs for it."""
START = "2024-01-01"
"""The first day in the commands that are advised."""


def sources_findings(sources: Path) -> list[Finding]:
    """Gather the findings on every cluster of a sources folder."""
    try:
        folders = cluster_folders(sources)
    except SourceErrors as caught:
        first = LOG_KINDS["sacct"].export_to(sources / "CLUSTER" / "sacct", START)
        step = f"{first}, or name the folder with --sources"
        return [Finding("error", error.what, str(sources), step) for error in caught.errors]
    findings = []
    for folder in folders:
        settings, errors = read_settings(folder, folder.name)
        findings += [Finding("error", error.what, error.path, error.next_step) for error in errors]
        if not errors:
            findings += _settings_findings(folder, settings)
        findings += _kind_findings(folder, None if errors else settings.settings.pull)
    return findings


def _settings_findings(folder: Path, cluster: ClusterSettings) -> list[Finding]:
    if "timezone" in cluster.settings.model_fields_set:
        return []
    what = "no timezone is set: times without an offset are read as UTC"
    step = 'add timezone = "Europe/Berlin" (the zone of the host that made the exports), or export epoch times'
    return [Finding("warning", what, f"{folder.name}/cluster.toml", step)]


def _kind_findings(folder: Path, pull: Pull | None) -> list[Finding]:
    findings = []
    for kind in KINDS:
        files = _log_files(folder / kind)
        if not files:
            log = LOG_KINDS[kind]
            next_step = f"{_by_pull(folder, kind)}{log.export_to(folder / kind, START)}"
            if pull is not None and pull.via != "slurmrestd" and kind in pull.kinds:
                next_step = "nothing to do: [pull] asks for it, and a file comes as soon as Slurm has any"
            findings.append(
                Finding(log.weight, f"no logs there. {log.unknown_without}", f"{folder.name}/{kind}", next_step)
            )
        for path in files:
            place = shown(path, folder.parent)
            level: Level = "error" if kind == "sacct" else "warning"
            try:
                size = require_regular(path).st_size
            except OSError as error:
                problem = unreadable(place, error)
                findings.append(Finding(level, problem.what, place, problem.next_step))
                continue
            if not os.access(path, os.R_OK):
                findings.append(Finding(level, "unreadable", place, f"chmod a+r {shlex.quote(str(path))}"))
            elif size == 0:
                findings.append(Finding(level, "empty", place, f"export it again, or rm {shlex.quote(str(path))}"))
    unknown = sorted(
        entry.name
        for entry in folder.iterdir()
        if entry.is_dir() and entry.name not in (*KINDS,) and entry.name[0] != "."
    )
    for name in unknown:
        step = f"rename it to one of {', '.join(KINDS)}"
        findings.append(Finding("warning", "not read: its name is no kind of log", f"{folder.name}/{name}", step))
    return findings


def _by_pull(folder: Path, kind: str) -> str:
    """Name the command that fetches a kind of logs where Slurm's commands are at hand."""
    is_here = kind in PULLED_KINDS and shutil.which(PULLED_KINDS[kind]) is not None
    return f"faultline pull {shlex.quote(folder.name)}, as Slurm's commands are on this machine; or " if is_here else ""


def _log_files(folder: Path) -> list[Path]:
    """List what a refresh would read: no hidden files, no leftovers of editors."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if not path.is_dir()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and not path.name.endswith(IGNORED_SUFFIXES)
    ]
