"""Findings from the last publication: refused files, warnings of readers, quarantined lines, gaps, old data."""

from __future__ import annotations

import json
import re
import shlex
from collections import defaultdict
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from itertools import groupby

import duckdb

from assets.bad_clusters.cluster_outcomes import CLUSTER_OUTCOMES
from assets.log_kinds import LOG_KINDS, START, WARNINGS, parts_of
from assets.not_computed import NOT_COMPUTED, failed_in_words
from assets.report.gaps import longest_gap
from assets.report.numbers import moment, share
from assets.report.queries import SQL, Row, rows_of
from assets.report.wording import plural, stale
from assets.site_rules import LISTED, Signal, counted, lines_of
from assets.sources.intake.account.spans import MAX_AHEAD
from assets.sources.intake.cluster_failures import FOLDER_GONE, gone_step
from assets.sql import literal
from orchestration.doctor.findings import Finding
from orchestration.read_commands.age import ago
from orchestration.read_commands.published import published
from orchestration.settings.home import Home

NOT_READ = "not read"
_PLAIN = re.compile(r'[^"$`!\\\n]*')
"""Text that a shell does not interpret between double quotes."""
_NAMED = re.compile(r"rows say '([^']*)'")
"""The cluster's name in the warning that rows belong to another cluster."""
STALE_AFTER = timedelta(days=2)
MAX_SIGNALS = 50
"""The most unknown signals that are listed for a cluster."""
MIN_COVERED_RATIO = 0.95
"""A log that covers less of the study period is reported: by default, sacct exports one day."""
CLUSTERS_BUILT = "select cluster_id from marts.dim_clusters where not is_stale order by cluster_id"
STALE = f"from ({CLUSTER_OUTCOMES}) where is_stale order by cluster_id"
WARNED = """
    select path, unnest(warnings) as warning from ops.files order by all
"""
QUARANTINED = """
    select path, count(*) as line_count, mode(reason) as usual_reason, min(line_number) as first_line
    from ops.quarantine
    group by path
    order by path
"""
NEWEST = """
    -- A running job is as new as the export that shows it.
    select
        clusters.cluster_id,
        clusters.is_simulated,
        max(greatest(attempts.submitted_at, attempts.ended_at, dims.data_through_at)) as newest_at
    from raw.clusters as clusters
    inner join marts.dim_clusters as dims using (cluster_id)
    inner join marts.fct_attempts as attempts using (cluster_id)
    group by clusters.cluster_id, clusters.is_simulated
    order by clusters.cluster_id
"""
NODE_SIZES = """
    -- Without an inventory: the most GPUs that a job had on a node, and the assumed number of GPUs of a node.
    select
        clusters.cluster_id, clusters.gpus_per_node,
        cast(max(ceil(attempts.gpu_count / attempts.node_count)) as integer) as most_gpus
    from marts.dim_clusters as clusters
    inner join marts.fct_attempts as attempts using (cluster_id)
    where
        attempts.node_count > 0
        and clusters.cluster_id not in (
            select cluster_id from marts.dim_nodes where gpu_count_source = 'inventory' and gpu_count > 0
        )
    group by all
    having most_gpus > 0 and most_gpus <> clusters.gpus_per_node
    order by clusters.cluster_id
"""

REFUTED_ATTEMPTS = "select * from marts.fct_attempts where gpu_count_source = 'refuted'"
REFUTED = """
    select
        cluster_id, count(*), min_by(source_path || ', line ' || source_line_number, (source_path, source_line_number))
    from marts.fct_attempts
    where gpu_count_source = 'refuted'
    group by cluster_id
    order by cluster_id
"""


def warehouse_findings(home: Home) -> list[Finding]:
    """Return the findings; none if nothing is published."""
    if not home.published_file.exists():
        return []
    with published(home.published_file) as con:
        stale_clusters, refused = _stale_findings(con), _refused_findings(con)
        bad_files = {finding.where for finding in refused}
        return [
            *stale_clusters,
            *_not_computed_findings(con, home),
            # The finding on a stale cluster already names these files.
            *(
                finding
                for finding in refused
                if not any(f"{finding.where}: " in cluster.what for cluster in stale_clusters)
            ),
            *(
                finding
                for finding in (*_file_findings(con, home), *_quarantine_findings(con))
                if finding.where not in bad_files
            ),
            *_span_findings(con, home),
            *_node_size_findings(con, home),
            *_refuted_findings(con),
            *_folder_findings(con, home),
            *_unmapped_findings(con, home),
            *_age_findings(con),
        ]


