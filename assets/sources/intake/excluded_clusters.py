"""Run a step over the raw tables of all clusters except those whose rows make it fail.

The rows of these are set aside while the step runs for the others, and are put back unchanged in the same transaction.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from dataclasses import replace

import duckdb

from assets.bad_clusters.errors import described, may_be_of_rows
from assets.bad_clusters.search import SCRATCH, find_bad_clusters, relations, scratch_database, show_rows
from assets.sources.errors import SourceError
from assets.sources.intake.find.folder import Survey
from assets.sql import identifier
from assets.warehouse import create_raw_and_ops, transaction

RawStep = Callable[[duckdb.DuckDBPyConnection, Survey], object]
"""Works on the raw tables of a connection, for the clusters that it is given, inside a transaction of the caller."""

_UNCHANGED = {f"ops.{name}" for name in ("cluster_failures", "checks", "pulls", "privacy")} | {"raw.clusters"}
"""Tables with a `cluster_id` that no step over files changes."""
_SUSPECTS = """
    select cluster_id
    from (select unnest($surveyed::varchar[]) as cluster_id union select cluster_id from ops.files)
    left join ops.files using (cluster_id)
    group by cluster_id
    order by max(files.modified_at) desc nulls last, cluster_id
"""


def settle_good_clusters(con: duckdb.DuckDBPyConnection, survey: Survey, step: RawStep) -> dict[str, SourceError]:
    """Run a step for all clusters whose rows do not make it fail.

    Parameters
    ----------
    con
        A writing connection, outside a transaction.
    survey
        The folder.
    step
        What to run.

    Returns
    -------
    The errors of the clusters for which the step was not run.

    Raises
    ------
    Exception
        The step's own error, if no cluster's rows cause it or no cluster would be left.
    """
    logs = {str(file.absolute) for file in survey.files}

    def may_be_of_cluster(error: Exception) -> bool:
        return may_be_of_rows(error) or (isinstance(error, OSError) and error.filename in logs)

    def attempt(clusters: Collection[str]) -> None:
        with scratch_database(con) as trial:
            create_raw_and_ops(trial)
            show_rows(con, clusters, [name for name in relations(con) if _is_raw(name)], is_copy=True)
            step(trial, _only(survey, clusters))

    try:
        with transaction(con):
            step(con, survey)
    except Exception as error:
        if not may_be_of_cluster(error):
            raise
        suspects = con.execute(_SUSPECTS, {"surveyed": [*survey.clusters]}).fetchall()
        found = find_bad_clusters([cluster_id for (cluster_id,) in suspects], attempt, may_be_of_cluster)
        if not found or not survey.clusters.keys() - found.keys():
            raise
        _step_without(con, survey, step, found)
        return {cluster_id: _explained(cluster_id, found[cluster_id]) for cluster_id in sorted(found)}
    return {}


def _explained(cluster_id: str, error: Exception) -> SourceError:
    what = f"its rows could not be settled ({'; '.join([described(error), *getattr(error, '__notes__', [])])})"
    next_step = (
        "Take its newest files out of the folder, run"
        f" `faultline refresh --forget {shlex.quote(cluster_id)}/FILE --yes` for these alone, and send this message to"
        " the maintainers."
    )
    return SourceError(cluster_id, what, next_step)


def _only(survey: Survey, clusters: Collection[str]) -> Survey:
    return replace(
        survey,
        clusters={name: cluster for name, cluster in survey.clusters.items() if name in clusters},
        files=[file for file in survey.files if file.cluster_id in clusters],
        refused=[refused_file for refused_file in survey.refused if refused_file.file.cluster_id in clusters],
    )


def _step_without(con: duckdb.DuckDBPyConnection, survey: Survey, step: RawStep, bad: Collection[str]) -> None:
    """Run the step for the other clusters; the next refresh tries those again that were left out."""
    names = [
        name
        for name, (_, has_clusters) in relations(con).items()
        if has_clusters and _is_raw(name) and name not in _UNCHANGED
    ]
    with scratch_database(con):
        show_rows(con, bad, names, is_copy=True)
        with transaction(con):
            for name in names:
                table = identifier(*name.split("."))
                con.execute(
                    f"delete from {table} where cluster_id in (select unnest($bad::varchar[]))", {"bad": [*bad]}
                )
            step(con, _only(survey, survey.clusters.keys() - set(bad)))
            for name in names:
                con.execute(
                    f"insert into {identifier(*name.split('.'))} by name from {identifier(SCRATCH, *name.split('.'))}"
                )


def _is_raw(name: str) -> bool:
    return name.startswith(("raw.", "ops."))
