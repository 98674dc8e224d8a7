"""Run a step over the tables of all clusters except those whose rows make it fail.

Nothing here runs until the step fails. Then it is tried on each cluster alone, which shows the clusters at fault. Their
rows are removed while the step runs for the others, and are put back unchanged in the same transaction.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection
from dataclasses import replace

import duckdb

from assets.sources.errors import SourceError
from assets.sources.intake.find.folder import Survey
from assets.sources.intake.isolating import described, is_machine_error
from assets.sql import identifier
from assets.warehouse import transaction

ClusterStep = Callable[[Survey], object]
"""Works on the tables of the clusters that it is given, inside a transaction of the caller."""

_OF_NO_FILES = ("clusters", "cluster_failures", "checks", "pulls", "privacy")
"""Tables with a `cluster_id` that no step over files changes."""
_TABLES = f"""
    select columns.schema_name, columns.table_name
    from duckdb_columns() as columns
    inner join duckdb_tables() as tables using (database_name, schema_name, table_name)
    where columns.database_name = current_database() and columns.schema_name in ('raw', 'ops')
        and columns.column_name = 'cluster_id' and columns.table_name not in {_OF_NO_FILES}
    order by all
"""


class _TrialOverError(Exception):
    """Ends a trial, so that nothing of it is kept."""


def spare_clusters(con: duckdb.DuckDBPyConnection, survey: Survey, step: ClusterStep) -> dict[str, SourceError]:
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
    The errors of the clusters for which the step was not run. Their tables stay unsettled.

    Raises
    ------
    Exception
        The step's own error, if no cluster's rows cause it or no cluster would be left.
    """
    try:
        with transaction(con):
            step(survey)
    except Exception as error:
        if _is_machine_error(error, survey):
            raise
        known = con.execute("select distinct cluster_id from ops.files").fetchall()
        clusters = sorted({*survey.clusters, *(cluster_id for (cluster_id,) in known)})
        found = {cluster_id: _error_alone(con, survey, step, cluster_id) for cluster_id in clusters}
        failing = {
            cluster_id: _explained(cluster_id, cluster_error)
            for cluster_id, cluster_error in found.items()
            if cluster_error is not None
        }
        if not failing or not survey.clusters.keys() - failing.keys():
            raise
        _step_without(con, survey, step, failing.keys())
        return failing
    return {}


def _is_machine_error(error: Exception, survey: Survey) -> bool:
    """Tell whether an error is not the fault of rows or files; one that names a log belongs to its cluster."""
    if isinstance(error, OSError) and error.filename in {str(file.absolute) for file in survey.files}:
        return False
    return is_machine_error(error)


def _explained(cluster_id: str, error: Exception) -> SourceError:
    what = f"its rows could not be settled ({'; '.join([described(error), *getattr(error, '__notes__', [])])})"
    next_step = (
        f"Take its newest files out of the folder, run `faultline forget {shlex.quote(cluster_id)} FILE...` for these"
        " alone and then `faultline refresh`, and send this message to the maintainers."
    )
    return SourceError(cluster_id, what, next_step)


def _only(survey: Survey, clusters: Collection[str]) -> Survey:
    return replace(
        survey,
        clusters={name: cluster for name, cluster in survey.clusters.items() if name in clusters},
        files=[file for file in survey.files if file.cluster_id in clusters],
        refused=[refused_file for refused_file in survey.refused if refused_file.file.cluster_id in clusters],
    )


def _error_alone(
    con: duckdb.DuckDBPyConnection, survey: Survey, step: ClusterStep, cluster_id: str
) -> Exception | None:
    """Try the step on one cluster, and undo it."""
    try:
        with transaction(con):
            for name in _tables(con):
                con.execute(f"delete from {name} where cluster_id <> ?", [cluster_id])
            step(_only(survey, {cluster_id}))
            raise _TrialOverError
    except _TrialOverError:
        return None
    except Exception as error:
        if _is_machine_error(error, survey):
            raise
        return error


def _step_without(con: duckdb.DuckDBPyConnection, survey: Survey, step: ClusterStep, failing: Collection[str]) -> None:
    """Run the step for the other clusters; `ops.unsettled` still names the tables, for the ones that were spared."""
    with transaction(con):
        con.execute("create or replace temp table still_unsettled as from ops.unsettled")
        names = _tables(con)
        for number, name in enumerate(names):
            where = f"from {name} where cluster_id in (select unnest($failing::varchar[]))"
            con.execute(f"create or replace temp table spared_{number} as {where}", {"failing": [*failing]})
            con.execute(f"delete {where}", {"failing": [*failing]})
        step(_only(survey, survey.clusters.keys() - set(failing)))
        for number, name in enumerate(names):
            con.execute(f"insert into {name} by name from spared_{number}")
            con.execute(f"drop table spared_{number}")
        con.execute("delete from ops.unsettled")
        con.execute("insert into ops.unsettled by name from still_unsettled")
        con.execute("drop table still_unsettled")


def _tables(con: duckdb.DuckDBPyConnection) -> list[str]:
    return [identifier(*table) for table in con.execute(_TABLES).fetchall()]
