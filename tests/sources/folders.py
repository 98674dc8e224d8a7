"""Makes sources folders and loads them into raw tables in memory, as a refresh does, but without Dagster."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from assets.sources.intake.across_files import settle
from assets.sources.intake.find.clusters import write_clusters
from assets.sources.intake.find.folder import survey
from assets.sources.intake.find.known_files import known_files, with_history
from assets.sources.intake.loading import LoadResult, load_kinds
from assets.sources.reader import Reader
from assets.sources.sacct import reader as sacct
from assets.warehouse import create_raw_and_ops

PROJECT = Path(__file__).parents[2]
CAPTURE = PROJECT / "data" / "sources"
DIALECTS = PROJECT / "tests" / "fixtures" / "slurm-22.05"
ONLY_SACCT: Mapping[str, Reader] = {"sacct": sacct}
MODIFIED = datetime(2026, 11, 22, tzinfo=UTC)


def connect() -> duckdb.DuckDBPyConnection:
    """Open an empty warehouse in memory."""
    con = duckdb.connect(config={"threads": 1})
    con.execute("set timezone = 'UTC'")
    create_raw_and_ops(con)
    return con


def make(folder: Path, files: Mapping[str, str | bytes], modified: datetime = MODIFIED) -> Path:
    """Write files below a sources folder and return the folder."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        os.utime(path, (modified.timestamp(), modified.timestamp()))
    return folder


def load(
    folder: Path,
    con: duckdb.DuckDBPyConnection | None = None,
    readers: Mapping[str, Reader] = ONLY_SACCT,
    run_id: str = "run",
    full: bool = False,
) -> duckdb.DuckDBPyConnection:
    """Load a folder into a warehouse, check that every line is accounted for, and return the warehouse."""
    con = con or connect()
    load_results(folder, con, readers, run_id, full)
    return con


def load_results(
    folder: Path,
    con: duckdb.DuckDBPyConnection,
    readers: Mapping[str, Reader] = ONLY_SACCT,
    run_id: str = "run",
    full: bool = False,
) -> dict[str, LoadResult]:
    """Load a folder as `load` does, and return the results of reading by kind."""
    known = known_files(con)
    found = survey(folder, readers, known, full=full, with_history=with_history(known))
    write_clusters(con, found)
    results = load_kinds(con, found, readers, run_id, full=full)
    settle(con, found, readers)
    assert violations(con) == []
    return results


def violations(con: duckdb.DuckDBPyConnection) -> list[tuple[str, str, int, int, int, int]]:
    """List the files with lost lines: cluster, path, lines in, loaded, skipped, quarantined."""
    return con.execute(
        """
        select cluster_id, path, lines_in, loaded, skipped, quarantined
        from ops.files where lines_in <> loaded + skipped + quarantined order by cluster_id, path
        """
    ).fetchall()


def rows(con: duckdb.DuckDBPyConnection, query: str) -> list[dict[str, Any]]:
    """Return a query's rows as dictionaries."""
    cursor = con.execute(query)
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, values, strict=True)) for values in cursor.fetchall()]


def attempts(con: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    """Return the rows of raw.sacct without their places, by job and submission."""
    places = "cluster_id, path, line_number, disposition"
    return rows(con, f"select * exclude ({places}) from raw.sacct order by job_id_raw, submitted_at")


FACTS = (
    "job_id, job_id_raw, array_job_id, array_task_id, het_job_id, het_offset, user_name, account, partition, qos, "
    "job_name, submitted_at, eligible_at, started_at, ended_at, elapsed_seconds, state, state_raw, cancelled_by_uid, "
    "exit_code, exit_signal, derived_exit_code, derived_exit_signal, node_list, node_ids, requested_node_count, "
    "gpu_count, gpu_count_source, gpu_type, requested_gpu_count, cpu_count, time_limit_seconds, restart_count, "
    "failed_node_id, pending_reason, flags, submit_line, excluded_node_ids"
)
"""Columns with equal values in every form of one export."""


def facts(con: duckdb.DuckDBPyConnection) -> list[tuple[Any, ...]]:
    """Return the loaded accounting records without their places, in a fixed order."""
    return con.execute(
        f"select cluster_id, {FACTS} from raw.sacct where disposition = 'loaded' order by job_id_raw, submitted_at"
    ).fetchall()


def counts(con: duckdb.DuckDBPyConnection) -> tuple[int, int, int, int]:
    """Return lines in, loaded, skipped and quarantined over all files."""
    row = con.execute("select sum(lines_in), sum(loaded), sum(skipped), sum(quarantined) from ops.files").fetchone()
    assert row is not None
    return tuple(int(value or 0) for value in row)  # type: ignore[return-value]


def everything(con: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[Any, ...]]]:
    """Return every row of raw and of the accounts by table, without the run that read a file."""
    names = con.execute(
        """
        select schema_name || '.' || table_name from duckdb_tables()
        where schema_name = 'raw' or table_name in ('files', 'skips', 'quarantine')
        """
    ).fetchall()
    return {
        name: con.execute(f"select columns(lambda name: name <> 'run_id') from {name} order by all").fetchall()
        for (name,) in names
    }
