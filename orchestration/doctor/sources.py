"""Advice on a sources folder: settings that are wrong, and kinds of logs that are missing with what that hides."""

from __future__ import annotations

import os
from pathlib import Path

from assets.sources.errors import SourceErrors
from assets.sources.intake.candidates import IGNORED_SUFFIXES, shown
from assets.sources.intake.folder import cluster_folders
from assets.sources.settings import KINDS, ClusterSettings, read_settings
from orchestration.doctor.findings import Finding, Level

SACCT = (
    "SLURM_TIME_FORMAT=%s sacct -a -D -X -P --noconvert --delimiter=$'\\x1f' -S 2024-01-01 -o ALL"
    " > {folder}/sacct.$(date +%F).txt"
)
# Kind of log -> what cannot be known without it, and how to export it.
MISSING = {
    "sacct": ("there is no accounting, and nothing can be said of a cluster without it", SACCT),
    "kernel": (
        "GPU errors (Xid), NVLink, PCIe and memory errors are unknown, so failed jobs stay unattributed",
        "on every node: journalctl -k -o short-iso --since=2024-01-01 > {folder}/$(hostname -s).log",
    ),
    "health": (
        "failed health checks are unknown, so FAILED jobs can be told from infrastructure failures by kernel logs only",
        "copy the JSON lines of your health checks (GCM), or nhc.log of every node, to {folder}/",
    ),
    "events": (
        "when and why nodes were down or drained is unknown, and so are hours out of service",
        "SLURM_TIME_FORMAT=%s sacctmgr -P show event start=2024-01-01 format=Cluster,NodeName,TimeStart,TimeEnd,State,"
        "StateRaw,Reason,User,Event > {folder}/events.$(date +%F).txt",
    ),
    "slurmctld": (
        "who preempted whom is inferred, and the node that failed a job is unknown when Slurm does not record it",
        "cp /var/log/slurm/slurmctld.log {folder}/",
    ),
    "inventory": (
        "nodes that ran no job, and GPUs per node, are unknown",
        "scontrol -o show node > {folder}/nodes.$(date +%F).txt",
    ),
    "squeue": (
        "nodes that users exclude by hand are known from submit lines only",
        "every 5 minutes: squeue -a -r -h -o '%A|%i|%T|%V|%S|%u|%P|%D|%N|%x|%r' > {folder}/squeue.$(date +%s).txt",
    ),
    "tickets": (
        "repairs are unknown, so a node's history stops at its failures",
        "export tickets as CSV to {folder}/ and name their columns under [tickets] in cluster.toml",
    ),
}
TELLING = ("kernel", "health", "events")


def sources_findings(sources: Path) -> list[Finding]:
    """Gather the advice on every cluster of a sources folder."""
    try:
        folders = cluster_folders(sources)
    except SourceErrors as caught:
        first = SACCT.format(folder=sources / "CLUSTER" / "sacct")
        step = f"{first}, or name the folder with --sources"
        return [Finding("error", error.what, str(sources), step) for error in caught.errors]
    findings = []
    for folder in folders:
        settings, errors = read_settings(folder, folder.name)
        findings += [Finding("error", error.what, error.path, error.next_step) for error in errors]
        findings += (
            _kind_findings(folder) if errors else [*_settings_findings(folder, settings), *_kind_findings(folder)]
        )
    return findings


def _settings_findings(folder: Path, cluster: ClusterSettings) -> list[Finding]:
    if "timezone" in cluster.settings.model_fields_set:
        return []
    what = "no timezone is set: times without an offset are read as UTC"
    step = 'add timezone = "Europe/Berlin" (the zone of the host that made the exports), or export epoch times'
    return [Finding("warning", what, f"{folder.name}/cluster.toml", step)]


def _kind_findings(folder: Path) -> list[Finding]:
    findings = []
    for kind in KINDS:
        files = _log_files(folder / kind)
        if not files:
            what, command = MISSING[kind]
            level: Level = "error" if kind == "sacct" else "warning" if kind in TELLING else "note"
            findings.append(Finding(level, what, f"{folder.name}/{kind}", command.format(folder=folder / kind)))
        for path in files:
            place = shown(path, folder.parent)
            level = "error" if kind == "sacct" else "warning"
            if not os.access(path, os.R_OK):
                findings.append(Finding(level, "unreadable", place, f"chmod a+r '{path}'"))
            elif path.stat().st_size == 0:
                findings.append(Finding(level, "empty", place, f"export it again, or rm '{path}'"))
    unknown = sorted(
        entry.name
        for entry in folder.iterdir()
        if entry.is_dir() and entry.name not in (*KINDS,) and entry.name[0] != "."
    )
    for name in unknown:
        step = f"rename it to one of {', '.join(KINDS)}"
        findings.append(Finding("warning", "not read: its name is no kind of log", f"{folder.name}/{name}", step))
    return findings


def _log_files(folder: Path) -> list[Path]:
    """List what a refresh would read: no hidden files, no leftovers of editors."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if not path.is_dir()
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and not path.name.endswith(IGNORED_SUFFIXES)
    ]
