"""Run a step over the raw tables cluster by cluster if it fails on all rows together.

A cluster stays as it was if the step fails on its rows alone.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import duckdb

from assets.bad_clusters.errors import described, may_be_of_rows
from assets.sources.errors import SourceError
from assets.sources.intake.find.folder import Survey
from assets.sql import identifier
from assets.warehouse import create_raw_and_ops, transaction

RawStep = Callable[[duckdb.DuckDBPyConnection, Survey], object]
"""Updates the raw tables of a connection for the given clusters, inside the caller's transaction."""

_TABLES = """
    select schema_name, table_name from duckdb_columns()
    where database_name = current_database() and schema_name in ('raw', 'ops') and column_name = 'cluster_id'
"""


def settle_good_clusters(con: duckdb.DuckDBPyConnection, survey: Survey, step: RawStep) -> dict[str, SourceError]:
    """Run a step for all clusters whose rows do not make it fail; return the errors of the other clusters.

    The step's own error is raised if the step does not fail on any cluster alone, or if no cluster would be left.
    """
    logs = {str(file.absolute) for file in survey.files}

    def is_of_cluster(error: Exception) -> bool:
        return may_be_of_rows(error) or (isinstance(error, OSError) and error.filename in logs)

    try:
        with transaction(con):
            step(con, survey)
    except Exception as error:
        # A cluster whose folder is missing has rows too.
        known = {name for (name,) in con.execute("select distinct cluster_id from ops.files").fetchall()}
        failing: dict[str, SourceError] = {}
        for cluster_id in sorted(known | survey.clusters.keys()) if is_of_cluster(error) else ():
            try:
                with transaction(con), _rows_of(con, cluster_id):
                    step(con, survey.of_cluster(cluster_id))
            except Exception as own:
                if not is_of_cluster(own):
                    raise
                failing[cluster_id] = _explained(cluster_id, own)
        if not failing or not survey.clusters.keys() - failing.keys():
            raise
        return failing
    return {}


@contextmanager
def _rows_of(con: duckdb.DuckDBPyConnection, cluster_id: str) -> Iterator[None]:
    """Reduce the raw tables to the rows of one cluster inside, within the caller's transaction.

    The step reads and writes whole tables. Meanwhile the tables with the rows of all clusters have another name, so
    nothing is copied.
    """
    tables = con.execute(_TABLES).fetchall()
    for schema, name in tables:
        con.execute(f"alter table {identifier(schema, name)} rename to {identifier('all_' + name)}")
    create_raw_and_ops(con)
    for schema, name in tables:
        own, whole = identifier(schema, name), identifier(schema, "all_" + name)
        con.execute(f"insert into {own} by name from {whole} where cluster_id = ?", [cluster_id])
    yield
    for schema, name in tables:
        own, whole = identifier(schema, name), identifier(schema, "all_" + name)
        con.execute(f"delete from {whole} where cluster_id = ?", [cluster_id])
        con.execute(f"insert into {whole} by name from {own}")
        con.execute(f"drop table {own}")
        con.execute(f"alter table {whole} rename to {identifier(name)}")


def _explained(cluster_id: str, error: Exception) -> SourceError:
    what = f"its rows could not be settled ({'; '.join([described(error), *getattr(error, '__notes__', [])])})"
    next_step = (
        "Take its newest files out of the folder, run"
        f" `faultline refresh --forget {shlex.quote(cluster_id)}/FILE --yes` for these alone, and send this message to"
        " the maintainers."
    )
    return SourceError(cluster_id, what, next_step)
