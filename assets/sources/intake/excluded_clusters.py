"""Run a step over the raw tables cluster by cluster, if it fails on the rows of all: those on which it fails stay as
they were.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import duckdb

from assets.bad_clusters.errors import described, may_be_of_rows
from assets.sources.errors import SourceError
from assets.sources.intake.find.folder import Survey
from assets.sql import identifier
from assets.warehouse import create_raw_and_ops, transaction

RawStep = Callable[[duckdb.DuckDBPyConnection, Survey], object]
"""Works on the raw tables of a connection, for the clusters that it is given, inside a transaction of the caller."""

_TABLES = """
    select schema_name, table_name from duckdb_columns()
    where database_name = current_database() and schema_name in ('raw', 'ops') and column_name = 'cluster_id'
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
        The step's own error, if it fails on the rows of no cluster alone or no cluster would be left.
    """
    logs = {str(file.absolute) for file in survey.files}

    def require_of_cluster(error: Exception) -> None:
        if not (may_be_of_rows(error) or (isinstance(error, OSError) and error.filename in logs)):
            raise error

    try:
        with transaction(con):
            step(con, survey)
    except Exception as error:
        require_of_cluster(error)
        failing = {}
        # A cluster whose folder is missing has rows too.
        known = con.execute("select distinct cluster_id from ops.files").fetchall()
        for cluster_id in sorted({*survey.clusters, *(name for (name,) in known)}):
            try:
                with transaction(con), _rows_of(con, cluster_id):
                    step(con, _only(survey, cluster_id))
            except Exception as own:
                require_of_cluster(own)
                failing[cluster_id] = _explained(cluster_id, own)
        if not failing or not survey.clusters.keys() - failing.keys():
            raise
        return failing
    return {}


@contextmanager
def _rows_of(con: duckdb.DuckDBPyConnection, cluster_id: str) -> Iterator[None]:
    """Let the raw tables hold the rows of one cluster, as statements on them read and write those of all.

    The others stay in the tables, which bear another name meanwhile.
    """
    places = [(identifier(schema, name), identifier(schema, f"all_{name}"), name) for schema, name in con.execute(_TABLES).fetchall()]
    for table, whole, name in places:
        con.execute(f"alter table {table} rename to {identifier(f'all_{name}')}")
    create_raw_and_ops(con)
    for table, whole, _ in places:
        con.execute(f"insert into {table} by name from {whole} where cluster_id = ?", [cluster_id])
    yield
    for table, whole, name in places:
        con.execute(f"delete from {whole} where cluster_id = ?", [cluster_id])
        con.execute(f"insert into {whole} by name from {table}")
        con.execute(f"drop table {table}")
        con.execute(f"alter table {whole} rename to {identifier(name)}")


def _explained(cluster_id: str, error: Exception) -> SourceError:
    what = f"its rows could not be settled ({'; '.join([described(error), *getattr(error, '__notes__', [])])})"
    next_step = (
        "Take its newest files out of the folder, run"
        f" `faultline refresh --forget {shlex.quote(cluster_id)}/FILE --yes` for these alone, and send this message to"
        " the maintainers."
    )
    return SourceError(cluster_id, what, next_step)


def _only(survey: Survey, cluster_id: str) -> Survey:
    return replace(
        survey,
        clusters={name: cluster for name, cluster in survey.clusters.items() if name == cluster_id},
        files=[file for file in survey.files if file.cluster_id == cluster_id],
        refused=[refused_file for refused_file in survey.refused if refused_file.file.cluster_id == cluster_id],
    )
