"""estimates.est_attribution_chance: the share of each cause's attributions that is chance, by a negative control.

The control applies the same window and rules to attempts that COMPLETED.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.table import Column, TableSpec, estimate, read, with_limits
from assets.model.coincidence import NO_CONTROL, NO_FAILURES, ChanceResult, chance_of_coincidence

if TYPE_CHECKING:
    import duckdb
    import pandas as pd


RATIO = "ratio 0 to 1"
HITS = ("failed_hit_count", "failed_count", "control_hit_count", "control_count")
NOTES = {
    NO_CONTROL: "no attempt of these sizes COMPLETED: chance is unknown",
    NO_FAILURES: "no failed attempt without a node named by Slurm",
}


def _measures() -> tuple[Column, ...]:
    """Declare the columns of the counts and of the three shares with their limits."""
    shares = {
        "attributed_ratio": "Share of the failed attempts that evidence explains, counted as in the attribution.",
        "chance_ratio": "Share that evidence would explain by chance: the share of COMPLETED attempts that it explains "
        "under the same rules, weighted to the sizes of the failed attempts. NULL: no control.",
        "corrected_ratio": "Share of the failed attempts that evidence explains beyond chance: (attributed - chance) "
        "/ (1 - chance), at least 0. NULL: no control.",
    }
    return (
        Column("attributed_count", "bigint", "attempts", "Failed attempts that evidence explains.", HITS),
        Column(
            "failed_count",
            "bigint",
            "attempts",
            "Attempts in state NODE_FAIL, BOOT_FAIL, FAILED or REQUEUED for which Slurm names no culprit.",
        ),
        Column("coincidence_count", "bigint", "attempts", "COMPLETED attempts that evidence would explain.", HITS),
        Column("completed_count", "bigint", "attempts", "COMPLETED attempts, the control.", HITS),
        *(column for name, text in shares.items() for column in with_limits(name, RATIO, text, HITS)),
        Column(
            "credible_ratio",
            "double",
            RATIO,
            "corrected_ratio over attributed_ratio: the share of the attributions that is not chance. NULL: nothing "
            "was attributed, or no control.",
            HITS,
        ),
        *common_columns(
            "abbott_mover: exact limits of the share of failed attempts and gamma limits of the control's, combined; "
            "no_control: no COMPLETED attempt of the failed attempts' sizes; no_failed_attempts: nothing to explain.",
            "Failed attempts that evidence explains, as attributed_count.",
            HITS,
            "Failed attempts, as failed_count.",
            HITS,
        ),
    )


TABLE = TableSpec(
    table="est_attribution_chance",
    description=(
        "How many attributions to each cause are expected by chance, and how many remain beyond it, from "
        "marts.agg_attribution_controls in the configured window. Failed attempts for which Slurm names the culprit "
        "are left out: attribution searches only that node. One row per cluster and failure_category in evidence."
    ),
    key=("cluster_id", "failure_category"),
    columns=(
        CLUSTER,
        Column("failure_category", "varchar", "", "Cause, key of dim_failure_categories.", is_required=True),
        *_measures(),
    ),
    inputs=("inp_attribution_controls_summed",),
)


def with_chance(sizes: pd.DataFrame) -> pd.DataFrame:
    """Combine the sizes of each cluster and category into one row."""
    import pandas as pd

    keys = ["cluster_id", "failure_category"]
    rows = [dict(zip(keys, key, strict=True)) | row_of(group) for key, group in sizes.groupby(keys)]
    return pd.DataFrame(rows, columns=TABLE.column_names)


def row_of(sizes: pd.DataFrame) -> dict[str, Any]:
    """Compare the failed attempts of all sizes with their control."""
    failed_hits, failed, control_hits, control = (sizes[name].to_numpy(dtype=np.int64) for name in HITS)
    found = chance_of_coincidence(failed_hits, failed, control_hits, control)
    shares = {"attributed_ratio": found.attributed, "chance_ratio": found.chance, "corrected_ratio": found.corrected}
    limits = {
        f"{name}{suffix}": value
        for name, share in shares.items()
        for suffix, value in (("", share.value), ("_low", share.low), ("_high", share.high))
    }
    explained = found.attributed.value
    return {
        "attributed_count": found.event_count,
        "failed_count": found.exposure,
        "coincidence_count": int(sizes["control_hit_count"].sum()),
        "completed_count": int(sizes["control_count"].sum()),
        **limits,
        "credible_ratio": found.corrected.value / explained if explained > 0 else np.nan,
        "confidence_level": found.confidence_level,
        "method": found.method,
        "event_count": found.event_count,
        "exposure": float(found.exposure),
        "exposure_unit": "attempts",
        "note": note_of(found),
    }


def note_of(found: ChanceResult) -> str | None:
    """Return the note: why a share is missing, or what the control does not cover."""
    if found.method in NOTES:
        return NOTES[found.method]
    if np.isnan(found.corrected.value):
        return "every COMPLETED attempt shows evidence too: attributions cannot be separated from chance"
    if found.covered_ratio < 1:
        return f"no control for the sizes of {1 - found.covered_ratio:.1%} of the failed attempts"
    return None


def headline(chance: pd.DataFrame) -> str:
    """Return a sentence: the number of attributions, and the number expected by chance."""
    known = chance[chance["chance_ratio"].notna()]
    expected = (known["chance_ratio"] * known["failed_count"]).sum()
    return f"{chance['attributed_count'].sum():.0f} attributions, some {expected:.1f} by chance"


@estimate(TABLE, headline)
def est_attribution_chance(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Compare the attributed failures of each cause with attempts that COMPLETED."""
    return with_chance(read(con, "inp_attribution_controls_summed"))