def _stale_findings(con: duckdb.DuckDBPyConnection) -> list[Finding]:
    """List the clusters that keep older numbers, for whatever reason; the folder may be in order by now."""
    return [
        Finding("error", stale(cluster), cluster["cluster_id"], "repair what it names, then run `faultline refresh`")
        for cluster in rows_of(con, STALE)
    ]


def _not_computed_findings(con: duckdb.DuckDBPyConnection, home: Home) -> list[Finding]:
    step = f"where memory ran out, raise FAULTLINE_MEMORY; else send {home.other_output} to the maintainers; then "
    return [
        Finding("error", failed_in_words(row), str(home.published_file), f"{step}run `faultline refresh`")
        for row in rows_of(con, NOT_COMPUTED)
    ]


def _refused_findings(con: duckdb.DuckDBPyConnection) -> list[Finding]:
    """List files that were not read, not read to their end, or not understood.

    A cluster with such accounting keeps its last good data.
    """
    return [
        Finding(
            "error" if file["kind"] == "sacct" else "warning", _refusal(file), file["path"], file["next_step"] or ""
        )
        for file in rows_of(con, (SQL / "refused_files.sql").read_text(encoding="utf-8"))
    ]


def _refusal(file: Row) -> str:
    what = f"{NOT_READ}: {file['reason']}" if file["status"] == "refused" else file["reason"]
    if file["since_at"] is None:
        return what
    return f"{what}; older versions of it count, which end at {moment(file['since_at'])} UTC"


def _first_days(con: duckdb.DuckDBPyConnection) -> Mapping[str, str]:
    """Return the first day of each cluster's study period, as exports take it."""
    days = con.execute("select cluster_id, strftime(study_from_at, '%Y-%m-%d') from marts.dim_clusters").fetchall()
    return defaultdict(lambda: START, {cluster_id: day for cluster_id, day in days if day})


def _file_findings(con: duckdb.DuckDBPyConnection, home: Home) -> list[Finding]:
    """Return the warnings of readers in the words of the report; an unknown warning is shown unchanged."""
    findings, first_days = [], _first_days(con)
    for path, warning in con.execute(WARNED).fetchall():
        name, _, detail = warning.partition(": ")
        gap = WARNINGS.get(name)
        if gap is None:
            seen = _query(f"select warnings from ops.files where path = {literal(path)}")
            findings.append(Finding("warning", warning.replace("_", " "), path, seen))
        else:
            folder = home.sources / path.partition("/")[0]
            step = "".join(parts_of(gap.step, folder, first_days[folder.name]))
            if named := _NAMED.match(detail):
                step = step.replace('"NAME"', json.dumps(named[1])).replace(", with the name in the rows", "")
            what = f"{gap.name}, {detail}" if detail else gap.name
            findings.append(Finding("warning", f"{what}: {gap.consequence}", path, step))
    return findings


def _query(sql: str) -> str:
    """Return a `faultline query` command, quoted so that a shell runs no part of a file's name."""
    return f'faultline query "{sql}"' if _PLAIN.fullmatch(sql) else f"faultline query {shlex.quote(sql)}"


def _quarantine_findings(con: duckdb.DuckDBPyConnection) -> list[Finding]:
    findings = []
    for path, count, reason, first in con.execute(QUARANTINED).fetchall():
        lines = "line was" if count == 1 else "lines were"
        what = f"{count:,} {lines} not understood, mostly {reason}, the first is line {first}"
        step = _query(f"select line_number, reason, detail from ops.quarantine where path = {literal(path)}")
        findings.append(Finding("warning", what, path, step))
    return findings


def _span_findings(con: duckdb.DuckDBPyConnection, home: Home) -> list[Finding]:
    """Report logs that cover only a part of the study period."""
    covered, first_days = rows_of(con, (SQL / "spans.sql").read_text(encoding="utf-8")), _first_days(con)
    return [
        _span_finding(span, home, first_days[span["cluster_id"]])
        for span in covered
        if LOG_KINDS[span["kind"]].is_continuous
        and span["covered_ratio"] is not None
        and (span["covered_ratio"] < MIN_COVERED_RATIO or (span["kind"] == "sacct" and span["gap_count"]))
    ]


