"""estimates.est_rate_changes: when a cluster's rate of incidents changed, by how much, and what happened then.

Read from marts.fct_incidents and marts.agg_failure_rates_daily, for all incidents and cause by cause. What is known to
have happened comes from marts.dim_annotations and marts.agg_check_introductions.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import dagster as dg
import numpy as np
import pandas as pd

from assets.estimates.evidence import CLUSTER, evidence
from assets.estimates.table import Column, TableSpec, bounded, estimate, write
from assets.model.change_points import (
    MINIMUM_CELLS,
    PENALTY_FACTOR,
    RateSegments,
    TrendTest,
    find_rate_changes,
    laplace_trend,
)
from assets.model.failure_rate import CONFIDENCE_LEVEL, garwood_interval
from assets.model.rate_ratio import rate_ratio
from assets.warehouse import Warehouse

if TYPE_CHECKING:
    from collections.abc import Hashable
    from datetime import date

# How far from a change, or from its limits, something known may lie and still be named beside it.
ANNOTATION_DAYS = 7

INCIDENTS = ("marts.fct_incidents.started_at", "marts.fct_incidents.failure_category")
DAYS = ("marts.agg_failure_rates_daily.day_date", "marts.agg_failure_rates_daily.node_days")
RATE = (*INCIDENTS, *DAYS)
NOTES = (
    "marts.dim_annotations.annotated_date",
    "marts.dim_annotations.annotation",
    "marts.agg_check_introductions.check_name",
    "marts.agg_check_introductions.failure_category",
    "marts.agg_check_introductions.first_reported_at",
    "marts.agg_check_introductions.is_introduction",
)
UNIT = "incidents per 1,000 node-days"

TABLE = TableSpec(
    table="est_rate_changes",
    description=(
        "Days on which the rate of incidents per node-day of all finished attempts changed, found as spans of constant "
        f"rate of at least {MINIMUM_CELLS} days by penalised likelihood: optimal partitioning with a penalty of "
        f"{PENALTY_FACTOR:g} log(days) for each change. All incidents of a cluster have a row with changed_at NULL "
        "where no change was found; single causes have rows for their changes only. One row per cluster, "
        "failure_category and changed_at."
    ),
    key=("cluster_id", "failure_category", "changed_at"),
    columns=(
        CLUSTER,
        Column(
            "failure_category",
            "varchar",
            "",
            "Cause whose incidents are counted; all: every incident.",
            INCIDENTS[1:],
            is_required=True,
        ),
        Column("changed_at", "timestamp", "UTC", "Begin of the first day at the new rate. NULL: see note.", RATE),
        Column("changed_at_low", "timestamp", "UTC", "Earliest day it may have been.", RATE),
        Column("changed_at_high", "timestamp", "UTC", "Latest day it may have been.", RATE),
        Column("rate_before", "double", UNIT, "Since the change before, or the first day. NULL: unknown.", RATE),
        Column("rate_before_low", "double", UNIT, "Lower limit (Garwood).", RATE),
        Column("rate_before_high", "double", UNIT, "Upper limit (Garwood).", RATE),
        Column("rate_after", "double", UNIT, "Up to the next change, or the last day. NULL: no change.", RATE),
        Column("rate_after_low", "double", UNIT, "Lower limit (Garwood).", RATE),
        Column("rate_after_high", "double", UNIT, "Upper limit (Garwood).", RATE),
        Column("ratio", "double", "none", "rate_after over rate_before. NULL: no change, or no incident before.", RATE),
        Column(
            "ratio_low",
            "double",
            "none",
            "Lower limit (conditional binomial). The day was chosen where the rates differ most, so that the ratio is "
            "a little too far from 1.",
            RATE,
        ),
        Column("ratio_high", "double", "none", "Upper limit. NULL: no change, or no incident before.", RATE),
        Column(
            "annotation",
            "varchar",
            "",
            f"The nearest annotation, or first report of a check, at most {ANNOTATION_DAYS} days from the change or "
            "its limits, with its date. It came at the same time; it need not be the reason. NULL: none.",
            NOTES,
        ),
        Column(
            "trend_score",
            "double",
            "standard deviations",
            "Laplace's test over all days of the series: positive, incidents become more frequent.",
            RATE,
        ),
        Column("trend_p_value", "double", "ratio 0 to 1", "Of the hypothesis that there is no trend.", RATE),
        Column(
            "dispersion",
            "double",
            "variance over Poisson variance",
            "Scatter from day to day, at least 1, by which the gain of a change was divided.",
            RATE,
        ),
        Column("day_count", "bigint", "days", "Days of the series.", DAYS, is_required=True),
        *evidence(
            "optimal_partition: a change; no_change: none was worth its penalty; too_short: not two spans long; "
            "no_events, no_exposure: nothing to look at.",
            "Incidents of both spans; without a change, of all days.",
            INCIDENTS,
            "Node-days of both spans; without a change, of all days.",
            DAYS,
        ),
    ),
)


def with_changes(series: pd.DataFrame) -> pd.DataFrame:
    """Look for changes in every series."""
    rows = [row for one in series.to_dict("records") for row in _rows(one)]
    return pd.DataFrame(rows, columns=TABLE.column_names)


def _rows(series: dict[Hashable, Any]) -> list[dict[str, Any]]:
    has_days = isinstance(series["days"], np.ndarray | list)
    count, node_days = (
        np.array(series[name], dtype=float) if has_days else np.zeros(0) for name in ("incident_counts", "node_days")
    )
    common = {
        "cluster_id": series["cluster_id"],
        "failure_category": series["failure_category"],
        "day_count": count.size,
        "confidence_level": CONFIDENCE_LEVEL,
        "exposure_unit": "node-days",
    }
    if not node_days.sum() > 0:
        return [common | _nothing(count, node_days, "no_exposure", "no failure, or no node-days, to look at")]
    trend = laplace_trend(count, node_days)
    segments = find_rate_changes(count, node_days)
    common |= {
        "trend_score": trend.score,
        "trend_p_value": trend.p_value,
        "dispersion": segments.dispersion,
    }
    if segments.start.size > 1:
        days = [pd.Timestamp(day) for day in series["days"]]
        return [common | _change(segments, i, days, series["notes"]) for i in range(1, segments.start.size)]
    if series["failure_category"] != "all":
        return []
    return [common | _nothing(count, node_days, *_unchanged(count, trend))]


def _unchanged(count: np.ndarray[Any, Any], trend: TrendTest) -> tuple[str, str]:
    """Say why there is no change."""
    if count.sum() == 0:
        return "no_events", "no incident"
    if count.size < 2 * MINIMUM_CELLS:
        return "too_short", f"{count.size} day{'s' * (count.size != 1)}: a change takes {2 * MINIMUM_CELLS} at least"
    drift = "; the trend test sees a drift" if trend.p_value < 1 - CONFIDENCE_LEVEL else ""
    return "no_change", f"no change of rate found in {count.size} days{drift}"


def _nothing(count: np.ndarray[Any, Any], node_days: np.ndarray[Any, Any], method: str, note: str) -> dict[str, Any]:
    """Fill a row without a change: what is known is the rate of all days."""
    rate = garwood_interval(count.sum(), node_days.sum())
    return {
        "rate_before": 1000 * rate.value if count.sum() > 0 else None,
        "rate_before_low": 1000 * rate.low,
        "rate_before_high": 1000 * rate.high,
        "method": method,
        "event_count": int(count.sum()),
        "exposure": node_days.sum(),
        "note": note,
    }


def _change(segments: RateSegments, i: int, days: list[pd.Timestamp], notes: Any) -> dict[str, Any]:
    """Fill the row of the change between two spans."""
    k, t = segments.event_count[i - 1 : i + 1], segments.exposure[i - 1 : i + 1]
    rates, ratio = garwood_interval(k, t), rate_ratio(k[1], t[1], k[0], t[0])
    at, low, high = (days[place[i]] for place in (segments.start, segments.start_low, segments.start_high))
    value, ratio_low, ratio_high = bounded(np.array([ratio.value, ratio.low, ratio.high]))
    limits = {
        f"rate_{side}{limit}": 1000 * values[j]
        for j, side in enumerate(("before", "after"))
        for limit, values in (("", rates.value), ("_low", rates.low), ("_high", rates.high))
    }
    return limits | {
        "changed_at": at,
        "changed_at_low": low,
        "changed_at_high": high,
        "ratio": value,
        "ratio_low": ratio_low,
        "ratio_high": ratio_high,
        "annotation": nearest_note(notes, at.date(), low.date(), high.date()),
        "method": "optimal_partition",
        "event_count": int(k.sum()),
        "exposure": t.sum(),
        "note": None if k[0] else "no incident before: the ratio has a lower limit only",
    }


def nearest_note(notes: Any, at: date, low: date, high: date) -> str | None:
    """Find what is known to have happened nearest to a change, not too far outside its limits.

    Parameters
    ----------
    notes
        Records with `day` and `text`, or nothing.
    at, low, high
        Day of the change and its limits.
    """
    if not isinstance(notes, np.ndarray | list):
        return None
    reach = timedelta(days=ANNOTATION_DAYS)
    known = [(pd.Timestamp(note["day"]).date(), note["text"]) for note in notes]
    near = [(abs(day - at), day, text) for day, text in known if low - reach <= day <= high + reach]
    if not near:
        return None
    _, day, text = min(near)
    return f"{day}: {text}"


def headline(changes: pd.DataFrame) -> str:
    """Say how many changes were found."""
    found = changes["changed_at"].notna()
    of_all = found & (changes["failure_category"] == "all")
    return f"{of_all.sum()} changes of a cluster's rate, {found.sum() - of_all.sum()} of a single cause's"


@estimate(TABLE)
def est_rate_changes(warehouse: Warehouse) -> dg.MaterializeResult[None]:
    """Cut the days of each cluster and cause into spans of constant rate."""
    with warehouse.writing() as con:
        changes = with_changes(con.execute(TABLE.query).df())
        return write(con, TABLE, changes, headline(changes))
