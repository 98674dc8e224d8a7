"""Changes of rate of the five clusters: a planted one with its annotation, and clusters without any."""

from datetime import date, datetime

import pytest
from scipy import special

from assets.estimates.est_rate_changes import est_rate_changes, nearest_note
from tests.estimates.five_clusters import read

# 200 days of 500 node-days: an incident of two attempts every other day, and two a day from 2026-04-11. All
# but the old ones are of InfiniBand.
CHANGE = """
delete from intermediate.int_covered_node_days where cluster_id = 'large';
delete from marts.fct_incidents where cluster_id = 'large';
insert into marts.fct_incidents (cluster_id, incident_id, started_at, failure_category)
select 'large', 'p' || d, timestamp '2026-01-01 12:00' + to_days(d), 'pcie' from range(0, 200, 2) days(d)
union all
select 'large', 'i' || d || n, timestamp '2026-01-01 18:00' + to_days(d), 'ib_link'
from range(100, 200) days(d), range(d % 3) more(n);
insert into intermediate.int_covered_node_days by name
select 'large' as cluster_id, date '2026-01-01' + d::integer as day_date, 500.0 as node_days from range(200) days(d);
delete from marts.fct_failures where cluster_id = 'large';
insert into marts.fct_failures (cluster_id, attempt_id, incident_id)
select cluster_id, incident_id || n, incident_id from marts.fct_incidents, range(2) attempts(n);
insert into marts.dim_annotations (cluster_id, annotated_date, annotation) values
    ('large', date '2026-04-08', 'new switches'), ('large', date '2026-06-01', 'far away');
insert into marts.agg_check_introductions
    (cluster_id, check_name, failure_category, first_reported_at, is_introduction)
values
    ('large', 'check_ib', 'ib_link', timestamp '2026-04-10 08:00', true),
    ('large', 'check_disk', 'unmapped', timestamp '2026-04-12 08:00', false);
"""

MANY_ATTEMPTS = """
insert into marts.fct_failures (cluster_id, attempt_id, incident_id)
select cluster_id, incident_id || 'm' || n, incident_id
from marts.fct_incidents, range(200) attempts(n) where started_at > '2026-04-11';
"""


@pytest.fixture
def changed(warehouse):
    with warehouse.writing() as con:
        con.execute(CHANGE)
    est_rate_changes(warehouse=warehouse)
    return lambda **key: read(warehouse, "est_rate_changes", cluster_id="large", **key)


def test_a_new_cause_is_a_change_of_the_cluster_and_of_the_cause_alone(changed):
    assert [row["failure_category"] for row in changed()] == ["all", "ib_link"]
    (row,) = changed(failure_category="all")
    assert abs(row["changed_at"] - datetime(2026, 4, 11)).days <= 2
    assert row["changed_at_low"] <= row["changed_at"] <= row["changed_at_high"]
    assert row["rate_before"] == pytest.approx(1.0, rel=0.03)
    assert row["rate_after"] == pytest.approx(3.0, rel=0.03)
    assert row["ratio"] == pytest.approx(row["rate_after"] / row["rate_before"])
    assert 2.0 < row["ratio_low"] < row["ratio"] < row["ratio_high"] < 4.5
    assert (row["event_count"], row["exposure"], row["exposure_unit"]) == (200, 100_000.0, "node-days")
    assert (row["confidence_level"], row["method"], row["note"]) == (0.9, "optimal_partition", None)
    assert row["annotation"] in {"2026-04-10: check check_ib first reported", "2026-04-08: new switches"}
    assert (row["trend_score"] > 3, row["trend_p_value"] < 0.01, row["trend_verdict"]) == (True, True, "rises")
    (cause,) = changed(failure_category="ib_link")
    assert [cause[name] for name in ("rate_before", "rate_before_low", "ratio", "ratio_high")] == [0.0, 0.0, None, None]
    assert cause["ratio_low"] > 5


def test_an_incident_that_takes_many_attempts_down_is_no_change(redo):
    rows = redo(
        est_rate_changes, CHANGE, "delete from marts.fct_incidents where failure_category = 'ib_link'", MANY_ATTEMPTS
    )
    (row,) = rows("est_rate_changes", cluster_id="large")
    assert (row["changed_at"], row["method"], row["event_count"]) == (None, "no_change", 100)
    assert row["rate_before"] == pytest.approx(1.0)


