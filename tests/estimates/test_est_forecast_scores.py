"""Each month's forecast from the months before it, computed by hand and compared with what happened."""

from datetime import date

import pytest
from scipy import stats

from assets.estimates.est_forecast_scores import TABLE, months_of, with_forecasts
from assets.estimates.table import read
from assets.model.month_variation import month_variation
from tests.warehouses import filled

USUAL = month_variation([], [])

# 'steady': from 1 January to 10 April one attempt at a time, each of ten nodes for a whole month (31, 28, 31, 9 days),
# one that runs from January into February, and failures of January (2, and one of 0.5), February (3 in one incident).
# 'shared': its rate is that of nodes; its one node is in use all the time, and shared by jobs that do not fill it.
# January: an incident of two attempts on it, and one of 0.6 with an unknown culprit. February: one of two attempts that
# two nodes failed, and one without a node. 'young': twenty days. 'gappy': seven hours of December, January, a February
# without accounting, and March. 'idle': nothing ran.
MARTS = """
insert into marts.dim_clusters by name
from (values
    ('steady', timestamp '2026-01-01', timestamp '2026-04-10'), ('shared', '2026-01-01', '2026-03-01'),
    ('young', '2026-01-20', '2026-02-09'), ('paused', '2026-01-01', '2026-03-01'),
    ('gappy', '2025-12-31 17:00', '2026-04-01'), ('idle', null, null)
) as clusters (cluster_id, study_from_at, study_to_at);
insert into estimates.est_failure_rates by name
from (values
    ('steady', 'gpus_gt_128', 'attempts', true), ('steady', 'all', 'attempts', false),
    ('shared', 'nodes', 'incidents', true), ('young', 'all', 'attempts', true), ('paused', 'all', 'attempts', true),
    ('gappy', 'all', 'attempts', true), ('idle', 'all', 'attempts', true)
) as rates (cluster_id, population, counted_as, is_reference);
update estimates.est_failure_rates set failure_count = 1;
insert into marts.fct_attempt_exposures (
    cluster_id, attempt_id, started_at, entry_seconds, exit_seconds, gpu_size_bin, is_whole_node, node_days, failed_at,
    failure_probability, incident_id, culprit_node_id
)
values
    ('steady', 'jan', '2026-01-01', 0, 31 * 86400, 256, true, 310, null, 0, null, null),
    ('steady', 'feb', '2026-02-01', 0, 28 * 86400, 256, true, 280, null, 0, null, null),
    ('steady', 'mar', '2026-03-01', 0, 31 * 86400, 256, true, 310, null, 0, null, null),
    ('steady', 'apr', '2026-04-01', 0, 9 * 86400, 256, true, 90, null, 0, null, null),
    ('steady', 'across', '2026-01-30', 0, 4 * 86400, 256, true, 40, null, 0, null, null),
    ('steady', 'f1', '2026-01-05', 0, 0, 256, true, 0, '2026-01-05', 1, null, null),
    ('steady', 'f2', '2026-01-06', 0, 0, 256, true, 0, '2026-01-06', 1, null, null),
    ('steady', 'f3', '2026-01-07', 0, 0, 256, true, 0, '2026-01-07', 0.5, null, null),
    ('steady', 'f4', '2026-02-05', 0, 0, 256, true, 0, '2026-02-05', 1, 'i', null),
    ('steady', 'f5', '2026-02-05', 0, 0, 256, true, 0, '2026-02-05', 1, 'i', null),
    ('steady', 'f6', '2026-02-05', 0, 0, 256, true, 0, '2026-02-05', 1, 'i', null),
    ('steady', 'small', '2026-01-01', 0, 86400, 8, true, 1000, '2026-01-02', 1, null, null),
    ('shared', 'a', '2026-01-05', 0, 86400, 1, false, 1, '2026-01-06', 1, 'i', 'n1'),
    ('shared', 'b', '2026-01-05', 0, 86400, 1, false, 1, '2026-01-06', 1, 'i', 'n1'),
    ('shared', 'c', '2026-01-31', 0, 600, 1, false, 1, '2026-01-31 23:59', 0.6, 'j', null),
    ('shared', 'd', '2026-01-31', 0, 600, 1, false, 1, '2026-02-01 00:01', 0.3, 'j', null),
    ('shared', 'e', '2026-02-05', 0, 86400, 1, false, 1, '2026-02-06', 1, 'k', 'n1'),
    ('shared', 'f', '2026-02-05', 0, 86400, 1, false, 1, '2026-02-06', 0.5, 'k', 'n2'),
    ('shared', 'g', '2026-02-07', 0, 86400, 1, false, 1, '2026-02-08', 1, 'l', null),
    ('young', 'a', '2026-01-20', 0, 20 * 86400, 8, true, 20, null, 0, null, null),
    ('paused', 'a', '2026-01-30', 0, 4 * 86400, 8, true, 40, null, 0, null, null),
    ('gappy', 'jan', '2025-12-31 17:00', 0, 31 * 86400 + 7 * 3600, 8, true, 313, null, 0, null, null),
    ('gappy', 'mar', '2026-03-01', 0, 31 * 86400, 8, true, 310, null, 0, null, null);
update marts.fct_attempt_exposures
set
    seen_from_at = started_at,
    seen_to_at = started_at + to_seconds(exit_seconds) + to_days(if(cluster_id = 'paused', 4, 0));
insert into marts.fct_incidents (cluster_id, incident_id, touched_node_count)
values ('shared', 'i', 1), ('shared', 'j', 1), ('shared', 'k', 2), ('shared', 'l', 0);
insert into marts.dim_study_gaps by name
select 'gappy' as cluster_id, timestamp '2026-02-01' as from_at, timestamp '2026-03-01' as to_at;
insert into marts.fct_node_days by name
select 'shared' as cluster_id, day_date, 24.0::double as study_hours
from range(date '2026-01-01', date '2026-03-01', interval 1 day) as days (day_date);
"""


