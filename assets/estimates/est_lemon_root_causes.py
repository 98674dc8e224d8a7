"""estimates.est_lemon_root_causes: root causes of the lemons, by their repair tickets; the paper's table II."""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from assets.estimates.evidence import evidence
from assets.estimates.suspects import CLUSTER
from assets.estimates.table import Column, TableSpec, estimate, write
from assets.model.coincidence import binomial_share
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.warehouse import Warehouse

if TYPE_CHECKING:
    import pandas as pd

LEMONS = ("estimates.est_lemon_nodes.verdict",)
CAUSES = (
    *(*LEMONS, "marts.fct_tickets.component", "marts.fct_tickets.opened_at", "marts.fct_tickets.closed_at"),
    "marts.agg_lemon_windows.rate_start_date",
)
RATIO = "ratio 0 to 1"

TABLE = TableSpec(
    table="est_lemon_root_causes",
    description=(
        "Nodes called lemons by the component that most of their repair tickets name, tickets of the days on which "
        "they were found and later. One row per cluster and root cause that occurs."
    ),
    key=("cluster_id", "root_cause"),
    columns=(
        CLUSTER,
        Column(
            "root_cause",
            "varchar",
            "",
            "GPU, DIMM, PCIe, EUD, BIOS, NIC, PSU, Optics or CPU; unknown: no ticket names a component.",
            CAUSES,
            is_required=True,
        ),
        Column("node_count", "bigint", "nodes", "Lemons with this root cause.", CAUSES, is_required=True),
        Column("ratio", "double", RATIO, "Share of the cluster's lemons.", CAUSES, is_required=True),
        Column("ratio_low", "double", RATIO, "Lower limit.", CAUSES),
        Column("ratio_high", "double", RATIO, "Upper limit.", CAUSES),
        *evidence(
            "clopper_pearson: exact limits.", "Lemons, as node_count.", CAUSES, "All lemons of the cluster.", LEMONS
        ),
    ),
)


def with_ratios(causes: pd.DataFrame) -> pd.DataFrame:
    """Turn counts into shares with limits."""
    pairs = zip(causes["node_count"], causes["lemon_count"], strict=True)
    shares = [binomial_share(int(own), int(total)) for own, total in pairs]
    return causes.assign(
        ratio=[share.value for share in shares],
        ratio_low=[share.low for share in shares],
        ratio_high=[share.high for share in shares],
        confidence_level=CONFIDENCE_LEVEL,
        method="clopper_pearson",
        event_count=causes["node_count"],
        exposure=causes["lemon_count"].astype(float),
        exposure_unit="nodes",
    )


def headline(causes: pd.DataFrame) -> str:
    """Return a sentence: how many lemons have which root cause."""
    return "; ".join(f"{row.cluster_id}: {row.root_cause} {row.node_count}" for row in causes.itertuples())


@estimate(TABLE)
def est_lemon_root_causes(warehouse: Warehouse) -> dg.MaterializeResult[None]:
    """Take each lemon's component from its tickets and count."""
    with warehouse.writing() as con:
        causes = with_ratios(con.execute(TABLE.query).df())
        return write(con, TABLE, causes, headline(causes))
