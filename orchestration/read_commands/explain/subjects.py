"""The meaning of a name: a table or its column, a failure, a node or a job, in this order."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

import duckdb

from assets.report.numbers import moment, printable
from assets.report.queries import Row
from assets.rows import rows_of
from orchestration.read_commands.catalogue import definitions
from orchestration.read_commands.descriptions import describe
from orchestration.read_commands.published import ReadingError

Kind = Literal["table", "column", "failure", "node", "job"]

CLUSTERS = "select cluster_id from marts.dim_clusters order by cluster_id"
FAILURES = """
    select cluster_id, attempt_id as key, failed_at as seen_at, attempt_id as name from marts.fct_failures
    where attempt_id = $name and cluster_id = coalesce($cluster, cluster_id)
"""
NODES = """
    select cluster_id, node_id as key, last_seen_at as seen_at, node_name as name from marts.dim_nodes
    where (node_id = lower($name) or node_name = $name) and cluster_id = coalesce($cluster, cluster_id)
    order by cluster_id
"""
JOBS = """
    with found as (
        select
            cluster_id, job_id, run_id, submitted_at, attempt_id,
            attempt_id = $name or job_id = $name or job_id_raw = try_cast($name as bigint) as is_named
        from marts.fct_attempts
        where
            cluster_id = coalesce($cluster, cluster_id)
            and (
                attempt_id = $name or job_id = $name
                or try_cast($name as bigint) in (job_id_raw, array_job_id, het_job_id)
            )
    )

    select
        cluster_id, min_by(attempt_id, submitted_at) as key, min(submitted_at) as seen_at, 'job ' || job_id as name
    from found
    where is_named or not (select coalesce(bool_or(is_named), false) from found)
    group by cluster_id, job_id, run_id
    order by cluster_id, seen_at, key
"""
LOOK_UPS: tuple[tuple[Kind, str], ...] = (("failure", FAILURES), ("node", NODES), ("job", JOBS))
MAX_LISTED = 10


@dataclass(frozen=True)
class Subject:
    """The subject to explain: a table or column by its full name, else a key of its kind within a cluster.

    The key of a job is its first attempt.
    """

    kind: Kind
    key: str
    cluster_id: str = ""


def resolve(con: duckdb.DuckDBPyConnection, name: str, cluster_id: str | None = None) -> Subject:
    """Return the subject of a name.

    Raises
    ------
    ReadingError
        There is no such cluster; or the name is unknown, or ambiguous: the text then lists the subjects.
    """
    if (found_in_code := _table_or_column(name)) is not None:
        return found_in_code
    clusters = [key for (key,) in con.execute(CLUSTERS).fetchall()]
    if cluster_id is not None and cluster_id not in clusters:
        listed = ", ".join(map(printable, clusters))
        raise ReadingError(f"there is no cluster '{printable(cluster_id)}'; there are: {listed}")
    # Job steps are written 123.batch and 123.0.
    plain = re.sub(r"^(\d[\d_+]*)\.\w+$", r"\1", name.strip())
    for kind, statement in LOOK_UPS:
        found = rows_of(con, statement, {"name": plain, "cluster": cluster_id})
        if len(found) == 1:
            return Subject(kind, found[0]["key"], found[0]["cluster_id"])
        if found:
            raise ReadingError(f"'{printable(plain)}' is the name of several things: {_listed(found)}")
    where = f" of {printable(cluster_id)}" if cluster_id else ""
    raise ReadingError(
        f"nothing{where} has the name '{printable(plain)}': it is no table, column, failure, node or job; "
        "`faultline tables` lists the tables"
    )


def _table_or_column(name: str) -> Subject | None:
    parts = name.strip().lower().split(".")
    for length in (2, 1):
        named = ".".join(parts[:length])
        tables = [table for table in definitions() if named in (table, table.split(".")[1])]
        if len(tables) != 1:
            continue
        column = ".".join(parts[length:])
        if not column:
            return Subject("table", tables[0])
        known = [column.name for column in describe(tables[0]).columns]
        if column in known:
            return Subject("column", f"{tables[0]}.{column}")
        raise ReadingError(f"{tables[0]} has no column '{printable(column)}'; it has {', '.join(known)}")
    return None


def _listed(found: list[Row]) -> str:
    """List the subjects with a name; if each is in another cluster, the cluster is enough to choose."""
    shown = found[:MAX_LISTED]
    names = [f"{printable(row['name'])} of {printable(row['cluster_id'])}" for row in shown]
    more = f" and {len(found) - MAX_LISTED} more" if len(found) > MAX_LISTED else ""
    if len({row["cluster_id"] for row in found}) == len(found):
        return f"{', '.join(names)}{more}; choose with --cluster"
    ways = [
        f"{name}, {moment(row['seen_at'])}: `faultline explain {printable(row['key'])}`"
        for name, row in zip(names, shown, strict=True)
    ]
    return f"{'; '.join(ways)}{more}"
