"""`faultline status`: what is published, how the last run ended, whether a run is under way, how old the data is.

It reads the published file, and opens the working file only while no refresh can start.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from assets.bad_clusters.ends import ENDS
from assets.not_computed import NOT_COMPUTED, failed_in_words
from assets.report.numbers import short
from assets.report.queries import SQL
from assets.report.wording import plural
from assets.rows import rows_of
from assets.seen_days import part_of_month
from assets.site_rules import counted_by_kind
from orchestration.environment import HomeSettings
from orchestration.home import Home
from orchestration.publication.folders import (
    current_publication,
    kept_publications,
    pinned_publication,
    was_published,
)
from orchestration.pull.outcomes import FAILED, PULLED, in_words, last_outcome
from orchestration.read_commands.age import ago, with_age
from orchestration.read_commands.published import NothingPublished, ReadingError, one_line, published
from orchestration.terminal import say_json, say_lines
from orchestration.upkeep.holder import Holder
from orchestration.upkeep.lock import free_of_refresh
from orchestration.values import plain

PUBLICATION = """
    select run_id, published_at, code_version from ops.published order by rowid desc limit 1
"""
LAST_RUN = """
    select run_id, started_at, ended_at, status, message from ops.runs order by rowid desc limit 1
"""
FILES = """
    select
        count(*) as file_count,
        coalesce(sum(lines_in), 0)::bigint as lines_in,
        coalesce(sum(loaded), 0)::bigint as loaded,
        coalesce(sum(skipped), 0)::bigint as skipped,
        coalesce(sum(quarantined), 0)::bigint as quarantined,
        count(*) filter (status = 'refused') as refused_count,
        count(*) filter (status = 'blind') as blind_count,
        count(*) filter (
            not is_present and version_of is null
        ) as vanished_count,
        count(*) filter (version_of is not null) as version_count
    from ops.files
"""
SAYS_WHY = "`faultline doctor` says why"
STAYS = "what was read of it stays, as logs rotate"
UNREAD = {
    "refused_count": ("file is not read", "files are not read", SAYS_WHY),
    "blind_count": ("log was not understood and shows nothing", "logs were not understood and show nothing", SAYS_WHY),
    "vanished_count": (
        "file was removed from the sources folder",
        "files were removed from the sources folder",
        STAYS,
    ),
    "version_count": (
        "older version of a file that has other bytes now",
        "older versions of files that have other bytes now",
        STAYS,
    ),
}
"""What is said of one file and of several that are not just read, and the next step, by the column that counts them."""
BLOCKED = "Dagster takes run {} for running, whose process died: what the schedule and the web UI start waits for it"
FREES_THE_QUEUE = "`faultline refresh` ends it, and so does `faultline ui`, at its start and every 10 minutes"
CHECKS = """
    select
        count(*) filter (passed) as passed,
        count(*) filter (not passed and is_blocking) as failed,
        count(*) filter (not passed and not is_blocking) as warned
    from ops.checks
    where run_id = (select run_id from ops.runs order by rowid desc limit 1)
"""
DOUBT = "select cluster_id, statement from estimates.est_evidence_reach where month_date is null and is_doubtful"
NUMBERS = """
    select
        rates.cluster_id,
        rates.has_enough_data,
        rates.note,
        if(rates.has_enough_data, rates.failures_per_1000_node_days, null) as failures_per_1000_node_days,
        if(rates.has_enough_data, rates.failures_per_1000_node_days_low, null) as failures_per_1000_node_days_low,
        if(rates.has_enough_data, rates.failures_per_1000_node_days_high, null) as failures_per_1000_node_days_high,
        if(losses.has_enough_data, losses.expected_lost_gpu_hours, null) as expected_lost_gpu_hours,
        if(losses.has_enough_data, losses.expected_lost_gpu_hours_low, null) as expected_lost_gpu_hours_low,
        if(losses.has_enough_data, losses.expected_lost_gpu_hours_high, null) as expected_lost_gpu_hours_high,
        losses.exposure as seen_days
    from estimates.est_failure_rates as rates
    left join estimates.est_lost_gpu_hours as losses
        on rates.cluster_id = losses.cluster_id and losses.period = 'last_30_days' and losses.loss = 'all'
    where rates.is_reference
"""
"""What is expected of each cluster: its failure rate, and what its last 30 days cost."""
WITHOUT_NUMBERS = f"""
    select cluster_id, array_to_string(reasons, chr(10)) as reason
    from ({ENDS})
    where cluster_end = 'no numbers'
    order by cluster_id
