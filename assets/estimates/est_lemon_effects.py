"""estimates.est_lemon_effects: how often large jobs fail, with and without the lemons (the paper: 14% and 4%).

The lemons are found on the same days, so the effect is overstated. est_lemon_evaluations uses the days after.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assets.bad_clusters.left_out import failing_clusters, running_run
from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.table import Column, TableSpec, estimate, with_limits
from assets.model.coincidence import binomial_share
from assets.model.failure_rate import CONFIDENCE_LEVEL

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

LARGE = ("marts.fct_attempts.job_gpu_count", "large_gpu_count")
LEMONS = "est_lemon_nodes.verdict"
FAILED = (
    *(*LARGE, LEMONS, "marts.fct_failures.attempt_id", "marts.fct_failures.culprit_node_id"),
    "marts.fct_failures.posterior_probability",
    "marts.fct_attempt_nodes.node_id",
)
QUERY = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
"""Joins attempts and their nodes to the lemons. Only this estimate reads millions of rows."""
RATIO = "ratio 0 to 1"

TABLE = TableSpec(
    table="est_lemon_effects",
    description=(
        "Share of large attempts that infrastructure failed, with and without the nodes called lemons, over the same "
        "days on which the lemons were found. One row per cluster with accounting and population."
    ),
    key=("cluster_id", "population"),
    columns=(
        CLUSTER,
        Column(
            "population",
            "varchar",
            "",
            "all: every large attempt; all_without_lemon_failures: the same, without the failures that lemons caused; "
            "with_lemon_node, without_lemon_node: attempts on at least one lemon, on none.",
            (),
            is_required=True,
        ),
        *with_limits("failure_ratio", RATIO, "Share of attempts that failed. NULL: no attempt.", FAILED),
        Column(
            "attempt_count", "bigint", "attempts", "Large attempts that ended in the study.", LARGE, is_required=True
        ),
        Column("failure_count", "double", "failures", "Failed attempts, by probability.", FAILED, is_required=True),
        Column("large_gpu_count", "bigint", "GPUs", "Fewest GPUs of a large attempt; note says if not 512."),
        Column("lemon_count", "bigint", "nodes", "Nodes called lemons.", (LEMONS,), is_required=True),
        Column("window_start_date", "date", "UTC day", "First day.", ("rate_start_date",)),
        Column("window_end_date", "date", "UTC day", "Last day."),
        *common_columns(
            "clopper_pearson: exact limits; no_attempt: no attempt to take a share of.",
            "Failed attempts, as failure_count.",
            FAILED,
            "Attempts, as attempt_count.",
            LARGE,
        ),
    ),
    inputs=("inp_lemon_windows_chosen",),
    estimates=("est_lemon_nodes",),
)


def with_ratios(counts: pd.DataFrame) -> pd.DataFrame:
    """Compute shares with limits from counts."""
    pairs = zip(counts["failure_count"], counts["attempt_count"], strict=True)
    shares = [binomial_share(float(failed), int(ended)) for failed, ended in pairs]
    return counts.assign(
        failure_ratio=[share.value for share in shares],
        failure_ratio_low=[share.low for share in shares],
        failure_ratio_high=[share.high for share in shares],
        confidence_level=CONFIDENCE_LEVEL,
        method=["clopper_pearson" if ended else "no_attempt" for ended in counts["attempt_count"]],
        event_count=counts["failure_count"],
        exposure=counts["attempt_count"].astype(float),
        exposure_unit="attempts",
    )


def headline(ratios: pd.DataFrame) -> str:
    """Return a sentence: each cluster's share of failed large attempts, with and without failures by lemons."""
    known = ratios[ratios["failure_ratio"].notna()]
    all_of, without = (
        dict(zip(own["cluster_id"], own["failure_ratio"], strict=True))
        for own in (known[known["population"] == name] for name in ("all", "all_without_lemon_failures"))
    )
    return "; ".join(
        f"{cluster_id}: {share:.3g} of large attempts failed, {without[cluster_id]:.3g} not by lemons"
        for cluster_id, share in all_of.items()
    )


@estimate(TABLE, headline)
def est_lemon_effects(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Count large attempts and their failures, with and without lemons."""
    return with_ratios(con.execute(QUERY, {"left_out": [*failing_clusters(con, running_run(con))]}).df())