def test_two_weeks_are_too_short_and_unknown_node_days_are_left_out(redo):
    rows = redo(
        est_rate_changes,
        CHANGE,
        "update intermediate.int_covered_node_days set node_days = null where day_date >= '2026-01-14'",
    )
    (row,) = rows("est_rate_changes", cluster_id="large")
    assert (row["method"], row["day_count"], row["exposure"]) == ("too_short", 13, 6500.0)
    assert row["note"] == "13 days: a change takes 14 at least"


def test_days_outside_the_study_period_and_parts_of_days_are_left_out(redo):
    """From 11 January 06:00 to 12 April 18:00: the 90 whole days from the 12th on, an incident every other day."""
    rows = redo(
        est_rate_changes,
        CHANGE,
        "update marts.dim_clusters set study_from_at = '2026-01-11 06:00', study_to_at = '2026-04-12 18:00' "
        "where cluster_id = 'large'",
        "delete from marts.fct_incidents where failure_category = 'ib_link'",
    )
    (row,) = rows("est_rate_changes", cluster_id="large")
    assert (row["method"], row["day_count"], row["exposure"], row["event_count"]) == ("no_change", 90, 45_000.0, 45)


def test_an_incident_counts_as_often_as_it_is_real(redo):
    """100 incidents of 200 days, each of 0.4 by its likelier failure: 40, and a variance of 100 x 0.4 x 1.6 = 64."""
    rows = redo(
        est_rate_changes,
        CHANGE,
        "delete from marts.fct_incidents where failure_category = 'ib_link'",
        "update marts.fct_failures set posterior_probability = if(ends_with(attempt_id, '0'), 0.4, 0.1)",
    )
    (row,) = rows("est_rate_changes", cluster_id="large")
    assert (row["method"], row["event_count"]) == ("no_change", pytest.approx(40))
    assert row["rate_before"] == pytest.approx(0.4)
    limits = [1.6 * special.gammaincinv(shape, level) / 100 for shape, level in ((25, 0.05), (26, 0.95))]
    assert [row["rate_before_low"], row["rate_before_high"]] == pytest.approx(limits)


@pytest.mark.parametrize(
    ("known", "low", "expected"),
    [
        (3, 19, "2026-01-23: late"),
        (2, 19, "2026-01-14: early"),
        (1, 19, None),
        (1, 10, "2026-01-05: far"),
        (0, 10, None),
    ],
)
def test_notes_count_within_a_week_of_the_limits_only(known, low, expected):
    notes = [{"day": date(2026, 1, day), "text": text} for day, text in ((5, "far"), (14, "early"), (23, "late"))]
    found = nearest_note(notes[:known], date(2026, 1, 20), date(2026, 1, low), date(2026, 1, 21))
    assert found == expected
    assert nearest_note(None, date(2026, 1, 20), date(2026, 1, 10), date(2026, 1, 21)) is None


def test_fewer_incidents_after_a_log_has_ended_are_no_trend(warehouse):
    """The incidents of the first half alone: without the end of the log, they fall."""
    verdicts = []
    for ended in ("2026-07-18", "2026-04-10"):
        with warehouse.writing() as con:
            con.execute(CHANGE)
            con.execute("delete from ops.spans")
            con.execute("update marts.dim_clusters set study_to_at = '2026-07-20' where cluster_id = 'large'")
            con.execute("insert into ops.spans values ('large', 'kernel', '2026-01-01', ?, 'log')", [ended])
            con.execute("delete from marts.fct_incidents where cluster_id = 'large' and started_at > '2026-04-10'")
        est_rate_changes(warehouse=warehouse)
        row = read(warehouse, "est_rate_changes", cluster_id="large", failure_category="all")[0]
        verdicts.append((row["trend_verdict"], row["note"]))
    assert verdicts == [
        ("falls", None),
        ("cannot tell", "kernel messages end on 2026-04-10: fewer incidents may be fewer seen"),
    ]
