"""A constant rate stays constant up to both edges of an export, whatever the length of the jobs that run across them.

An export of `sacct -S` begins with the jobs that still ran on its first day, and ends with jobs that run on.
"""

from dataclasses import dataclass

import duckdb
import numpy as np
import pandas as pd
import pytest

from assets.estimates.est_rate_changes import with_changes
from assets.estimates.table import read
from tests.warehouses import create_tables

SLOTS, NODES, RATE = 40, 8, 0.0065
"""Jobs side by side, nodes of each, and failures per node-day: two a day."""
START = np.datetime64("2026-01-01", "s")


@dataclass(frozen=True)
class Export:
    """What an export of so many days holds: start and end of each attempt in days after its first, and who failed."""

    start: np.ndarray
    end: np.ndarray
    has_failed: np.ndarray
    days: float

    @property
    def has_ended(self):
        return self.end < self.days


def export_of(rng, days, median_days):
    """Slots in which one attempt follows the other, long since; lengths log-normal unless a failure comes first."""
    count = int(4 * (days + 40) / median_days) + 20
    planned = median_days * rng.lognormal(0.0, 1.0, (SLOTS, count))
    failing = rng.exponential(1 / (RATE * NODES), (SLOTS, count))
    end = np.cumsum(np.minimum(planned, failing), axis=1) - 40.0
    start = end - np.minimum(planned, failing)
    assert end[:, -1].min() > days
    shown = (end > 0) & (start < days)
    return Export(start[shown], end[shown], (failing < planned)[shown], days)


def node_days(export, is_counted):
    """Exposure of each day by all attempts that are counted, from the first day of any of them."""
    start, end = export.start[is_counted], np.minimum(export.end[is_counted], export.days)
    day = np.arange(np.floor(start.min()), np.ceil(export.days))
    running = (np.minimum(end, edge + 1).clip(edge) - np.maximum(start, edge).clip(None, edge + 1) for edge in day)
    return day, np.array([NODES * np.maximum(days, 0.0).sum() for days in running])


def moment(days):
    return START + np.round(86_400 * np.asarray(days)).astype("timedelta64[s]")


def series_of(exports, with_edges=True):
    """Read every export as a cluster: as it is, or without its edges as an export of ended attempts was read before."""
    clusters, daily, incidents = [], [], []
    for number, export in enumerate(exports):
        day, exposure = node_days(export, np.ones(export.end.size, dtype=bool) if with_edges else export.has_ended)
        first_end = export.end.min() if with_edges else day[0]
        clusters.append((f"c{number}", moment(first_end).item(), moment(export.days if with_edges else 9e3).item()))
        daily.append(pd.DataFrame({"cluster_id": f"c{number}", "day_date": moment(day), "node_days": exposure}))
        at = moment(export.end[export.has_failed & export.has_ended])
        incidents.append(pd.DataFrame({"cluster_id": f"c{number}", "started_at": at}))
    daily, incidents = pd.concat(daily), pd.concat(incidents).assign(failure_category="pcie", posterior_probability=1.0)
    incidents["incident_id"] = np.arange(len(incidents))
    with duckdb.connect() as con:
        create_tables(con)
        con.register("dim", pd.DataFrame(clusters, columns=["cluster_id", "study_from_at", "study_to_at"]))
        con.execute("insert into marts.dim_clusters by name from dim")
        con.execute(
            "insert into intermediate.int_covered_node_days by name "
            "select * replace (day_date::date as day_date) from daily"
        )
        con.execute("insert into marts.fct_incidents by name select * exclude (posterior_probability) from incidents")
        con.execute(
            "insert into marts.fct_failures by name "
            "select cluster_id, incident_id, posterior_probability from incidents"
        )
        found = read(con, "inp_rate_days_counted")
    return found[found["failure_category"] == "all"]


def judged(exports, with_edges=True):
    """Share of the series with a change, share with a trend of p below 0.1, and last week's rate over the true one."""
    series = series_of(exports, with_edges)
    rows = with_changes(series)
    trends = rows.drop_duplicates("cluster_id")["trend_p_value"]
    last = series["incident_probabilities"].map(lambda days: sum(len(day) for day in days[-7:])).sum()
    expected = RATE * series["node_days"].map(lambda days: days[-7:].sum()).sum()
    changed = rows[rows["changed_at"].notna()]["cluster_id"].nunique()
    return changed / len(series), (trends < 0.1).mean(), last / expected, 1 / np.sqrt(expected)


def exports(seed, rounds):
    """Both lengths of an export and three of jobs, each so many times."""
    rng = np.random.default_rng(seed)
    kinds = [(days, median) for days in (28.4, 90.7) for median in (0.3, 1.0, 3.0)]
    return [export_of(rng, days, median) for days, median in kinds for _ in range(rounds)]


def test_a_constant_rate_shows_no_change_and_no_trend():
    changed, trending, last_week, error = judged(exports(81, 25))
    assert changed <= 0.02
    assert 0.08 - 0.06 <= trending <= 0.12 + 0.06
    assert last_week == pytest.approx(1.0, abs=3 * error)


def test_ended_attempts_alone_seem_to_fail_ever_more_often():
    changed, trending, last_week, error = judged(exports(82, 6), with_edges=False)
    assert changed > 0.1 and trending > 0.3
    assert last_week > 1 + 3 * error


@pytest.mark.slow
@pytest.mark.parametrize("days", [28.4, 90.7])
@pytest.mark.parametrize("median", [0.3, 1.0, 3.0])
def test_a_constant_rate_shows_a_change_in_at_most_2_of_100_series_and_a_trend_in_8_to_12(days, median):
    rng = np.random.default_rng([83, int(days), int(10 * median)])
    changed, trending, last_week, error = judged([export_of(rng, days, median) for _ in range(1500)])
    assert changed <= 0.02
    assert 0.08 <= trending <= 0.12
    assert last_week == pytest.approx(1.0, abs=3 * error)
