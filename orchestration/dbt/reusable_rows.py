"""Decide which rows of incremental models can be reused from the last publication.

Before dbt starts, the current contents of raw are compared with schema `built` of the working file, which holds what
these models were last built from. If only records or check results changed, schema `touched` lists the affected jobs
and the first affected moment of each check while dbt runs, and dbt builds on in the file of the last publication. In
every other case the intermediate tables are dropped, so that dbt builds them whole and no table stays of a model that
is gone, and the publication is built anew in an empty file: after a refresh that published nothing, under another
version of the code, with other settings, nodes or names, or if many records changed.
This module decides nothing about single rows: the lookups that models declare do (`dbt_project/macros/incremental/`).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb

from assets.sql import identifier
from assets.warehouse import PUBLICATION, transaction
from orchestration.home import code_version

MAX_NEW_SHARE = 0.2
"""Share of all records. If more changed, building anew costs less than finding the rows that can be reused."""

_LAST_PUBLISHED = "select run_id, code_version from {}.ops.published order by rowid desc limit 1"

LARGE_FILE_LINES = 100_000
"""A file of more lines is compared part by part: a log that grows has most of its rows in common with the night before.
The rows of a smaller one all count as changed once it was read again."""
PART_LINES = 20_000

_INPUTS = {
    "clusters": "from raw.clusters",
    # As stg_inventory__nodes tells them: what the latest snapshot leaves out comes from the latest that has it.
    "nodes": """
        select
            cluster_id, node_id,
            coalesce(any_value(gpu_count) filter (is_latest), max_by(gpu_count, place)) as gpu_count,
            coalesce(any_value(cpu_count) filter (is_latest), max_by(cpu_count, place)) as cpu_count,
            max(gpu_count) as max_gpu_count
        from (
            select *, disposition = 'loaded' as is_latest, (captured_at, path, line_number) as place
            from raw.nodes where disposition in ('loaded', 'duplicate')
        )
        group by cluster_id, node_id
        having bool_or(is_latest)
    """,
    # Records without GPUs have none from the day on from which others name theirs (int_gpu_counts).
    "first_gpus": """
        select cluster_id, date_trunc('day', min(coalesce(started_at, submitted_at))) as gpus_tracked_from
        from raw.sacct
        where disposition = 'loaded' and gpu_count_source in ('tres', 'tres_typed')
        group by cluster_id
    """,
    "node_names": "from raw.node_names",
    "host_names": "from raw.host_names",
}
"""What incremental models read beside the records, by table of schema `built`. A change of these may change any row."""

_ONLY_ADDED = {"node_names"}
"""Inputs in which a new row changes no existing row. If a new name changes the meaning of another, that row differs."""

_PARTS = {"sacct": ("sacct", "min(submitted_at)"), "health": ("health_checks", "min(observed_at)")}
"""By kind of log: the raw table, and the first moment of a part."""

_TOUCHED = {
    # Repeats as well: a record may replace another one, always of the same job. A node that is known only now may have
    # been excluded by jobs whose records lie in files that have not changed.
    "jobs": f"""
        select distinct cluster_id, job_id_raw
        from (select *, line_number // {PART_LINES} as part from raw.sacct)
        semi join changed_sacct_parts using (cluster_id, path, part)
        union
        select cluster_id, job_id_raw from intermediate.int_attempts as attempts
        semi join changed_sacct_parts as parts
            on parts.cluster_id = attempts.cluster_id and parts.path = attempts.source_path
            and parts.part = attempts.source_line_number // {PART_LINES}
        union
        select cluster_id, job_id_raw
        from (select cluster_id, job_id_raw, unnest(excluded_node_ids) as node_id from raw.sacct)
        semi join (
            select cluster_id, node_id from raw.node_names except select cluster_id, node_id from built.node_names
        ) as names using (cluster_id, node_id)
    """,
    # One row. Without a touched job it is an empty interval, from the latest possible day to the earliest. A running
    # job holds its nodes until it was last seen; only the models know when that was.
    "days": """
        select
            coalesce(min(started_at)::date, date '9999-12-31') as first_day,
            coalesce(max(coalesce(ended_at, timestamp '9999-12-31'))::date, date '0001-01-01') as last_day
        from (
            select started_at, ended_at from intermediate.int_attempts
            semi join touched.jobs using (cluster_id, job_id_raw)
            union all
            select started_at, ended_at from raw.sacct semi join touched.jobs using (cluster_id, job_id_raw)
            where disposition = 'loaded'
        )
        where started_at is not null
    """,
    # Results of a name that is a node only now lie in files that have not changed.
    "health_checks": """
        select cluster_id, min(first_at) as first_at
        from (
            select cluster_id, first_at from changed_health_parts
            union all
            select cluster_id, observed_at
            from raw.health_checks
            semi join (from raw.node_names except from built.node_names) as names
                on names.cluster_id = health_checks.cluster_id and names.name_as_seen = health_checks.node_name
        )
        where first_at is not null
        group by cluster_id
    """,
    "node_boots": "from intermediate.int_node_boots",
    "check_silences": """
        select distinct cluster_id, check_stream, check_first_failed_at, silence_seconds
        from intermediate.int_health_streams
    """,
    "jobs_chained": "from intermediate.int_jobs_chained",
    "het_jobs_sized": "from intermediate.int_het_jobs_sized",
}
"""Queries by table of schema `touched`: the affected jobs, and what was built that may change without new records."""


def prepare_reuse(con: duckdb.DuckDBPyConnection, run_id: str, manifest: Path, *, is_full: bool = False) -> str | None:
    """Remove from the last publication everything that cannot be reused, or say why nothing can.

    Parameters
    ----------
    con
        A writing connection to the working file, with the publication attached.
    run_id
        The run that builds.
    manifest
        dbt's, which says which models are incremental.
    is_full
        Whether nothing is to be reused. Files that are read again may have the rows that they had.

    Returns
    -------
    None, or the reason why everything has to be built anew. The publication is unchanged then; remove it.
    """
    con.execute("drop schema if exists touched cascade")
    with transaction(con):
        reason = "a full refresh" if is_full else _why_file_is_outdated(con) or _changed_input(con)
        _list_parts(con, is_first=reason is not None)
        reason = reason or _find_touched(con)
        con.execute("drop schema if exists built cascade")
        con.execute("create schema built")
        con.execute("create table built.run as select $run_id as run_id", {"run_id": run_id})
        for name, query in {**_INPUTS, **{f"{kind}_parts": f"from {kind}_parts" for kind in _PARTS}}.items():
            con.execute(f"create table built.{name} as {query}")
        if reason is not None:
            con.execute("drop schema if exists intermediate cascade")
    if reason is None:
        _drop_all_except(con, _incremental_tables(manifest))
    return reason


def forget_what_was_built(con: duckdb.DuckDBPyConnection) -> None:
    """Make the next full build start from nothing, as it must after only some models were built."""
    con.execute("drop schema if exists touched cascade; drop schema if exists built cascade")


def forget_touched(con: duckdb.DuckDBPyConnection) -> None:
    """Drop schema `touched`, which is valid for one build only."""
    con.execute("drop schema if exists touched cascade")


def _why_file_is_outdated(con: duckdb.DuckDBPyConnection) -> str | None:
    """Check that this file holds the last publication, built by the current version of the code."""
    ((database,),) = _rows(con, "select current_database()")
    tables = _rows(con, "select database_name, schema_name, table_name from duckdb_tables()")
    if (database, "built", "run") not in tables:
        return "no whole build before"
    if (PUBLICATION, "ops", "published") not in tables:
        return "the last refresh published nothing"
    last, of_file = (_rows(con, _LAST_PUBLISHED.format(identifier(where))) for where in (database, PUBLICATION))
    ((built_by,),) = _rows(con, "from built.run")
    if last != of_file or [run_id for run_id, _ in last] != [built_by]:
        return "the last refresh published nothing"
    return None if last[0][1] == code_version() else "another version of Faultline"


def _changed_input(con: duckdb.DuckDBPyConnection) -> str | None:
    for name, query in _INPUTS.items():
        removed = f"from built.{name} except ({query})"
        added = f"select * from (({query}) except from built.{name}) semi join built.clusters using (cluster_id)"
        if _rows(con, f"{removed} limit 1") or (name not in _ONLY_ADDED and _rows(con, f"{added} limit 1")):
            return f"other {name.replace('_', ' ')} than in the last publication"
    return None


def _list_parts(con: duckdb.DuckDBPyConnection, *, is_first: bool) -> None:
    """Make the temp tables `<kind>_parts`: the parts of the files of each kind, with a digest that tells a change.

    The digest of a small file is made of the run that read it, that of a part of a large file of the part's rows. A
    large file that was not read again keeps the digests of the last build. The disposition of a row is left out. It
    changes where another record takes the row's place, and that record is in a part that has changed itself.
    """
    for kind, (table, first_at) in _PARTS.items():
        kept = (
            "select *, 0 as part, 0::ubigint as digest from files limit 0" if is_first else f"from built.{kind}_parts"
        )
        con.execute(
            f"""
            create or replace temp table {kind}_parts as
            with files as (
                select cluster_id, path, run_id, lines_in > {LARGE_FILE_LINES} as is_large
                from ops.files where kind = '{kind}'
            ),
            kept as ({kept}),
            parts as (
                select cluster_id, path, line_number // {PART_LINES} as part, {first_at} as first_at
                from raw.{table} group by all
            ),
            hashed as (
                select cluster_id, path, line_number // {PART_LINES} as part,
                    bit_xor(hash(*columns(* exclude (disposition)))) as digest
                from raw.{table}
                semi join (
                    from files anti join kept using (cluster_id, path, run_id) where is_large
                ) using (cluster_id, path)
                group by all
            )
            select
                parts.cluster_id, parts.path, parts.part, parts.first_at, files.run_id,
                case
                    when not files.is_large then hash(files.run_id) else coalesce(hashed.digest, kept.digest)
                end as digest
            from parts
            inner join files using (cluster_id, path)
            left join hashed using (cluster_id, path, part)
            left join kept
                on kept.cluster_id = parts.cluster_id and kept.path = parts.path and kept.part = parts.part
                and kept.run_id = files.run_id
            """
        )


def _find_touched(con: duckdb.DuckDBPyConnection) -> str | None:
    for kind in _PARTS:
        now, before = (f"select * exclude (run_id) from {schema}{kind}_parts" for schema in ("", "built."))
        con.execute(
            f"""
            create or replace temp table changed_{kind}_parts as
            select distinct cluster_id, path, part, first_at
            from ((({now}) except ({before})) union all (({before}) except ({now})))
            """
        )
    ((touched, records),) = _rows(
        con,
        f"""
        select
            count(*) filter ((cluster_id, path, line_number // {PART_LINES}) in (
                select (cluster_id, path, part) from changed_sacct_parts
            )),
            count(*)
        from raw.sacct
        """,
    )
    if touched > MAX_NEW_SHARE * records:
        return f"{touched:,} of {records:,} records are new"
    con.execute("create schema touched")
    for name, query in _TOUCHED.items():
        con.execute(f"create table touched.{name} as {query}")
    return None


def _incremental_tables(manifest: Path) -> set[str]:
    nodes = json.loads(manifest.read_text(encoding="utf-8"))["nodes"].values()
    return {
        f"{node['schema']}.{node['alias']}" for node in nodes if node["config"].get("materialized") == "incremental"
    }


def _drop_all_except(con: duckdb.DuckDBPyConnection, incremental_tables: set[str]) -> None:
    """Drop all other tables first, so that the next build reuses their space in the file."""
    for kind in ("view", "table"):
        found = _rows(
            con,
            f"select schema_name || '.' || {kind}_name from duckdb_{kind}s() where database_name = '{PUBLICATION}'"
            + (" and not internal" if kind == "view" else ""),
        )
        for (name,) in found:
            if name not in incremental_tables:
                con.execute(f"drop {kind} {PUBLICATION}.{identifier(*name.split('.', 1))}")
    con.execute(f"checkpoint {PUBLICATION}")


def _rows(con: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return con.execute(query).fetchall()
