"""estimates.est_attribution_chance: the share of each cause's attributions that is chance, by a negative control.

Read from marts.agg_attribution_controls: the same window and rules on attempts that COMPLETED.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import dagster as dg

from assets.estimates.coincidence import HITS, WINDOW, measures, row_of
from assets.estimates.evidence import CLUSTER
from assets.estimates.table import Column, TableSpec, estimate, write
from assets.warehouse import Warehouse

if TYPE_CHECKING:
    import pandas as pd

CATEGORY = "marts.agg_attribution_controls.failure_category"

TABLE = TableSpec(
    table="est_attribution_chance",
    description=(
        "What the attribution to each cause would be by chance, and what is left of it, from "
        "marts.agg_attribution_controls in the configured window. Failed attempts whose culprit Slurm names are not in "
        "it: their evidence is looked for on one node. One row per cluster and failure_category in evidence."
    ),
    key=("cluster_id", "failure_category"),
    columns=(
        CLUSTER,
        Column("failure_category", "varchar", "", "Cause, key of dim_failure_categories.", (CATEGORY,), True),
        *measures((*HITS, WINDOW[2])),
    ),
)


def with_chance(sizes: pd.DataFrame) -> pd.DataFrame:
    """Combine the sizes of each cluster and category into one row."""
    import pandas as pd

    keys = ["cluster_id", "failure_category"]
    rows = [dict(zip(keys, key, strict=True)) | row_of(group) for key, group in sizes.groupby(keys)]
    return pd.DataFrame(rows, columns=TABLE.column_names)


def headline(chance: pd.DataFrame) -> str:
    """Return a sentence: the number of attributions, and how many of them to expect by chance."""
    known = chance[chance["chance_ratio"].notna()]
    expected = (known["chance_ratio"] * known["failed_count"]).sum()
    return f"{chance['attributed_count'].sum():.0f} attributions, some {expected:.1f} by chance"


@estimate(TABLE)
def est_attribution_chance(warehouse: Warehouse) -> dg.MaterializeResult[None]:
    """Compare the attributed failures of each cause with attempts that ended well."""
    with warehouse.writing() as con:
        chance = with_chance(con.execute(TABLE.query).df())
        return write(con, TABLE, chance, headline(chance))
