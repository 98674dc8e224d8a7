"""Clusters that cannot be built, for what shows before anything is built: their folders and their accounting."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import duckdb

from assets.sources.errors import SourceError, SourceErrors
from assets.sources.intake.find.folder import CUT_OFF, REFUSED, Survey

FOLDER_GONE = "its folder is gone from the sources folder"
SOURCES = "sources"
"""The stage of failures that show before anything is built."""


def failing_by_sources(
    con: duckdb.DuckDBPyConnection, survey: Survey, left_out: Mapping[str, SourceError] | None = None
) -> dict[str, list[str]]:
    """Name the clusters that are left out or gone, and those whose accounting was refused or is cut off, with reasons.

    A cluster is built all the same where an older version of such a file was read: its accounting ends with that.

    Parameters
    ----------
    con
        A connection to the working file.
    survey
        The folder.
    left_out
        What else is known of clusters: why their rows could not be settled.

    Raises
    ------
    SourceErrors
        It is all of them.
    """
    errors = {cluster_id: list(cluster_errors) for cluster_id, cluster_errors in survey.left_out.items()}
    rows = con.execute(
        "select cluster_id, path, reason, next_step from ops.files "
        "where kind = 'sacct' and status in ($refused, $cut_off) and coalesce(is_present, true) "
        "and (cluster_id, path) not in ("
        "    select cluster_id, version_of from ops.files where version_of is not null and status <> $refused"
        ") order by all",
        {"refused": REFUSED, "cut_off": CUT_OFF},
    ).fetchall()
    for cluster_id, *details in rows:
        if cluster_id in survey.clusters:
            errors.setdefault(cluster_id, []).append(SourceError(*details))
    known_clusters = con.execute("select distinct cluster_id from ops.files order by 1").fetchall()
    for (cluster_id,) in known_clusters:
        if cluster_id not in survey.clusters and cluster_id not in survey.left_out:
            next_step = f"Put it back, or run `faultline forget {shlex.quote(cluster_id)}`."
            errors[cluster_id] = [SourceError(cluster_id, FOLDER_GONE, next_step)]
    for cluster_id, error in (left_out or {}).items():
        errors.setdefault(cluster_id, []).append(error)
    if not survey.clusters.keys() - errors.keys():
        raise SourceErrors([error for cluster_errors in errors.values() for error in cluster_errors])
    return {cluster_id: [str(error) for error in cluster_errors] for cluster_id, cluster_errors in errors.items()}
