"""estimates.est_scale_tests: whether a cluster's failures per node-day are the same at every job size.

Every cluster has a row. If the verdict is `cannot tell`, the note says why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.table import Column, TableSpec, bounded, estimate, numbers, read
from assets.model.scale.dependence import EQUIVALENCE_MARGIN, ScaleTest, scale_test
from assets.rounding import rounded

if TYPE_CHECKING:
    from collections.abc import Hashable

    import duckdb

FAILURES = ("failure_count",)
INCIDENTS = ("failure_count", "failure_variance")
NODE_DAYS = ("node_days",)
NODES = ("node_count",)
ALL = (*INCIDENTS, *NODE_DAYS, *NODES)

TABLE = TableSpec(
    table="est_scale_tests",
    description=(
        "How failures per node-day depend on the nodes of a job: the rate is proportional to nodes to the power beta, "
        "fitted to attempts that fill whole nodes, by gpu_size_bin. Projections to larger jobs assume that beta is 0. "
        "One row per cluster."
    ),
    key=("cluster_id",),
    columns=(
        CLUSTER,
        Column(
            "population",
            "varchar",
            "",
            "whole_nodes: attempts that held all GPUs of their nodes; others share a node they are charged with.",
            (),
            is_required=True,
        ),
        Column("beta", "double", "none", "Exponent of the number of nodes. NULL: see note.", ALL),
        Column("beta_low", "double", "none", "Lower limit. NULL: there is none.", ALL),
        Column("beta_high", "double", "none", "Upper limit. NULL: there is none.", ALL),
        Column("p_value", "double", "ratio 0 to 1", "P-value of beta = 0 (likelihood ratio).", ALL),
        Column(
            "is_equivalent",
            "boolean",
            "",
            "Whether the limits are within the margin: any dependence is too small to matter. NULL: no limits.",
            ALL,
        ),
        Column("equivalence_margin", "double", "none", "Largest beta, up or down, that does not matter.", ()),
        Column(
            "dispersion",
            "double",
            "none",
            "Pearson's dispersion of the sizes about the line. NULL: fewer than three sizes.",
            ALL,
        ),
        Column(
            "incident_dispersion",
            "double",
            "none",
            "Scatter of the counts from shared incidents and uncertain failures; 1: neither.",
            INCIDENTS,
            is_required=True,
        ),
        Column(
            "verdict",
            "varchar",
            "",
            "constant: any dependence is within the margin; grows, falls: the rate per node with the size; "
            "cannot tell.",
            ALL,
            is_required=True,
        ),
        Column("size_count", "bigint", "sizes", "Sizes with node-days.", NODES, is_required=True),
        Column("node_count_min", "double", "nodes", "Mean nodes of an attempt of the smallest size.", NODES),
        Column("node_count_max", "double", "nodes", "Mean nodes of an attempt of the largest size.", NODES),
        *common_columns(
            "poisson_profile: profile likelihood; quasi_poisson: widened, because failures share incidents or are "
            "uncertain, or sizes scatter more than Poisson; one_size, no_events, no_exposure: nothing to fit.",
            "Infrastructure failures, counted as attempts by their probability.",
            FAILURES,
            "Node-days. NULL: unknown.",
            NODE_DAYS,
        ),
    ),
    inputs=("inp_whole_node_sizes_counted",),
)


def tested(sizes: pd.DataFrame) -> pd.DataFrame:
    """Fit each cluster's sizes."""
    rows = [_row(cluster_id, of_cluster) for cluster_id, of_cluster in sizes.groupby("cluster_id")]
    return pd.DataFrame(rows, columns=TABLE.column_names)


def _row(cluster_id: Hashable, sizes: pd.DataFrame) -> dict[str, Any]:
    used = sizes[sizes["node_days"].notna()]
    nodes = numbers(used, "node_count")
    test = scale_test(
        numbers(used, "failure_count"),
        numbers(used, "node_days"),
        nodes,
        event_variance=numbers(used, "failure_variance"),
    )
    low, high = bounded(np.array([test.low, test.high]))
    return {
        "cluster_id": cluster_id,
        "population": "whole_nodes",
        "beta": test.beta,
        "beta_low": low,
        "beta_high": high,
        "p_value": test.p_value,
        "is_equivalent": test.is_equivalent,
        "equivalence_margin": EQUIVALENCE_MARGIN,
        "dispersion": test.dispersion,
        "incident_dispersion": test.incident_dispersion,
        "verdict": test.verdict,
        "size_count": test.size_count,
        "node_count_min": nodes.min() if nodes.size else None,
        "node_count_max": nodes.max() if nodes.size else None,
        "confidence_level": test.confidence_level,
        "method": test.method,
        "event_count": None if _is_unknowable(sizes.iloc[0]) else test.event_count,
        "exposure": None if _is_unknowable(sizes.iloc[0]) else test.exposure,
        "exposure_unit": "node-days",
        "note": _note(test, sizes.iloc[0]),
    }


def _is_unknowable(counts: pd.Series[Any]) -> bool:
    """Return whether no attempt of a cluster has known GPUs and nodes: unknown is not none."""
    attempts = int(counts["attempt_count"])
    return attempts > 0 and (not counts["has_gpus_per_node"] or counts["unknown_size_count"] == attempts)


def _note(test: ScaleTest, counts: pd.Series[Any]) -> str | None:
    """Return the note: why there is no verdict, and what the fit leaves out."""
    reason = None
    if not counts["attempt_count"]:
        reason = "no attempt in the study period"
    elif not counts["has_gpus_per_node"]:
        reason = "GPUs per node unknown: nobody knows which attempts fill their nodes"
    elif _is_unknowable(counts):
        reason = "no attempt has both known GPUs and known nodes"
    elif test.size_count == 0:
        reason = "no attempt with the GPUs of a whole node"
    elif test.event_count == 0:
        reason = f"no failure in {rounded(test.exposure, 4)} node-days"
    elif test.size_count == 1:
        reason = "a single size: nothing to compare"
    elif test.beta != test.beta:
        reason = "every failure at one end of the sizes: beta has a bound only"
    elif test.size_count == 2:
        reason = "two sizes: whether they scatter more than Poisson cannot be judged"
    left_out = counts["unknown_size_count"]
    unknown = f"attempts left out, GPU count or nodes unknown: {left_out}" if left_out else None
    return "; ".join(part for part in (reason, unknown) if part) or None


def headline(tests: pd.DataFrame) -> str:
    """Return a sentence: each cluster's verdict."""
    return "; ".join(f"{row.cluster_id}: {row.verdict}" for row in tests.itertuples())


@estimate(TABLE, headline)
def est_scale_tests(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Regress failures per node-day on the nodes of the job, cluster by cluster."""
    return tested(read(con, "inp_whole_node_sizes_counted"))