@pytest.fixture(scope="module")
def months(tmp_path_factory):
    """Return the months of the clusters, by cluster and month."""
    with filled(tmp_path_factory.mktemp("months"), MARTS).reading() as con:
        found = with_forecasts(months_of(read(con, "inp_failures_counted")))
    assert set(TABLE.column_names) - {"method_version", "has_enough_data"} <= set(found.columns)
    rows = found.astype(object).where(found.notna(), None).to_dict("records")
    return {(row["cluster_id"], row["month_date"].strftime("%Y-%m")): row for row in rows}


ROWS = [
    # Two of the four days of `across` are of January; the small job is of another population.
    ("steady", "2026-01", {
        "month_node_days": 330.0, "month_failure_count": 2.5, "failures_per_1000_node_days": 1000 * 2.5 / 330,
        "method": "too_little_history", "rate_expected": None, "failures_expected": None, "log_score": None,
        "note": "only 0 days were seen before the month"}),
    ("steady", "2026-02", {"month_node_days": 300.0, "month_failure_count": 3.0}),
    # 630 node-days in 59 days: 10.68 a day, 331 in March.
    ("steady", "2026-03", {
        "month_node_days": 310.0, "month_failure_count": 0.0, "node_days_expected": 630 / 59 * 31,
        "has_failures_inside": True, "note": None}),
    ("steady", "2026-04", {
        "month_node_days": 90.0, "month_failure_count": 0.0, "is_over": False, "failure_count": None,
        "node_days": None, "log_score": None, "note": "the month is not over"}),
    # Suspended: four days of running in eight; two of the eight are of January, so a quarter of 40 node-days.
    ("paused", "2026-01", {"month_node_days": 10.0}),
    ("paused", "2026-02", {"month_node_days": 30.0}),
    ("young", "2026-02", {"note": "only 12 days were seen before the month"}),
    # January: one failed node, and an unknown one at 0.6. February: one node, and one at one half.
    ("shared", "2026-01", {"month_node_days": 31.0, "month_failure_count": 1.6}),
    ("shared", "2026-02", {
        "month_node_days": 28.0, "month_failure_count": 1.5, "dispersion": (1 + 0.6 * 1.4) / 1.6}),
    ("shared", "2026-03", {"month_node_days": 0.0, "month_failure_count": 0.0}),
    # A month without accounting has no node-days to compare, nor have seven hours of a month.
    ("gappy", "2026-02", {"note": "no node-days in the month: no rate"}),
    ("gappy", "2026-03", {
        "failures_expected": None, "has_failures_inside": None, "node_days_expected": 313 / (31 + 7 / 24) * 31,
        "month_cv": USUAL.cv}),
]  # fmt: skip
"""Cluster, month, and the values of some columns; a note contains the given words."""


