"""Compare how often failed and completed ends have a signal, by assets/model/rate_ratio.py."""

from typing import Any

import numpy as np
import pandas as pd

from assets.model.rate_ratio import rate_ratio

COUNTS = ["failed_end_count", "failed_end_total", "completed_end_count", "completed_end_total"]


def model(dbt: Any, session: Any) -> pd.DataFrame:
    """Return one row per distinct set of counts of a signal."""
    dbt.config(materialized="table")
    counted = dbt.ref("int_unmapped_signal_ends").aggregate(", ".join(COUNTS)).df().astype("int64")
    found = rate_ratio(*(counted[name] for name in COUNTS))
    limits = {"ratio": found.value, "ratio_low": found.low, "ratio_high": found.high}
    # Without a completed end to compare with, there is no value and no upper limit.
    return counted.assign(**{name: np.where(np.isfinite(value), value, np.nan) for name, value in limits.items()})
