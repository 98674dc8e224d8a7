"""If an estimate fails on the rows of some clusters, the marts are built without them, and it is computed again.

The clusters are found by computing that estimate alone on halves of them. A trial reads views of the tables and leaves
these as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import dagster as dg
import duckdb

from assets.bad_clusters.errors import described, may_be_of_rows
from assets.bad_clusters.failures import add_failures, running_run, suspects
from assets.bad_clusters.search import SCRATCH, find_bad_clusters, relations, scratch_database, show_rows
from assets.sql import identifier
from assets.warehouse import Warehouse

STAGE = "estimates"
"""The stage of the clusters on whose rows an estimate fails."""
Result = dg.MaterializeResult[None]
Compute = Callable[[Warehouse], Result]


@dataclass(frozen=True, kw_only=True)
class _PartOfWarehouse(Warehouse):
    """Shows some clusters of a warehouse by a connection to a scratch database, which takes what is written."""

    con: duckdb.DuckDBPyConnection

    @contextmanager
    def writing(self) -> Iterator[duckdb.DuckDBPyConnection]:
        yield self.con


def compute_for_good_clusters(
    compute: Compute, warehouse: Warehouse, table: str, give_up: Callable[[Exception], Result] | None = None
) -> Result:
    """Compute an estimate, without the clusters whose rows make it fail.

    Parameters
    ----------
    compute
        Reads inputs and estimates, and writes the table.
    warehouse
        The warehouse that it reads and writes.
    table
        Its name, as `schema.table`.
    give_up
        Called with the error of the estimate, if the rows of no single cluster cause it.

    Raises
    ------
    Exception
        That error, without `give_up`.
    """
    try:
        try:
            return compute(warehouse)
        except Exception as error:
            if warehouse.rebuild is None or not may_be_of_rows(error):
                raise
            with warehouse.writing() as con:
                run_id = running_run(con)
                found = find_bad_clusters(suspects(con, run_id), partial(_compute_for, compute, con, table))
                why = {name: [f"{table} could not be made of its rows: {described(e)}"] for name, e in found.items()}
                add_failures(con, run_id, STAGE, why)
            if not found:
                raise
    except Exception as error:
        if give_up is None:
            raise
        return give_up(error)
    warehouse.rebuild(warehouse)
    return compute_for_good_clusters(compute, warehouse, table, give_up)


def remove_clusters(con: duckdb.DuckDBPyConnection, clusters: Collection[str]) -> None:
    """Remove what the estimates hold of some clusters."""
    for table, (database, has_clusters) in relations(con).items():
        schema, _, name = table.partition(".")
        if has_clusters and schema == "estimates":
            place = identifier(database, schema, name)
            con.execute(
                f"delete from {place} where cluster_id in (select unnest($clusters::varchar[]))",
                {"clusters": [*clusters]},
            )


def _compute_for(compute: Compute, con: duckdb.DuckDBPyConnection, table: str, clusters: Sequence[str]) -> None:
    """Try an estimate on some clusters; what it writes are tables of the scratch database."""
    written = {table, "ops.lineage"}
    with scratch_database(con) as trial:
        names = [name for name in relations(con) if name not in written]
        show_rows(con, clusters, names, is_copy=False)
        show_rows(con, [], ["ops.lineage"], is_copy=True)
        con.execute(f"create schema if not exists {SCRATCH}.estimates")
        compute(_PartOfWarehouse(path="", con=trial))
