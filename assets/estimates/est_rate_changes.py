"""estimates.est_rate_changes: when a cluster's rate of incidents changed, by how much, and what happened then.

It searches all incidents and those of each cause over the whole days of the study period. An incident counts by its
probability, the largest of its failures. Known events are annotations and first reports of checks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from assets.estimates.common_columns import CLUSTER, common_columns
from assets.estimates.table import Column, TableSpec, bounded, estimate, read
from assets.log_kinds import LOG_KINDS, SILENT_DAYS
from assets.model.change_points import (
    MINIMUM_CELLS,
    PENALTY_FACTOR,
    RateSegments,
    TrendTest,
    find_rate_changes,
    laplace_trend,
)
from assets.model.failure_rate import CONFIDENCE_LEVEL
from assets.model.incident_counts import Floats, count_incidents, weighted_interval
from assets.model.rate_ratio import rate_ratio

if TYPE_CHECKING:
    from collections.abc import Hashable
    from datetime import date

    import duckdb

ANNOTATION_DAYS = 7
"""Largest distance of a known event from a change, or from its limits, for the change to name it."""

INCIDENTS = ("incident_probabilities",)
DAYS = ("days", "node_days")
RATE = (*INCIDENTS, *DAYS)
NOTES = ("notes",)
SPANS = ("logs",)
UNIT = "incidents per 1,000 node-days"
NOT_OBSERVABLE = "not observable: attempts ended FAILED on nodes without an understood log"
CANNOT_TELL = "cannot tell"
FALSE_ALARMS = 0.02
"""Share of clusters with constant rates that show a change, or a drift."""
UNSEEN = dict.fromkeys(("rate_before_low", "rate_before_high", "event_count", "trend_score", "trend_p_value"))
"""Columns that are unknown then: seeing no incident is no count of incidents."""

TABLE = TableSpec(
    table="est_rate_changes",
    description=(
        "Days on which the rate of incidents per node-day of all attempts changed: the borders of spans of constant "
        f"rate, each at least {MINIMUM_CELLS} days long, by penalised likelihood. Optimal partitioning has a penalty "
        f"of {PENALTY_FACTOR:g} log(days) + 2 log(series of the cluster) for each change, so that with constant rates "
        "at most 2 of 100 clusters show a change in any series. A cluster without a change in all its incidents has a "
        "row with changed_at NULL; single causes have rows only for their changes. One row per cluster, "
        "failure_category and changed_at."
    ),
    key=("cluster_id", "failure_category", "changed_at"),
    columns=(
        CLUSTER,
        Column(
            "failure_category",
            "varchar",
            "",
            "Cause of the counted incidents; all: every incident.",
            is_required=True,
        ),
        Column("changed_at", "timestamp", "UTC", "Start of the first day at the new rate. NULL: see note.", RATE),
        Column("changed_at_low", "timestamp", "UTC", "Earliest day of the change, lower limit.", RATE),
        Column("changed_at_high", "timestamp", "UTC", "Latest day of the change, upper limit.", RATE),
        Column("rate_before", "double", UNIT, "Rate since the last change or first day. NULL: unknown.", RATE),
        Column("rate_before_low", "double", UNIT, "Lower limit (Garwood, dispersed).", RATE),
        Column("rate_before_high", "double", UNIT, "Upper limit (Garwood, dispersed).", RATE),
        Column("rate_after", "double", UNIT, "Rate up to the next change or last day. NULL: no change.", RATE),
        Column("rate_after_low", "double", UNIT, "Lower limit (Garwood, dispersed).", RATE),
        Column("rate_after_high", "double", UNIT, "Upper limit (Garwood, dispersed).", RATE),
        Column("ratio", "double", "none", "rate_after over rate_before. NULL: no change, or no incident before.", RATE),
        Column(
            "ratio_low",
            "double",
            "none",
            "Lower limit (conditional binomial). The day was chosen where the rates differ most, so the ratio is a "
            "little too far from 1.",
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
            "Laplace's statistic over all days of the series; above 0, incidents become more frequent.",
            RATE,
        ),
        Column(
            "trend_p_value",
            "double",
            "ratio 0 to 1",
            "P-value of no trend, from the statistic over the root of the scatter between days.",
            RATE,
        ),
        Column(
            "trend_verdict",
            "varchar",
            "",
            "Over the whole study: rises, falls, or no drift shown; with constant rates 2 of 100 clusters show one, "
            "as with changes. cannot tell: no incident, or no log could have shown one, or health checks or kernel "
            f"messages end more than {SILENT_DAYS:g} days before the study does, so that fewer incidents may be fewer "
            "seen. For the last 30 days against those before, see the row months of est_rate_ratios.",
            (*RATE, *SPANS),
            is_required=True,
        ),
        Column(
            "dispersion",
            "double",
            "none",
            "Scatter from day to day, at least 1, which divides the gain of a change.",
            RATE,
        ),
        Column("day_count", "bigint", "days", "Whole days of the study period.", DAYS, is_required=True),
        *common_columns(
            "optimal_partition: a change; no_change: none was worth its penalty; too_short: shorter than two spans; "
            "no_events, no_exposure: nothing to search.",
            "Expected incidents in both spans, a sum of probabilities; without a change, in all days.",
            (*INCIDENTS, *SPANS, "unseen_count"),
            "Node-days of both spans; without a change, of all days.",
            DAYS,
        ),
    ),
    inputs=("inp_rate_days_counted",),
)


@dataclass(frozen=True)
class _Series:
    """The days of one cluster for one cause or all incidents: sums of w and of w (2 - w), and node-days."""

    days: list[pd.Timestamp]
    count: Floats
    variance: Floats
    node_days: Floats

    @classmethod
    def of(cls, row: dict[Hashable, Any]) -> _Series:
        """Return the series of a row of the input. Its lists are NULL if there is no day."""
        if not isinstance(row["days"], np.ndarray | list):
            return cls([], np.zeros(0), np.zeros(0), np.zeros(0))
        node_days = np.array(row["node_days"], dtype=float)
        of_days = [np.array(probabilities, dtype=float) for probabilities in row["incident_probabilities"]]
        day = np.repeat(np.arange(len(of_days)), [len(probabilities) for probabilities in of_days])
        probability = np.concatenate(of_days)
        found = count_incidents(day, probability, np.ones(probability.size), node_days.size)
        return cls([pd.Timestamp(day) for day in row["days"]], found.incident_count, found.incident_variance, node_days)


def with_changes(series: pd.DataFrame) -> pd.DataFrame:
    """Search every series for changes. The error probability is for all series of a cluster together."""
    rows = []
    for _, of_cluster in series.groupby("cluster_id", sort=False):
        for row in of_cluster.to_dict("records"):
            rows += _rows(row, family_size=len(of_cluster))
    return pd.DataFrame(rows, columns=TABLE.column_names)


def _rows(row: dict[Hashable, Any], family_size: int) -> list[dict[str, Any]]:
    series = _Series.of(row)
    common = {
        "cluster_id": row["cluster_id"],
        "failure_category": row["failure_category"],
        "day_count": series.count.size,
        "confidence_level": CONFIDENCE_LEVEL,
        "exposure_unit": "node-days",
        "trend_verdict": CANNOT_TELL,
    }
    if not series.node_days.sum() > 0:
        return [common | _nothing(series, "no_exposure", "no node-days to look at")]
    trend = laplace_trend(series.count, series.node_days)
    silent = _silent_logs(row["logs"])
    segments = find_rate_changes(series.count, series.node_days, family_size=family_size)
    common |= {
        "trend_score": trend.score,
        "trend_p_value": trend.p_value,
        "trend_verdict": CANNOT_TELL if silent else _drift(trend),
        "dispersion": segments.dispersion,
    }
    if segments.start.size > 1:
        changes = [_change(segments, i, series, row["notes"]) for i in range(1, segments.start.size)]
        return [
            common | change | {"note": "; ".join(filter(None, (change["note"], silent))) or None} for change in changes
        ]
    if row["failure_category"] != "all":
        return []
    if series.count.sum() == 0 and row["unseen_count"] > 0:
        return [common | _nothing(series, "no_events", NOT_OBSERVABLE) | UNSEEN | {"trend_verdict": CANNOT_TELL}]
    method, note = _unchanged(series.count, common["trend_verdict"])
    return [common | _nothing(series, method, f"{note}; {silent}" if silent else note)]


def _silent_logs(logs: Any) -> str:
    """Return which logs ended long before the study did: faults that only they show were not seen after that."""
    ended = [log for log in logs if log["silent_days"] > SILENT_DAYS] if isinstance(logs, np.ndarray | list) else []
    said = [f"{LOG_KINDS[log['kind']].name.lower()} end on {log['to_at']:%Y-%m-%d}" for log in ended]
    return f"{', '.join(said)}: fewer incidents may be fewer seen" if said else ""


def _drift(trend: TrendTest) -> str:
    if not np.isfinite(trend.p_value):
        return CANNOT_TELL
    return ("rises" if trend.score > 0 else "falls") if trend.p_value < FALSE_ALARMS else "no drift shown"


def _unchanged(count: Floats, verdict: str) -> tuple[str, str]:
    """Return the note of a series without a change."""
    if count.sum() == 0:
        return "no_events", "no incident"
    if count.size < 2 * MINIMUM_CELLS:
        return "too_short", f"{count.size} day{'s' * (count.size != 1)}: a change takes {2 * MINIMUM_CELLS} at least"
    drift = "; the trend test sees a drift" if verdict in {"rises", "falls"} else ""
    return "no_change", f"no change of rate found in {count.size} days{drift}"


def _nothing(series: _Series, method: str, note: str) -> dict[str, Any]:
    """Return a row without a change, with the rate of all days."""
    count, node_days = series.count.sum(), series.node_days.sum()
    rate = weighted_interval(count, series.variance.sum(), node_days)
    return {
        "rate_before": 1000 * rate.value if count > 0 else None,
        "rate_before_low": 1000 * rate.low,
        "rate_before_high": 1000 * rate.high,
        "method": method,
        "event_count": count,
        "exposure": node_days,
        "note": note,
    }


def _change(segments: RateSegments, i: int, series: _Series, notes: Any) -> dict[str, Any]:
    """Return the row of the change between two spans."""
    k, t = segments.event_count[i - 1 : i + 1], segments.exposure[i - 1 : i + 1]
    edges = np.append(segments.start, series.count.size)
    variance = np.add.reduceat(np.append(series.variance, 0.0), edges)[i - 1 : i + 1]
    rates = weighted_interval(k, variance, t)
    ratio = rate_ratio(k[1], t[1], k[0], t[0], dispersion=max(1.0, variance.sum() / k.sum()))
    at, low, high = (series.days[place[i]] for place in (segments.start, segments.start_low, segments.start_high))
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
        "event_count": k.sum(),
        "exposure": t.sum(),
        "note": None if k[0] else "no incident before: the ratio has a lower limit only",
    }


def nearest_note(notes: Any, at: date, low: date, high: date) -> str | None:
    """Return the known event nearest to a change, if it is not too far outside its limits.

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
    """Return a sentence: the number of changes found."""
    found = changes["changed_at"].notna()
    of_all = found & (changes["failure_category"] == "all")
    return f"{of_all.sum()} changes of a cluster's rate, {found.sum() - of_all.sum()} of a single cause's"


@estimate(TABLE, headline)
def est_rate_changes(con: duckdb.DuckDBPyConnection) -> pd.DataFrame:
    """Divide the days of each cluster and cause into spans of constant rate."""
    return with_changes(read(con, "inp_rate_days_counted"))
