"""estimates.est_attribution_windows: attribution and chance with a narrower or wider window.

Read from marts.agg_attribution_controls. A narrow window misses causes, and a wide one collects coincidences.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dagster as dg
import numpy as np

from assets.estimates.coincidence import HITS, WINDOW, measures, row_of
from assets.estimates.evidence import CLUSTER
from assets.estimates.table import Column, TableSpec, estimate, write
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.warehouse import Warehouse

if TYPE_CHECKING:
    import pandas as pd

SETTINGS = tuple(f"staging.stg_config__clusters.attribution_{side}_seconds" for side in ("before", "after"))

TABLE = TableSpec(
    table="est_attribution_windows",
    description=(
        "Share of failed attempts that evidence of any cause explains, and what chance would explain, in the "
        "configured attribution window and in narrower and wider ones, from marts.agg_attribution_controls. A share "
        "that stops rising while chance goes on rising says that the window is wide enough. One row per cluster, "
        "before_seconds and after_seconds."
    ),
    key=("cluster_id", "before_seconds", "after_seconds"),
    columns=(
        CLUSTER,
        Column(
            "before_seconds",
            "integer",
            "seconds",
            "How far the window reaches before the end of an attempt.",
            (WINDOW[0], SETTINGS[0]),
            True,
        ),
        Column(
            "after_seconds",
            "integer",
            "seconds",
            "How far it reaches beyond the end.",
            (WINDOW[1], SETTINGS[1]),
            True,
        ),
        Column("is_configured", "boolean", "", "The window that attribution uses.", (WINDOW[2],), True),
        *measures(HITS),
    ),
)


def with_shares(sizes: pd.DataFrame) -> pd.DataFrame:
    """Combine the sizes of each cluster and window into one row."""
    import pandas as pd

    keys = ["cluster_id", "before_seconds", "after_seconds", "is_configured"]
    rows = [
        dict(zip(keys, key, strict=True)) | (row_of(group) if group["failed_count"].notna().all() else unseen())
        for key, group in sizes.groupby(keys)
    ]
    frame = pd.DataFrame(rows, columns=TABLE.column_names)
    counts = ["attributed_count", "failed_count", "coincidence_count", "completed_count", "event_count"]
    return frame.astype(dict.fromkeys(counts, "Int64"))


def unseen() -> dict[str, Any]:
    """Return the row of a cluster in whose logs no fault was ever seen. It has no values."""
    return dict.fromkeys(TABLE.column_names[4:]) | {
        "exposure": np.nan,
        "confidence_level": CONFIDENCE_LEVEL,
        "method": "no_evidence",
        "exposure_unit": "attempts",
        "note": "no evidence of a fault in the logs: attribution by evidence is impossible",
    }


def headline(windows: pd.DataFrame) -> str:
    """Return a sentence: what the configured window of each cluster explains."""
    return "; ".join(
        f"{row.cluster_id}: {row.attributed_count} of {row.failed_count} failed attempts explained"
        for row in windows[windows["is_configured"] & windows["failed_count"].notna()].itertuples()
    )


@estimate(TABLE)
def est_attribution_windows(warehouse: Warehouse) -> dg.MaterializeResult[None]:
    """Attribute failures in every window, and compare each window with attempts that ended well."""
    with warehouse.writing() as con:
        windows = with_shares(con.execute(TABLE.query).df())
        return write(con, TABLE, windows, headline(windows))
