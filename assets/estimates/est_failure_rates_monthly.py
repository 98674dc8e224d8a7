"""estimates.est_failure_rates_monthly: failures per 1,000 node-days in each calendar month, with limits.

The columns are those of estimates.est_failure_rates. The months add up to its failures and node-days.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from assets.estimates import est_failure_rates as whole
from assets.estimates.table import Column, TableSpec, estimate, read

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

MONTHS = (
    Column("month_date", "date", "UTC day", "First day of the calendar month.", is_required=True),
    Column(
        "is_whole_month",
        "boolean",
        "",
        "All days of the month were seen. False: the study period begins or ends in it, or accounting is missing.",
        ("seen_days", "month_days"),
        is_required=True,
    ),
    Column("seen_days", "double", "days", "Seen days of the month.", is_required=True),
)
REFERENCE = Column(
    "is_reference",
    "boolean",
    "",
    "The population and way of counting of the cluster's reference rate in est_failure_rates.",
    is_required=True,
)

TABLE = TableSpec(
    table="est_failure_rates_monthly",
    description=(
        "Infrastructure failures per 1,000 node-days in each calendar month of the study period, with limits, counted "
        "as in est_failure_rates. An incident with all its attempts belongs to the month of its first failure, an "
        "unexplained attempt to the month in which it begins. One row per cluster, month_date, population and way "
        "of counting."
    ),
    key=("cluster_id", "month_date", *whole.TABLE.key[1:]),
    columns=(
        whole.TABLE.columns[0],
        *MONTHS,
        *(REFERENCE if column.name == REFERENCE.name else column for column in whole.TABLE.columns[1:]),
    ),
    inputs=("inp_failures_counted",),
    estimates=("est_evidence_reach",),
)


def headline(rates: pd.DataFrame) -> str:
    """Return a sentence: the number of months that were seen whole."""
    whole_months = rates.loc[rates["is_whole_month"], ["cluster_id", "month_date"]].drop_duplicates()
    return f"{len(whole_months)} whole months"


@estimate(TABLE, headline)
def est_failure_rates_monthly(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Put limits on the ratio of each month's failures and node-days."""
    counts = whole.with_bound(con, read(con, "inp_failures_counted"))
    months = counts[counts["month_date"].notna() & counts["begins_in_study"]]
    months = months.assign(is_whole_month=months["seen_days"] >= months["month_days"] - 1e-6)
    return whole.with_rates(months)
