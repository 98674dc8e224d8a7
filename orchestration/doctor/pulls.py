"""Findings on pulls from Slurm: one that failed, or was never made."""

from __future__ import annotations

from assets.sources.settings import Untrusted
from orchestration.doctor.findings import Finding, Level
from orchestration.pull.clusters import clusters_to_pull
from orchestration.pull.outcomes import in_words, last_outcome
from orchestration.settings.home import Home


def pull_findings(home: Home) -> list[Finding]:
    """Report the clusters with `[pull]` whose last pull did not fetch everything.

    The findings on the sources include `[pull]` tables that are not obeyed.
    """
    findings = []
    for cluster_id, pull in clusters_to_pull(home.sources).items():
        if isinstance(pull, Untrusted):
            continue
        outcome = last_outcome(home, cluster_id)
        place = f"{cluster_id}/cluster.toml"
        if outcome is None:
            what = "[pull] is set, and nothing was fetched from Slurm yet"
            findings.append(Finding("note", what, place, f"faultline pull {cluster_id}, or faultline refresh"))
        elif not outcome.is_whole:
            level: Level = "error" if outcome.is_failed else "warning"
            reason = "; ".join((outcome.reason or "").splitlines())
            what = f"the last pull ({in_words(outcome.ended_at)}) failed: {reason}"
            if not outcome.is_failed:
                what = f"the last pull ({in_words(outcome.ended_at)}) lacks a part: {reason}"
            steps = "; ".join((outcome.next_step or "").splitlines())
            findings.append(Finding(level, what, place, f"{steps}; then faultline pull {cluster_id}"))
    return findings
