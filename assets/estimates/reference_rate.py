"""Join a cluster's reference rate to rows of other inputs, with a note where it has none."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from assets.estimates.table import read
from assets.rounding import rounded

if TYPE_CHECKING:
    from collections.abc import Iterable

    import duckdb
    import pandas as pd

RATE = ("population", "counted_as", "failure_count", "failure_variance", "node_days")
REFERENCE_RATE = tuple(f"est_failure_rates.{name}" for name in (*RATE, "is_reference"))
REFERENCE_MONTHS = ("est_forecast_scores.month_failure_count", "est_forecast_scores.month_node_days")
"""The months of the reference rate, which show the expected variation in days to come."""


def with_reference_rate(con: duckdb.DuckDBPyConnection, rows: pd.DataFrame, prefix: str = "rate_") -> pd.DataFrame:
    """Add the columns of the reference rate, with a prefix, and `rate_note` to rows of clusters."""
    rates = read(con, "est_failure_rates")
    quoted = rates.loc[rates["is_reference"], ["cluster_id", *RATE, "note"]]
    names = {name: f"{prefix}{name}" for name in RATE}
    return rows.merge(quoted.rename(columns=names | {"note": "rate_note"}), "left", "cluster_id")


def with_reference_months(con: duckdb.DuckDBPyConnection, rows: pd.DataFrame) -> pd.DataFrame:
    """Add the lists `month_failure_counts` and `month_node_days` of each cluster, empty if no month was seen."""
    months = read(con, "est_forecast_scores").groupby("cluster_id")
    lists = {name: months[name].agg(list).to_dict() for name in ("month_failure_count", "month_node_days")}
    counts, node_days = (rows["cluster_id"].map(lambda name, of=of: of.get(name, [])) for of in lists.values())
    return rows.assign(month_failure_counts=counts, month_node_days=node_days)


def of_study(con: duckdb.DuckDBPyConnection, rows: pd.DataFrame) -> pd.DataFrame:
    """Add `is_doubtful` and `statement` of est_evidence_reach for the whole study to rows of clusters."""
    reach = read(con, "est_evidence_reach")
    whole = reach.loc[reach["month_date"].isna(), ["cluster_id", "is_doubtful", "statement"]]
    return rows.merge(whole, "left", "cluster_id")


def no_rate(
    rows: pd.DataFrame, without_node_days: str, without_failures: str, prefix: str = "rate_"
) -> list[str | None]:
    """Return for each row why its cluster has no reference rate, or no failure behind it.

    Parameters
    ----------
    rows
        With the columns of `with_reference_rate`.
    without_node_days
        Note if the cluster has no node-days.
    without_failures
        Note if it has no failure; `{}` stands for the node-days.
    prefix
        Prefix of the names of these columns.
    """
    said: list[str | None] = []
    names = [f"{prefix}node_days", f"{prefix}failure_count", "rate_note"]
    for node_days, count, note in rows[names].itertuples(index=False):
        if not node_days > 0:
            said.append(without_node_days)
        elif math.isnan(count):
            said.append(f"no failure rate: {note}")
        else:
            said.append(without_failures.format(rounded(node_days, 4)) if count == 0 else None)
    return said


def joined(*parts: Iterable[str | None]) -> NDArray[np.object_]:
    """Join the notes of each row."""
    texts = ("; ".join(part for part in of_row if isinstance(part, str)) for of_row in zip(*parts, strict=True))
    return np.array([text or None for text in texts], dtype=object)
