"""`faultline status`: the publication, the outcome of the last run, a run in progress, and the age of the data.

It reads the published file, and opens the working file only while no refresh can start.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from assets.bad_clusters.cluster_outcomes import CLUSTER_OUTCOMES
from assets.not_computed import NOT_COMPUTED
from assets.report.queries import SQL, queries_of
from assets.rows import rows_of
from orchestration.publication.folders import (
    current_publication,
    kept_publications,
    pinned_publication,
    was_published,
)
from orchestration.pull.outcomes import last_outcome
from orchestration.read_commands import saying
from orchestration.read_commands.age import with_age
from orchestration.read_commands.published import NothingPublished, ReadingError, one_line, published
from orchestration.settings.environment import HomeSettings
from orchestration.settings.home import Home
from orchestration.terminal.output import say_json, say_lines
from orchestration.terminal.values import plain
from orchestration.upkeep.holder import Holder
from orchestration.upkeep.lock import free_of_refresh
from orchestration.upkeep.permissions import writable_by_others

BLOCKED = "Dagster lists the dead run {} as running: runs of the schedule and of the web UI wait for it"
FREES_THE_QUEUE = "`faultline refresh` ends it, and so does `faultline ui`, at its start and every 10 minutes"
QUERIES = queries_of("status")
WITHOUT_NUMBERS = f"""
    select cluster_id, array_to_string(reasons, chr(10)) as reason
    from ({CLUSTER_OUTCOMES})
    where cluster_end = 'no numbers'
    order by cluster_id
"""


def show_status(home: Home, as_json: bool = False, fresh_hours: float = HomeSettings.freshness_hours) -> bool:
    """Print the last publication, the last run and the age of the data; return whether all is well.

    Returns False if the last run failed, a cluster is stale or an estimate could not be computed. Data older than
    `fresh_hours` is marked as old.

    Raises
    ------
    ReadingError
        As `status`; the JSON, without values, is printed first.
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
    """Return the state of a home as plain values; times are ISO 8601 in UTC, ages in hours.

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
    found["writable_by_others"] = [asdict(place) for place in writable_by_others(home)]
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
    """Return the last pull of each cluster with `[pull]`; nothing is read if there is no pull."""
    if not os.access(home.pulls, os.R_OK):
        return []
    from orchestration.pull.clusters import clusters_to_pull

    found = {cluster_id: last_outcome(home, cluster_id) for cluster_id in clusters_to_pull(home.sources)}
    return [_aged(outcome.row(), "ended_at") for outcome in found.values() if outcome is not None]


def _state_of_published_file(home: Home, fresh_hours: float) -> dict[str, Any]:
    """Return the state of the published file; damage becomes part of the state."""
    try:
        with published(home.published_file) as con:
            last = _aged(_first(con, QUERIES["publication"]) or {}, "published_at")
            numbers = {row["cluster_id"]: row for row in _rows(con, QUERIES["numbers"])}
            doubts = {row["cluster_id"]: row["statement"] for row in _rows(con, QUERIES["doubts"])}
            for cluster_id, row in numbers.items():
                row["doubt"] = doubts.get(cluster_id)
            found = _state(con) | {
                "clusters": [
                    _aged(plain(with_age(row, fresh_hours)), "newest_at") | {"numbers": numbers.get(row["cluster_id"])}
                    for row in rows_of(con, QUERIES["clusters"])
                ],
                "clusters_without_numbers": _rows(con, WITHOUT_NUMBERS),
                "not_computed": _rows(con, NOT_COMPUTED),
                "unmapped": {row["kind"]: row["signal_count"] for row in _rows(con, QUERIES["unmapped"])},
            }
    except (ReadingError, duckdb.Error) as error:
        return {"published": {"file": str(home.published_file), "problem": one_line(error)}}
    return {"published": last | {"file": str(home.published_file), "problem": None}} | found


def _state(con: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    refused = _rows(con, (SQL / "refused_files.sql").read_text(encoding="utf-8"))
    return {
        "last_run": _first(con, QUERIES["last_run"]),
        "files": _first(con, QUERIES["files"]),
        "refused_since": [
            {name: file[name] for name in ("cluster_id", "kind", "path", "since_at")}
            for file in refused
            if file["since_at"]
        ],
        "checks": _first(con, QUERIES["checks"]),
    }


def _state_of_working_file(path: Path) -> dict[str, Any]:
    """Return the state of runs that were not published; empty if the file cannot be read."""
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
    """Return the state as lines for people."""
    holder, dead = found["running"], found["dead_run"]
    blocked = f"{BLOCKED.format(dead)}; {FREES_THE_QUEUE}" if dead else ""
    return saying.lines_of("status", **found, holder=Holder(**holder) if holder else None, blocked=blocked)
