"""Tables of schema `intermediate` that are made once of all attempts or node-days, because many estimates read them.

Each has its query in a file of its name. `docs/decisions/estimates.md` says what this saves.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import dagster as dg

from assets.bad_clusters.search import relations
from assets.estimates.good_clusters import compute_for_good_clusters
from assets.estimates.table import ENOUGH_DATA, read_query
from assets.sql import identifier
from assets.warehouse import Warehouse

if TYPE_CHECKING:
    import duckdb

QUERIES = {
    "exposure_days": read_query("exposure_days", "attempt_stretches"),
    "failed_exposures": read_query("failed_exposures"),
    "node_day_sight": read_query("node_day_sight"),
    "incident_nodes": read_query("incident_nodes"),
    "node_incidents": read_query("node_incidents"),
    "unseen_ends": read_query("unseen_ends"),
    "failure_counts": read_query("failure_counts"),
    ENOUGH_DATA: read_query(ENOUGH_DATA),
}
"""In an order in which they can be made."""
EXPOSURES = ("marts.fct_attempt_exposures", "marts.dim_study_gaps")


def prepare(con: duckdb.DuckDBPyConnection, name: str) -> int:
    """Make one of the tables of the attempts that are there now, and return its row count."""
    ((rows,),) = con.execute(f"create or replace table intermediate.{name} as {QUERIES[name]}").fetchall()
    return int(rows)


def remove_rows(con: duckdb.DuckDBPyConnection, clusters: Collection[str]) -> None:
    """Remove what the tables of this package hold of some clusters."""
    for table, (database, has_clusters) in relations(con).items():
        schema, _, name = table.partition(".")
        if has_clusters and (schema == "estimates" or (schema == "intermediate" and name in QUERIES)):
            place = identifier(database, schema, name)
            con.execute(
                f"delete from {place} where cluster_id in (select unnest($clusters::varchar[]))",
                {"clusters": [*clusters]},
            )


def _prepared(name: str, description: str, read: Sequence[str] = EXPOSURES) -> dg.AssetsDefinition:
    spec = dg.AssetSpec(
        ["intermediate", name],
        deps=[dg.AssetKey(table.split(".")) for table in read],
        group_name="intermediate",
        kinds={"sql", "duckdb"},
        description=description,
    )

    def compute(warehouse: Warehouse) -> dg.MaterializeResult[None]:
        with warehouse.writing() as con:
            rows = prepare(con, name)
        return dg.MaterializeResult(asset_key=spec.key, metadata={"dagster/row_count": rows})

    # Named so that its time counts as one of the stage of estimates.
    @dg.multi_asset(name=f"estimates__{name}", specs=[spec])
    def asset(warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult[None]:
        return compute_for_good_clusters(compute, warehouse, f"intermediate.{name}")

    return asset


exposure_days = _prepared(
    "exposure_days", "What attempts ran on each day, by size and by whether they fill whole nodes."
)
failed_exposures = _prepared(
    "failed_exposures",
    "The rows of marts.fct_attempt_exposures that may have failed, or that the paper counts as failed.",
)
node_day_sight = _prepared(
    "node_day_sight",
    "Which kinds of logs could have shown a fault of a node on a day, and how much of its cluster's work it did then.",
    ("marts.fct_node_days", "marts.dim_nodes", "ops.sight"),
)
incident_nodes = _prepared(
    "incident_nodes",
    "The nodes that each incident took down.",
    ("intermediate.failed_exposures", "marts.fct_attempt_nodes", "marts.fct_node_outages"),
)
node_incidents = _prepared(
    "node_incidents",
    "Incidents with the number of nodes that each of them took down.",
    ("intermediate.failed_exposures", "intermediate.incident_nodes", "marts.fct_incidents"),
)
unseen_ends = _prepared(
    "unseen_ends",
    "How many attempts ended FAILED where no log was understood, by size and by whether they fill whole nodes.",
    (*EXPOSURES, "marts.fct_attempts", "marts.fct_attempt_nodes", "intermediate.node_day_sight"),
)
failure_counts = _prepared(
    "failure_counts",
    "Failures and node-days of each cluster, population and way of counting: of the study period, and of each month.",
    (
        *("marts.dim_clusters", "marts.dim_study_gaps", "marts.fct_node_days"),
        *(f"intermediate.{name}" for name in ("exposure_days", "failed_exposures", "node_incidents", "unseen_ends")),
        "intermediate.int_failure_draws",
    ),
)
enough_data = _prepared(
    ENOUGH_DATA,
    "Whether enough was seen of each cluster for its estimates to say something, and why not.",
    ("marts.dim_clusters", "intermediate.failure_counts"),
)
