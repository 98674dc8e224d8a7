"""Convert rows of inp_suspects_listed to the pairs of indices that `assets.model.lemons.culprits` takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assets.estimates.table import numbers
from assets.model.lemons.culprits import Blame, infer_culprits

if TYPE_CHECKING:
    from collections.abc import Iterator

# The same input gives the same table.
SEED = 20_241_029
LIKELY = 0.5
SUSPECTS = ("incident_id", "node_id", "is_known", "incident_probability", "failed_at")
"""The columns of incidents, and of the nodes that may have caused them."""


def clusters_of(nodes: pd.DataFrame, suspects: pd.DataFrame) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
    """Return each cluster's nodes, numbered from 0, and the suspects among them."""
    by_cluster = dict(iter(suspects.groupby("cluster_id", sort=False)))
    for cluster_id, own in nodes.groupby("cluster_id", sort=True):
        yield own.reset_index(drop=True), by_cluster.get(cluster_id, suspects.iloc[:0])


def of_nodes_in_use(nodes: pd.DataFrame, suspects: pd.DataFrame) -> pd.DataFrame:
    """Leave out suspects not in use in that time: their failures would raise a rate without its exposure.

    Such a failure is of an attempt that ended as it began, on a node that ran nothing else.
    """
    used = nodes.loc[numbers(nodes, "in_use_node_days") > 0, "node_id"]
    return suspects[suspects["node_id"].isin(used)]


def node_numbers(nodes: pd.DataFrame, suspects: pd.DataFrame) -> NDArray[np.int64]:
    """Return the number of each suspect's node."""
    return pd.Index(nodes["node_id"]).get_indexer(suspects["node_id"]).astype(np.int64)


def blame_of(nodes: pd.DataFrame, suspects: pd.DataFrame) -> Blame:
    """Infer the culprits of one cluster. An incident with several known culprits is a failure of each of them."""
    number = node_numbers(nodes, suspects)
    is_known = suspects["is_known"].to_numpy(dtype=bool)
    failure = pd.MultiIndex.from_arrays([suspects["incident_id"], np.where(is_known, number, -1)])
    codes = pd.factorize(failure)[0]
    probability = np.ones(len(np.unique(codes)))
    probability[codes] = numbers(suspects, "incident_probability")
    generator = np.random.default_rng(SEED)
    return infer_culprits(codes, number, numbers(nodes, "in_use_node_days"), generator, probability)


def days_ago(
    nodes: pd.DataFrame, suspects: pd.DataFrame, blame: Blame, last_day: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Count the days since each node's first and last failure, among failures more likely its own than not.

    Returns
    -------
    Both in order of the nodes, up to the end of the last day; `nan` for a node without a failure.
    """
    is_own = blame.share * numbers(suspects, "incident_probability") >= LIKELY
    own = suspects[is_own].groupby("node_id")["failed_at"].agg(["min", "max"]).reindex(nodes["node_id"])
    end = pd.Timestamp(last_day) + pd.Timedelta(days=1)
    since = ((end - pd.to_datetime(own[way])) / pd.Timedelta(days=1) for way in ("min", "max"))
    first, last = (np.asarray(days, dtype=np.float64) for days in since)
    return first, last


def summed(numbers_of_nodes: NDArray[np.int64], amounts: NDArray[np.float64], node_count: int) -> NDArray[np.float64]:
    """Sum amounts by node. An unknown amount adds nothing."""
    return np.bincount(numbers_of_nodes, np.nan_to_num(amounts), minlength=node_count).astype(float)
