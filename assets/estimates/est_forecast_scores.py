"""estimates.est_forecast_scores: each month's failures forecast from the months before it, and those that happened.

The forecasts are for the population of the cluster's reference rate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.table import WRITTEN, Column, TableSpec, estimate, read
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.forecast import CountForecast, forecast_count, naive_log_score
from assets.model.month_variation import month_variation

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

MIN_SEEN_DAYS = 21.0
"""Smallest number of days seen before a month, for a forecast."""
MIN_MONTHS = 2
"""Smallest number of months seen before a month, for a forecast of its node-days. One month shows no variance."""
MIN_DAYS_OF_MONTH = 14.0
"""Smallest number of days seen of a month, for a comparison of its node-days a day with those of other months."""

FAILURES = ("failure_count", "count_variance")
NODE_DAYS = ("node_days", "seen_days")
BOTH = (*FAILURES, *NODE_DAYS)
RATE_UNIT = "failures per 1,000 node-days"

TABLE = TableSpec(
    table="est_forecast_scores",
    description=(
        "Forecast of the failures and the failure rate of each calendar month, next to what happened: whether the "
        "limits held, and the log score. A forecast is a negative binomial distribution from the failures and "
        "node-days of the months before alone. Their failures are weighted by the probabilities published today, which "
        "were fitted on all records; a forecast uses nothing else of a later month. One row per cluster "
        "and month_date."
    ),
    key=("cluster_id", "month_date"),
    columns=(
        CLUSTER,
        Column("month_date", "date", "UTC day", "First day of the calendar month.", is_required=True),
        Column(
            "population",
            "varchar",
            "",
            "Population of est_failure_rates with the cluster's reference rate. Failures and node-days are counted as "
            "there: for nodes, node-incidents and the days that nodes were in use.",
            is_required=True,
        ),
        Column("is_over", "boolean", "", "The study period reaches to the month's end.", is_required=True),
        Column("node_days", "double", "node-days", "Node-days of the month. NULL: it is not over."),
        Column(
            "node_days_expected",
            "double",
            "node-days",
            "Expected from the months before: their node-days per day times the days of the month. NULL: see note.",
            NODE_DAYS,
        ),
        Column("failure_count", "double", "failures", "Failures of the month. NULL: it is not over."),
        Column(
            "failures_expected",
            "double",
            "failures",
            "Expected failures at node_days_expected. NULL: see note.",
            BOTH,
        ),
        Column("failures_expected_low", "double", "failures", "Lower limit of failure_count itself.", BOTH),
        Column("failures_expected_high", "double", "failures", "Upper limit of failure_count itself.", BOTH),
        Column("has_failures_inside", "boolean", "", "failure_count is within the limits. NULL: not over.", BOTH),
        Column("failures_per_1000_node_days", "double", RATE_UNIT, "Rate r_f of the month. NULL: not over.", BOTH),
        Column(
            "rate_expected",
            "double",
            RATE_UNIT,
            "Rate r_f expected from the months before. NULL: see note.",
            BOTH,
        ),
        Column(
            "rate_expected_low",
            "double",
            RATE_UNIT,
            "Lower limit of the rate seen in a month with these node-days; with node_days_expected until it is over.",
            BOTH,
        ),
        Column("rate_expected_high", "double", RATE_UNIT, "Upper limit of this rate.", BOTH),
        Column("has_rate_inside", "boolean", "", "The month's rate is within the limits. NULL: not over.", BOTH),
        Column(
            "log_score",
            "double",
            "nats",
            "Logarithm of the forecast probability of failure_count, given the month's node-days: 0 is best. NULL: "
            "not over, or no forecast.",
            BOTH,
        ),
        Column(
            "log_score_naive",
            "double",
            "nats",
            "The same for a Poisson forecast at the rate of the month before.",
            BOTH,
        ),
        Column(
            "month_cv",
            "double",
            "none",
            "Coefficient of variation between months in the forecast, from the months before and a prior.",
            BOTH,
        ),
        Column("dispersion", "double", "none", "Variance over mean of the failures of the months before.", FAILURES),
        Column(
            "month_failure_count",
            "double",
            "failures",
            "Failures of the month as far as it was seen; equal to failure_count once it is over.",
            ("failure_count",),
            is_required=True,
        ),
        Column(
            "month_node_days",
            "double",
            "node-days",
            "Node-days of the month as far as it was seen.",
            ("node_days",),
            is_required=True,
        ),
        *common_columns(
            "negative_binomial: with uncertainty of the rate, variation between months, and incidents; "
            "too_little_history: fewer than 21 days, or no node-days, before the month.",
            "Failures of the months before.",
            FAILURES,
            "Node-days of the months before.",
            NODE_DAYS,
        ),
    ),
    inputs=("inp_failures_counted",),
)


def months_of(counts: pd.DataFrame) -> pd.DataFrame:
    """Return the months of each cluster's reference rate with their counts, unless no log could show its failures.

    The variance is that of the counts: other parameters of the posterior change all months in the same way.
    """
    quoted = counts[counts["is_reference"]]
    is_whole = quoted["month_date"].isna()
    seen = quoted.loc[is_whole & quoted["failure_count"].notna(), "cluster_id"]
    months = quoted[~is_whole & quoted["cluster_id"].isin(seen)].drop(columns="note").reset_index(drop=True)
    return months.assign(
        node_days=months["node_days"].fillna(0.0),
        failure_count=months["failure_count"].fillna(0.0),
        failure_variance=months["count_variance"].where(months["failure_count"] > 0, 0.0),
    )


def with_forecasts(months: pd.DataFrame) -> pd.DataFrame:
    """Forecast each month from the cluster's months before it, and compare the forecast with what happened.

    Parameters
    ----------
    months
        Rows of `months_of`, in order of time within each cluster.
    """
    rows = [
        _scored(months.loc[of].iloc[: at + 1])
        for of in months.groupby("cluster_id", sort=False).groups.values()
        for at in range(len(of))
    ]
    scored = months.assign(confidence_level=CONFIDENCE_LEVEL, exposure_unit="node-days")
    names = [name for name in TABLE.column_names if name not in {*scored.columns, *WRITTEN}]
    for name in names:
        scored[name] = [row.get(name) for row in rows]
    scored["node_days"] = [row["node_days"] for row in rows]
    scored["failure_count"] = [row["failure_count"] for row in rows]
    return scored


def _scored(months: pd.DataFrame) -> dict[str, Any]:
    """Forecast the last of a cluster's months from the others."""
    before, month = months.iloc[:-1], months.iloc[-1]
    is_over = bool(month["is_over"])
    found: dict[str, Any] = {
        "node_days": month["node_days"] if is_over else None,
        "failure_count": month["failure_count"] if is_over else None,
        "month_failure_count": month["failure_count"],
        "month_node_days": month["node_days"],
        "event_count": before["failure_count"].sum(),
        "exposure": before["node_days"].sum(),
        "method": "negative_binomial",
    }
    if is_over and month["node_days"] > 0:
        found["failures_per_1000_node_days"] = 1000 * month["failure_count"] / month["node_days"]
    if before["seen_days"].sum() < MIN_SEEN_DAYS or found["exposure"] == 0:
        seen = before["seen_days"].sum()
        return found | {
            "method": "too_little_history",
            "note": f"only {seen:.3g} days were seen before the month: no forecast"
            if seen < MIN_SEEN_DAYS
            else "no node-days before the month: no forecast",
        }
    return found | _forecasts(before, month, is_over)