@pytest.mark.parametrize(("cluster_id", "month", "expected"), ROWS)
def test_a_month_is_as_worked_out_by_hand(months, cluster_id, month, expected):
    row = months[cluster_id, month]
    for name, value in expected.items():
        if name == "note" and value is not None:
            assert value in row["note"]
        else:
            assert row[name] == (pytest.approx(value) if isinstance(value, float) else value), name
    if row["failures_expected"] is not None:
        assert row["failures_expected"] == pytest.approx(row["rate_expected"] * row["node_days_expected"] / 1000)
    assert not any(cluster == "idle" for cluster, _ in months)


def test_the_second_month_is_forecast_from_the_first(months):
    """k = 2.5, V = 2.75, phi = 1.1, one month: the usual variation, twice its square."""
    row = months["steady", "2026-02"]
    counted = 2.5 / 1.1 + 0.5
    mean = counted * 1.1 * 300 / 330
    shape = 1 / (1 / counted + USUAL.relative_variance * 2 + 0.1 / mean)
    assert row["rate_expected"] == pytest.approx(1000 * mean / 300)
    low, high = stats.nbinom.ppf([0.05, 0.95], shape, shape / (shape + mean))
    assert (row["rate_expected_low"], row["rate_expected_high"]) == pytest.approx((1000 * low / 300, 1000 * high / 300))
    assert row["log_score"] == pytest.approx(stats.nbinom.logpmf(3, shape, shape / (shape + mean)))
    assert row["log_score_naive"] == pytest.approx(stats.poisson.logpmf(3, 3.0 * 300 / 330))
    assert (row["has_rate_inside"], row["event_count"], row["exposure"]) == (True, 2.5, pytest.approx(330))
    assert row["failures_expected"] is None
    assert row["note"].startswith("months before with 14 days seen: 1;")


def test_nothing_that_came_later_changes_a_forecast(months, tmp_path):
    """The same logs up to the end of February give the same forecast of February."""
    house = filled(
        tmp_path,
        MARTS,
        "update marts.dim_clusters set study_to_at = '2026-03-01' where cluster_id = 'steady'",
        "delete from marts.fct_attempt_exposures where started_at >= '2026-03-01'",
    )
    with house.reading() as con:
        earlier = with_forecasts(months_of(read(con, "inp_failures_counted")))
    row = earlier[(earlier["cluster_id"] == "steady") & (earlier["month_date"].dt.date == date(2026, 2, 1))].iloc[0]
    now = months["steady", "2026-02"]
    for name in ("rate_expected", "rate_expected_low", "rate_expected_high", "log_score", "month_cv"):
        assert row[name] == now[name]


def test_the_months_of_nodes_add_up_to_the_rate_that_is_quoted(rows):
    quoted = rows("est_failure_rates", is_reference=True, population="nodes")
    assert {row["cluster_id"] for row in quoted} == {"small", "quiet", "untracked"}
    for rate in quoted:
        found = rows("est_forecast_scores", cluster_id=rate["cluster_id"])
        assert sum(row["month_failure_count"] for row in found) == rate["failure_count"]
        assert sum(row["month_node_days"] for row in found) == rate["node_days"]
