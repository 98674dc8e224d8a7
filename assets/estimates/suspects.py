"""Rows of marts.fct_incident_suspects as the index pairs that `assets.model.culprits` takes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assets.estimates import evidence
from assets.estimates.table import numbers
from assets.model.culprits import Blame, infer_culprits

if TYPE_CHECKING:
    from collections.abc import Iterator

CLUSTER = replace(evidence.CLUSTER, upstream=("marts.agg_lemon_windows.cluster_id",))
"""A cluster with accounting; without it there is nothing to count."""
# The same input gives the same table.
SEED = 20_241_029
BLAMED = tuple(
    f"marts.fct_incident_suspects.{column}" for column in ("incident_id", "node_id", "is_known", "failed_at")
)
IN_USE = ("marts.fct_node_days.in_use_hours", "marts.agg_lemon_windows.rate_days")


def clusters_of(nodes: pd.DataFrame, suspects: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Give each cluster's nodes, numbered from 0, and the suspects among them."""
    by_cluster = dict(iter(suspects.groupby("cluster_id", sort=False)))
    for cluster_id, own in nodes.groupby("cluster_id", sort=True):
        yield own.reset_index(drop=True), by_cluster.get(cluster_id, suspects.iloc[:0])


def node_numbers(nodes: pd.DataFrame, suspects: pd.DataFrame) -> NDArray[np.int64]:
    """Give the number of each suspect's node."""
    return pd.Index(nodes["node_id"]).get_indexer(suspects["node_id"]).astype(np.int64)


def blame_of(nodes: pd.DataFrame, suspects: pd.DataFrame) -> Blame:
    """Infer the culprits of one cluster; an incident with several known culprits is a failure of each."""
    number = node_numbers(nodes, suspects)
    is_known = suspects["is_known"].to_numpy(dtype=bool)
    failure = pd.MultiIndex.from_arrays([suspects["incident_id"], np.where(is_known, number, -1)])
    generator = np.random.default_rng(SEED)
    return infer_culprits(pd.factorize(failure)[0], number, numbers(nodes, "in_use_node_days"), generator)


def summed(numbers_of_nodes: NDArray[np.int64], amounts: NDArray[np.float64], node_count: int) -> NDArray[np.float64]:
    """Add amounts up by node; an unknown amount adds nothing."""
    return np.bincount(numbers_of_nodes, np.nan_to_num(amounts), minlength=node_count).astype(float)