def _forecasts(before: pd.DataFrame, month: pd.Series[Any], is_over: bool) -> dict[str, Any]:
    counts, node_days = before["failure_count"].to_numpy(), before["node_days"].to_numpy()
    count, variance, exposure = counts.sum(), before["failure_variance"].sum(), node_days.sum()
    dispersion = max(variance / count, 1.0) if count > 0 else 1.0
    variation = month_variation(counts, node_days, dispersion)
    days = float(month["month_days"])

    def forecast(future: float, relative_variance: float = 0.0) -> CountForecast:
        return forecast_count(
            count, variance, exposure, future, variation, future_days=days, exposure_variance=relative_variance
        )

    seen_days = before["seen_days"].to_numpy()
    is_comparable = seen_days >= MIN_DAYS_OF_MONTH
    daily = node_days[is_comparable] / seen_days[is_comparable]
    expected_node_days = exposure / seen_days.sum() * days
    found: dict[str, Any] = {
        "month_cv": variation.cv,
        "dispersion": dispersion,
        "node_days_expected": expected_node_days,
    }
    notes = []
    if daily.size >= MIN_MONTHS and daily.sum() > 0:
        scatter = float(np.var(daily, ddof=1) / np.mean(daily) ** 2) * (1 + 1 / daily.size)
        found |= _limits("failures_expected", forecast(expected_node_days, scatter), 1.0)
        if is_over:
            low, high = found["failures_expected_low"], found["failures_expected_high"]
            found["has_failures_inside"] = bool(low <= round(month["failure_count"]) <= high)
    else:
        notes.append(
            f"months before with {MIN_DAYS_OF_MONTH:.0f} days seen: {daily.size}; how node-days scatter is not known, "
            "so no number of failures"
        )
    held = month["node_days"] if is_over else expected_node_days
    if held > 0:
        rate = forecast(held)
        found |= _limits("rate_expected", rate, 1000 / held)
        if is_over:
            low, high = found["rate_expected_low"], found["rate_expected_high"]
            found["has_rate_inside"] = bool(low <= 1000 * round(month["failure_count"]) / held <= high)
            found["log_score"] = float(rate.log_score(month["failure_count"]))
            last = before.iloc[-1]
            if last["node_days"] > 0:
                found["log_score_naive"] = naive_log_score(
                    last["failure_count"], last["node_days"], held, month["failure_count"]
                )
            else:
                notes.append("no node-days in the month before: no naive score")
    else:
        notes.append("no node-days in the month: no rate")
    if not is_over:
        notes.append("the month is not over")
    return found | {"note": "; ".join(notes) or None}


def _limits(name: str, forecast: CountForecast, factor: float) -> dict[str, float]:
    """Return the expectation and the limits of a forecast, widened to include the expectation."""
    mean, low, high = float(forecast.mean), float(forecast.low), float(forecast.high)
    return {
        name: factor * mean,
        f"{name}_low": factor * min(low, np.floor(mean)),
        f"{name}_high": factor * max(high, np.ceil(mean)),
    }


def headline(scores: pd.DataFrame) -> str:
    """Return a sentence: the number of scored months, and how often the limits held."""
    scored = scores[scores["log_score"].notna()]
    if scored.empty:
        return "no month could be scored yet"
    held = int(scored["has_rate_inside"].sum())
    return f"{held} of {len(scored)} months had their rate inside the limits"


@estimate(TABLE, headline)
def est_forecast_scores(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Forecast every month from those before it, and score the months that are over."""
    return with_forecasts(months_of(read(con, "inp_failures_counted")))