"""
UNMAPPED = "select kind, count(*) as signal_count from marts.agg_unmapped_signals group by kind"
FRESHNESS = """
    select
        clusters.cluster_id,
        clusters.is_simulated,
        clusters.data_through_at,
        clusters.is_stale,
        clusters.stale_reason,
        clusters.built_at,
        coalesce(attempts.record_count, 0) as record_count,
        attempts.newest_at,
        if(clusters.has_accounting, null, recorded.recorded_count) as recorded_count,
        recorded.last_recorded_at
    from marts.dim_clusters as clusters
    left join (
        select cluster_id, count(*) as record_count, max(ended_at) as newest_at from marts.fct_attempts group by all
    ) as attempts using (cluster_id)
    left join (
        select cluster_id, count(*) as recorded_count, max(started_at) as last_recorded_at
        from marts.fct_unit_failures
        group by all
    ) as recorded using (cluster_id)
    order by clusters.cluster_id
"""


def show_status(home: Home, as_json: bool = False, fresh_hours: float = HomeSettings.freshness_hours) -> bool:
    """Print the last publication, the last run and how fresh the data is; return whether all is well.

    It is not where the last run failed, a cluster is stale or an estimate could not be computed. Older data than
    `fresh_hours` is called old.

    Raises
    ------
    ReadingError
        As `status`; the JSON, without values, is printed before.
    """
    found = _gathered(home, fresh_hours)
    if as_json:
        say_json(found, indent=2)
    _require_something(found, home)
    if not as_json:
        say_lines(lines_of(found))
    is_stale = any(cluster["is_stale"] for cluster in found.get("clusters", []))
    has_failed = (found["last_run"] or {}).get("status") == "failed"
    return not (has_failed or is_stale or found.get("not_computed") or (found["published"] or {}).get("problem"))


def status(home: Home, fresh_hours: float = HomeSettings.freshness_hours) -> dict[str, Any]:
    """Gather the state of a home as plain values; times are ISO 8601 in UTC, ages in hours.

    Raises
    ------
    ReadingError
        The home has neither a publication nor a run.
    """
    found = _gathered(home, fresh_hours)
    _require_something(found, home)
    return found


def _require_something(found: dict[str, Any], home: Home) -> None:
    if not (found["published"] or found["last_run"] or found["running"]):
        raise NothingPublished(f"nothing is published in {home.root} yet; run `faultline refresh` first")


def _gathered(home: Home, fresh_hours: float) -> dict[str, Any]:
    found: dict[str, Any] = {"published": None, "last_run": None, "running": None, "files": None, "checks": None}
    found |= {"refused_since": [], "dead_run": None}
    current, pinned = current_publication(home), pinned_publication(home)
    if home.published_file.exists():
        found |= _state_of_published_file(home, fresh_hours)
    found["publications"] = [
        {
            "number": publication.number,
            "run_id": publication.run_id,
            "published_at": publication.published_at,
            "code_version": publication.code_version,
            "is_current": current is not None and publication.run_id == current.run_id,
        }
        for publication in kept_publications(home)
    ]
    found["pinned"] = pinned.number if pinned else None
    found["pulls"] = _pulls(home)
    with free_of_refresh(home.lock_file) as holder:
        if holder is not None:
            found["running"] = asdict(holder)
            return found
        if os.access(home.unfinished_run, os.R_OK):
            found["dead_run"] = home.unfinished_run.read_text(encoding="utf-8")
        if os.access(home.working_file, os.R_OK):
            found |= _state_of_working_file(home.working_file)
            run = found["last_run"]
            if run and run["status"] == "running":
                run |= {"status": "failed", "message": "stopped without an end"}
            if run and run["status"] == "succeeded" and not was_published(home, run["run_id"]):
                run |= {"status": "failed", "message": "stopped before its publication was finished"}
    return found


def _pulls(home: Home) -> list[dict[str, Any]]:
    """Tell how the last pull of each cluster with `[pull]` ended; of homes without one nothing is read."""
    if not os.access(home.pulls, os.R_OK):
        return []
    from orchestration.pull.clusters import clusters_to_pull

    found = {cluster_id: last_outcome(home, cluster_id) for cluster_id in clusters_to_pull(home.sources)}
    return [
        {"cluster_id": cluster_id, **_aged(asdict(outcome), "ended_at")}
        for cluster_id, outcome in found.items()
        if outcome is not None
    ]


def _state_of_published_file(home: Home, fresh_hours: float) -> dict[str, Any]:
    """Read the state of the published file; damage becomes part of the state."""
    try:
        with published(home.published_file) as con:
            last = _aged(_first(con, PUBLICATION) or {}, "published_at")
            numbers = {row["cluster_id"]: row for row in _rows(con, NUMBERS)}
            doubts = {row["cluster_id"]: row["statement"] for row in _rows(con, DOUBT)}
            for cluster_id, row in numbers.items():
                row["doubt"] = doubts.get(cluster_id)
            found = _state(con) | {
                "clusters": [
                    _aged(plain(with_age(row, fresh_hours)), "newest_at") | {"numbers": numbers.get(row["cluster_id"])}
                    for row in rows_of(con, FRESHNESS)
                ],
                "clusters_without_numbers": _rows(con, WITHOUT_NUMBERS),
                "not_computed": _rows(con, NOT_COMPUTED),
                "unmapped": {row["kind"]: row["signal_count"] for row in _rows(con, UNMAPPED)},
            }
    except (ReadingError, duckdb.Error) as error:
        return {"published": {"file": str(home.published_file), "problem": one_line(error)}}
    return {"published": last | {"file": str(home.published_file), "problem": None}} | found


def _state(con: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    refused = _rows(con, (SQL / "refused_files.sql").read_text(encoding="utf-8"))
    return {
        "last_run": _first(con, LAST_RUN),
        "files": _first(con, FILES),
        "refused_since": [
            {name: file[name] for name in ("cluster_id", "kind", "path", "since_at")}
            for file in refused
            if file["since_at"]
        ],
        "checks": _first(con, CHECKS),
    }


def _state_of_working_file(path: Path) -> dict[str, Any]:
    """Read the state of runs that were not published; return nothing if the file cannot be read."""
    try:
        with duckdb.connect(str(path), read_only=True) as con:
            return {key: value for key, value in _state(con).items() if value is not None}
    except duckdb.Error:
        return {}


def _rows(con: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    return [plain(row) for row in rows_of(con, sql)]


def _first(con: duckdb.DuckDBPyConnection, sql: str) -> dict[str, Any] | None:
    return next(iter(_rows(con, sql)), None)


def _aged(row: dict[str, Any], column: str) -> dict[str, Any]:
    moment = row.get(column)
    age = (datetime.now(UTC) - datetime.fromisoformat(moment)).total_seconds() / 3600 if moment else None
    return row | {column: moment, "age_hours": None if age is None else round(age, 2)}


def lines_of(found: dict[str, Any]) -> list[str]:
    """Put the state into lines."""
    lines = []
    if running := found["running"]:
        lines.append(f"refresh    running ({Holder(**running)})")
    lines += _published_lines(found)
    if run := found["last_run"]:
        lines.append(f"last run   {run['status']}, started {_moment(run['started_at'])}, run {run['run_id']}")
        lines.extend(f"           {line}" for line in (run["message"] or "").splitlines())
        if run["status"] == "failed":
            stays = "the last publication stays; " if found["published"] else ""
            lines.append(f"           {stays}repair what the message names, then run `faultline refresh`")
    if found["dead_run"]:
        lines.append(f"queue      blocked: {BLOCKED.format(found['dead_run'])}; {FREES_THE_QUEUE}")
    if files := found["files"]:
        lines.append(
            f"input      {plural(files['file_count'], 'file')}; {files['lines_in']:,} lines ="
            f" {files['loaded']:,} loaded + {files['skipped']:,} skipped + {files['quarantined']:,} quarantined"
        )
        lines += _file_lines(found)
    if checks := found["checks"]:
        lines.append(
            f"checks     {checks['passed']:,} passed, {checks['failed']:,} failed, {checks['warned']:,} warnings"
        )
    lines.extend(f"estimate   {failed_in_words(row)}" for row in found.get("not_computed", []))
    lines += _cluster_lines(found)
    if found.get("unmapped"):
        lines.append(
            f"unmapped   {counted_by_kind(found['unmapped'])}; `faultline doctor --rules` prints lines that map them"
        )
    lines.extend(line for pull in found["pulls"] for line in _pull_lines(pull))
    for kept in found["publications"]:
        seen = ", what readers see" if kept["is_current"] else ""
        moment = f"of {_moment(kept['published_at'])}, " if kept["published_at"] else ""
        lines.append(f"kept       publication {kept['number']} {moment}run {kept['run_id']}{seen}")
    return lines


def _file_lines(found: dict[str, Any]) -> list[str]:
    """Count the files that are not read, are gone or have other bytes now, and say since when some tell nothing."""
    files = found["files"]
    return [
        *(
            f"           {plural(files[name], one, many)}; {next_step}"
            for name, (one, many, next_step) in UNREAD.items()
            if files[name]
        ),
        *(
            f"           {file['path']} tells of nothing after {_moment(file['since_at'])}; `faultline doctor` says why"
            for file in found["refused_since"]
        ),
    ]


def _cluster_lines(found: dict[str, Any]) -> list[str]:
    """Show how old the data of each cluster is, and why it is not newer."""
    lines = []
    for cluster in found.get("clusters", []):
        name = f"{cluster['cluster_id']}{' (simulated)' if cluster['is_simulated'] else ''}"
        fresh = (
            f"newest end {_moment(cluster['newest_at'])} ({ago(cluster['age_hours'])})"
            if cluster["newest_at"]
            else "empty"
        )
        counted = f"{cluster['record_count']:,} accounting records, {fresh}"
        if cluster["recorded_count"]:
            last = _moment(cluster["last_recorded_at"])
            counted = f"{plural(cluster['recorded_count'], 'recorded failure')}, the last {last}"
        lines.append(f"cluster    {name}: {counted}")
        lines.extend(f"           {line}" for line in (_numbers_line(cluster), _old_line(cluster)) if line)
        if cluster["is_stale"]:
            lines.append(
                f"           STALE: its numbers are of {_moment(cluster['built_at'])}; there are no newer ones:"
            )
            lines.extend(f"           {line}" for line in cluster["stale_reason"].splitlines())
    for cluster in found.get("clusters_without_numbers", []):
        lines.append(f"cluster    {cluster['cluster_id']}: WITHOUT NUMBERS, it could not be built:")
        lines.extend(f"           {line}" for line in cluster["reason"].splitlines())
    return lines


def _numbers_line(cluster: dict[str, Any]) -> str:
    """Say what is expected of a cluster, with limits, or why nothing can be told."""
    numbers = cluster["numbers"]
    if not numbers:
        return ""
    if not numbers["has_enough_data"] or numbers["failures_per_1000_node_days_high"] is None:
        return str(numbers["note"])
    rate, lost = (_limited(numbers, name) for name in ("failures_per_1000_node_days", "expected_lost_gpu_hours"))
    seen = part_of_month(numbers["seen_days"]) or "its last 30 days"
    at_least, doubt = ("at least ", f"; {numbers['doubt']}") if numbers["doubt"] else ("", "")
    return f"{rate} failures per 1,000 node-days; {at_least}{lost} GPU-hours lost in {seen}{doubt}"


def _limited(row: dict[str, Any], name: str) -> str:
    value, low, high = (row[f"{name}{end}"] for end in ("", "_low", "_high"))
    return f"{short(value or 0.0)} [{short(low)}, {short(high)}]"


def _old_line(cluster: dict[str, Any]) -> str:
    if not cluster["is_old"]:
        return ""
    return (
        f"OLD: its data ends {_moment(cluster['data_through_at'])} ({ago(cluster['data_age_hours'])}); put newer logs"
        " into its folder and run `faultline refresh`"
    )


def _pull_lines(pull: dict[str, Any]) -> list[str]:
    """Show how the last pull of a cluster ended and, where something failed, why and what to do."""
    ended = {PULLED: "all fetched", FAILED: "FAILED"}.get(pull["status"], "fetched in part")
    lines = [
        f"pull       {pull['cluster_id']}: {ended} {_moment(pull['ended_at'])} ({ago(pull['age_hours'])}),"
        f" accounting up to {in_words(pull['pulled_to'])}"
    ]
    lines.extend(f"           {line}" for line in (pull["reason"] or "").splitlines())
    lines.extend(f"           next: {line}" for line in (pull["next_step"] or "").splitlines())
    return lines


def _published_lines(found: dict[str, Any]) -> list[str]:
    publication = found["published"]
    if not publication:
        return ["published  nothing yet"]
    if publication["problem"]:
        first = f"published  damaged: {publication['problem']}"
    else:
        first = (
            f"published  {_moment(publication['published_at'])} ({ago(publication['age_hours'])}), "
            f"run {publication['run_id']}, code {publication['code_version']}"
        )
    lines = [first, f"           {publication['file']}"]
    if found["pinned"]:
        lines.append(
            f"           pinned by `faultline rollback` to publication {found['pinned']}, until new logs come or"
            " `faultline refresh --full` is run"
        )
    return lines


def _moment(text: str) -> str:
    """Shorten ISO 8601 to the minute."""
    return f"{text[:16].replace('T', ' ')} UTC"
