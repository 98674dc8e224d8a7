"""Each month's forecast from the months before it, worked out by hand, and held against what happened."""

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
# January: an incident of two attempts on it, and one of 0.6 whose culprit is unknown. February: one of two attempts
# that two nodes failed, and one that touched no node. 'young': twenty days. 'gappy': seven hours of December, January,
# a February of which accounting is missing, and March. 'idle': nothing ran.
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
    """The months of the clusters, by cluster and month."""
    with filled(tmp_path_factory.mktemp("months"), MARTS).reading() as con:
        found = with_forecasts(months_of(read(con, "inp_failures_counted")))
    assert set(TABLE.column_names) - {"method_version", "has_enough_data"} <= set(found.columns)
    rows = found.astype(object).where(found.notna(), None).to_dict("records")
    return {(row["cluster_id"], row["month_date"].strftime("%Y-%m")): row for row in rows}


def test_months_hold_the_failures_and_node_days_that_fell_into_them(months):
    """Two of the four days of `across` are of January; the small job is of another population."""
    seen = {
        month: (row["month_node_days"], row["month_failure_count"])
        for (_, month), row in months.items()
        if _ == "steady"
    }
    assert seen == {
        "2026-01": (pytest.approx(330), 2.5), "2026-02": (pytest.approx(300), 3.0), "2026-03": (310.0, 0.0),
        "2026-04": (90.0, 0.0),
    }  # fmt: skip


def test_an_attempt_that_was_suspended_counts_over_the_time_it_was_seen(months):
    """Four days of running in eight: two of the eight are of January, so a quarter of 40 node-days."""
    assert months["paused", "2026-01"]["month_node_days"] == pytest.approx(10)
    assert months["paused", "2026-02"]["month_node_days"] == pytest.approx(30)


def test_the_first_month_has_no_forecast_and_says_why(months):
    row = months["steady", "2026-01"]
    assert (row["method"], row["rate_expected"], row["failures_expected"], row["log_score"]) == (
        "too_little_history", None, None, None,
    )  # fmt: skip
    assert row["failures_per_1000_node_days"] == pytest.approx(1000 * 2.5 / 330)
    assert row["note"] == "only 0 days were seen before the month: no forecast"


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
    assert row["note"].startswith("months before of which 14 days were seen: 1;")


def test_node_days_are_forecast_from_two_months_on(months):
    """630 node-days in 59 days: 10.68 a day, 331 in March."""
    row = months["steady", "2026-03"]
    assert row["node_days_expected"] == pytest.approx(630 / 59 * 31)
    assert row["failures_expected"] == pytest.approx(row["rate_expected"] * row["node_days_expected"] / 1000)
    assert row["failures_expected_low"] <= 0 <= row["failures_expected_high"]
    assert row["has_failures_inside"] is True
    assert row["note"] is None


def test_a_month_that_is_not_over_has_a_forecast_and_no_score(months):
    row = months["steady", "2026-04"]
    assert (row["is_over"], row["failure_count"], row["node_days"], row["log_score"]) == (False, None, None, None)
    assert row["failures_expected"] > 0 and row["rate_expected_high"] > row["rate_expected"]
    assert row["note"] == "the month is not over"


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


def test_less_than_three_weeks_before_a_month_forecast_nothing(months):
    row = months["young", "2026-02"]
    assert row["note"] == "only 12 days were seen before the month: no forecast"
    assert not any(cluster == "idle" for cluster, _ in months)


def test_failures_of_nodes_are_node_incidents_and_their_days_those_of_use(months):
    """January: one node struck, and an unknown one at 0.6. February: one node, and one at one half."""
    seen = {
        month: (row["month_node_days"], row["month_failure_count"])
        for (cluster, month), row in months.items()
        if cluster == "shared"
    }
    assert seen == {
        "2026-01": (31.0, pytest.approx(1.6)), "2026-02": (28.0, pytest.approx(1.5)), "2026-03": (0.0, 0.0),
    }  # fmt: skip
    assert months["shared", "2026-02"]["dispersion"] == pytest.approx((1 + 0.6 * 1.4) / 1.6)


def test_the_months_of_nodes_add_up_to_the_rate_that_is_quoted(rows):
    quoted = rows("est_failure_rates", is_reference=True, population="nodes")
    assert {row["cluster_id"] for row in quoted} == {"small", "quiet", "untracked"}
    for rate in quoted:
        found = rows("est_forecast_scores", cluster_id=rate["cluster_id"])
        assert sum(row["month_failure_count"] for row in found) == rate["failure_count"]
        assert sum(row["month_node_days"] for row in found) == rate["node_days"]


def test_a_month_of_which_accounting_is_missing_has_no_node_days_to_compare(months):
    """Nor have seven hours of a month. Before, the first ended the estimate for all clusters."""
    assert months["gappy", "2026-02"]["note"] == (
        "months before of which 14 days were seen: 1; how node-days scatter is not known, so no number of failures; "
        "no node-days in the month: no rate"
    )
    row = months["gappy", "2026-03"]
    assert row["failures_expected"] is None and row["has_failures_inside"] is None
    assert row["node_days_expected"] == pytest.approx(313 / (31 + 7 / 24) * 31)
    assert row["rate_expected"] is not None and row["month_cv"] == pytest.approx(USUAL.cv)