def _span_finding(covered: Row, home: Home, first_day: str) -> Finding:
    folder = f"{covered['cluster_id']}/{covered['kind']}"
    what = f"covers {share(covered['covered_ratio'])} of the study period, {moment(covered['from_at'])} to "
    what += f"{moment(covered['to_at'])} UTC"
    if gap := longest_gap(covered):
        what += f" without {gap.removeprefix('the longest: ')}"
    command = LOG_KINDS[covered["kind"]].export_to(home.sources / folder, first_day)
    step = f"export the rest: {command}; if the log is whole, say so under [[spans]] in cluster.toml"
    seen = "jobs" if covered["kind"] == "sacct" else "causes"
    return Finding("warning", f"{what}: outside these times, {seen} seen only in this log are unknown", folder, step)


def _node_size_findings(con: duckdb.DuckDBPyConnection, home: Home) -> list[Finding]:
    """Report clusters without an inventory whose jobs contradict the assumed number of GPUs per node."""
    return [
        Finding(
            "warning",
            f"jobs had at most {most_gpus} GPUs on a node, and Faultline assumes {gpus_per_node} per node: plans and "
            "projections count nodes by that",
            f"{cluster_id}/inventory",
            f"{LOG_KINDS['inventory'].export_to(home.sources / cluster_id / 'inventory')}; or put `gpus_per_node` into "
            f"{cluster_id}/cluster.toml",
        )
        for cluster_id, gpus_per_node, most_gpus in con.execute(NODE_SIZES).fetchall()
    ]


def _refuted_findings(con: duckdb.DuckDBPyConnection) -> list[Finding]:
    """Report accounting records with more GPUs than their nodes have."""
    return [
        Finding(
            "warning",
            f"{plural(count, 'attempt')} with more GPUs than the nodes have, such as {example}: they count as unknown",
            cluster_id,
            f"look at them: {_query(f'{REFUTED_ATTEMPTS} and cluster_id = {literal(cluster_id)}')}",
        )
        for cluster_id, count, example in con.execute(REFUTED).fetchall()
    ]


def _folder_findings(con: duckdb.DuckDBPyConnection, home: Home) -> list[Finding]:
    """List the clusters without a folder; a cluster that is stale for this is reported as stale."""
    if not home.sources.is_dir():
        return []
    return [
        Finding("warning", FOLDER_GONE, cluster_id, gone_step(cluster_id))
        for (cluster_id,) in con.execute(CLUSTERS_BUILT).fetchall()
        if not (home.sources / cluster_id).is_dir()
    ]


def _unmapped_findings(con: duckdb.DuckDBPyConnection, home: Home) -> list[Finding]:
    """List by cluster the signals that no rule knows, the most informative first, with the lines that map them."""
    findings: list[Finding] = []
    for cluster_id, rows in groupby(rows_of(con, LISTED), key=lambda row: row["cluster_id"]):
        if not (home.sources / cluster_id).is_dir():
            continue
        signals = list(map(Signal.of, rows))
        shown = signals[:MAX_SIGNALS]
        step = f"paste what concerns you into {cluster_id}/cluster.toml, with the right category"
        if len(shown) < len(signals):
            step += f"; these are the most informative {len(shown)} of {len(signals):,}, all are in "
            step += "marts.agg_unmapped_signals"
        findings.append(
            Finding(
                "warning",
                f"no rule knows {counted(signals)}: failures that they announce stay without a cause",
                cluster_id,
                step,
                paste=tuple(line for signal in shown for line in lines_of(signal)),
            )
        )
    return findings


def _age_findings(con: duckdb.DuckDBPyConnection) -> list[Finding]:
    """Report accounting that is old, or later than this machine's clock."""
    now = datetime.now(UTC).replace(tzinfo=None)
    findings = []
    for cluster_id, is_simulated, newest in con.execute(NEWEST).fetchall():
        if newest is None:
            continue
        what, folder = f"its newest record is of {newest:%Y-%m-%d %H:%M} UTC, ", f"{cluster_id}/sacct"
        if newest - now > MAX_AHEAD:
            what += f"and this machine's clock says {now:%Y-%m-%d %H:%M} UTC"
            step = "set the clock or check the exports, then run `faultline refresh`"
            findings.append(Finding("warning", what, folder, step))
        elif now - newest > STALE_AFTER and not is_simulated:
            what += ago((now - newest) / timedelta(hours=1))
            findings.append(Finding("warning", what, folder, "add a newer export, then run `faultline refresh`"))
    return findings
