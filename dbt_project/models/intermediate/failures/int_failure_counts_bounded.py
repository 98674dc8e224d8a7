"""The limits of each number of failures that some cause has; the mathematics are in assets/model/failure_rate.py."""

from typing import Any

import pandas as pd

from assets.model.failure_rate import garwood_interval


def model(dbt: Any, session: Any) -> pd.DataFrame:
    """Return one row per number of failures that a cause of some cluster has."""
    dbt.config(materialized="table")
    counted = dbt.ref("fct_failures").aggregate("cluster_id, failure_category, count(*) as failure_count").df()
    failure_counts = sorted(set(counted["failure_count"]))
    expected = garwood_interval(failure_counts, 1.0)
    return pd.DataFrame(
        {
            "failure_count": pd.Series(failure_counts, dtype="int64"),
            "failure_count_low": expected.low,
            "failure_count_high": expected.high,
        }
    )
