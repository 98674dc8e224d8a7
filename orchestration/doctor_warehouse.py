"""Advice from what was last published: odd files, quarantined lines, old data."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import duckdb

from assets.report.gap_catalogue import BY_WARNING
from orchestration.findings import Finding
from orchestration.home import Home
from orchestration.published import published

NOT_READ = "not read"
STALE_AFTER = timedelta(days=2)
WARNED = """
    select path, unnest(warnings) as warning from ops.files order by all
"""
REFUSED = """
    select path, kind, reason, next_step from ops.files where status = 'refused' order by path
"""
QUARANTINED = """
    select path, count(*) as line_count, mode(reason) as usual_reason, min(line_number) as first_line
    from ops.quarantine
    group by path
    order by path
"""
NEWEST = """
    select clusters.cluster_id, max(greatest(attempts.submitted_at, attempts.ended_at)) as newest_at
    from raw.clusters as clusters
    inner join marts.fct_attempts as attempts using (cluster_id)
    where not clusters.is_simulated
    group by clusters.cluster_id
    order by clusters.cluster_id
"""


def warehouse_findings(home: Home) -> list[Finding]:
    """Gather the advice; none when nothing is published."""
    if not home.published_file.exists():
        return []
    with published(home.published_file) as con:
        return [*_refused_findings(con), *_file_findings(con, home), *_quarantine_findings(con), *_age_findings(con)]


def _refused_findings(con: duckdb.DuckDBPyConnection) -> list[Finding]:
    """List the files that were not read; without all of its accounting a cluster keeps its last good data."""
    return [
        Finding("error" if kind == "sacct" else "warning", f"{NOT_READ}: {reason}", path, next_step or "")
        for path, kind, reason, next_step in con.execute(REFUSED).fetchall()
    ]


def _file_findings(con: duckdb.DuckDBPyConnection, home: Home) -> list[Finding]:
    """Put the warnings that readers leave into the report's words; one it does not know is shown as it is."""
    findings = []
    for path, warning in con.execute(WARNED).fetchall():
        gap = BY_WARNING.get(warning.partition(":")[0])
        if gap is None:
            seen = f"faultline query \"select warnings from ops.files where path = '{path}'\""
            findings.append(Finding("warning", warning.replace("_", " "), path, seen))
        else:
            step = gap.command.replace("FOLDER", str(home.sources / path.partition("/")[0]))
            findings.append(Finding("warning", f"{gap.name}: {gap.consequence}", path, step))
    return findings


def _quarantine_findings(con: duckdb.DuckDBPyConnection) -> list[Finding]:
    findings = []
    for path, count, reason, first in con.execute(QUARANTINED).fetchall():
        lines = "line was" if count == 1 else "lines were"
        what = f"{count:,} {lines} not understood, mostly {reason}, the first is line {first}"
        step = f"faultline query \"select line_number, reason, detail from ops.quarantine where path = '{path}'\""
        findings.append(Finding("warning", what, path, step))
    return findings


def _age_findings(con: duckdb.DuckDBPyConnection) -> list[Finding]:
    now = datetime.now(UTC).replace(tzinfo=None)
    return [
        Finding(
            "warning",
            f"its newest record is of {newest:%Y-%m-%d %H:%M} UTC, {(now - newest).days} days ago",
            f"{cluster_id}/sacct",
            "add a newer export, then run `faultline refresh`",
        )
        for cluster_id, newest in con.execute(NEWEST).fetchall()
        if newest is not None and now - newest > STALE_AFTER
    ]
