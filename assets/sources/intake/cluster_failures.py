"""Clusters that cannot be built, as far as their folders and accounting show before anything is built."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

import duckdb

from assets.sources.errors import SourceError, SourceErrors
from assets.sources.intake.account.line_accounts import LOST_END
from assets.sources.intake.find.folder import CUT_OFF, REFUSED, KnownFile, Survey, needed_kind
from assets.sources.intake.find.known_files import Key, is_of_kind, known_files

FOLDER_GONE = "its folder is missing from the sources folder"
SOURCES = "sources"
"""The stage of failures that are found before anything is built."""


def failing_by_files(survey: Survey, known: Mapping[Key, KnownFile]) -> dict[str, list[SourceError]]:
    """Return the errors of clusters that are left out or missing, or that need a file that is refused or cut off.

    A cluster needs accounting or, without any, records of its failures. It is still built if an older version of such
    a file was read: its data ends there.

    Parameters
    ----------
    survey
        The folder.
    known
        What `ops.files` says of its files, and of those that are missing from it.
    """
    accounted = {cluster_id for cluster_id, path in known if is_of_kind(path, "sacct")}
    bad = {
        (cluster_id, path): SourceError(path, file.reason or "", file.next_step or "")
        for (cluster_id, path), file in sorted(known.items())
        if is_of_kind(path, needed_kind(has_accounting=cluster_id in accounted))
        and (file.status == REFUSED or (file.status == CUT_OFF and file.reason == LOST_END))
        and file.is_present is not False
    }
    older = {(key[0], file.version_of) for key, file in known.items() if file.version_of and file.status != REFUSED}
    errors = survey.failing_for(bad, {key for key in bad if key in older})
    for cluster_id in sorted({cluster_id for cluster_id, _ in known}):
        if cluster_id not in survey.clusters and cluster_id not in survey.left_out:
            errors[cluster_id] = [SourceError(cluster_id, FOLDER_GONE, gone_step(cluster_id))]
    return errors


def gone_step(cluster_id: str) -> str:
    """Return what to do about a folder that is missing."""
    command = f"faultline refresh --forget {shlex.quote(cluster_id)}"
    return f"Put it back, or forget it: `{command}` lists what was read of it, and with --yes deletes that."


def failing_by_sources(
    con: duckdb.DuckDBPyConnection, survey: Survey, left_out: Mapping[str, SourceError] | None = None
) -> dict[str, list[str]]:
    """Return the clusters that cannot be built, with reasons, after the folder was read.

    Parameters
    ----------
    con
        A connection to the working file.
    survey
        The folder.
    left_out
        Clusters whose rows could not be settled, and why.

    Raises
    ------
    SourceErrors
        No cluster can be built.
    """
    errors = failing_by_files(survey, known_files(con))
    for cluster_id, error in (left_out or {}).items():
        if cluster_id not in survey.changed_privacy:  # The error may quote its rows.
            errors.setdefault(cluster_id, []).append(error)
    if not survey.clusters.keys() - errors.keys():
        raise SourceErrors([error for cluster_errors in errors.values() for error in cluster_errors])
    return {cluster_id: [str(error) for error in cluster_errors] for cluster_id, cluster_errors in errors.items()}
