"""What known changes did: versions that nodes took on, a staged roll-out, a new check, a note, and a log that ended."""

from datetime import datetime

import pytest

from assets.estimates.est_changes import est_changes

# 120 days of 40 nodes, each in use all day. Incidents are put in by day and node; none is in doubt.
PLANTED = """
delete from marts.dim_annotations;
delete from marts.agg_check_introductions;
delete from marts.fct_node_days;
delete from ops.sight;
insert into marts.fct_node_days by name
select
    'large' as cluster_id, 'n' || n as node_id, date '2026-01-01' + d::integer as day_date, 24 as in_use_hours,
    24 as study_hours
from range(40) nodes(n), range(120) days(d);
insert into ops.sight select cluster_id, node_id, 'kernel', day_date from marts.fct_node_days;
update marts.dim_clusters set study_to_at = timestamp '2026-05-01' where cluster_id = 'large';
create or replace table planted (d bigint, n bigint, failure_category varchar);
create or replace view inputs.inp_exposures_failed as
select
    'large' as cluster_id, 'a' || row_number() over (order by d, n, failure_category) as attempt_id,
    null::varchar as incident_id, 'n' || n as culprit_node_id, failure_category, 1.0::double as failure_probability,
    timestamp '2026-01-01 12:00' + to_days(d::integer) as failed_at
from planted;
"""

# Two PCIe incidents a day all the time; four of InfiniBand a day, and two from day 60.
HALVED = """
insert into planted
select d, (7 * d + k) % 40, 'pcie' from range(120) days(d), range(2) more(k)
union all
select d, (11 * d + 5 * k) % 40, 'ib_link' from range(120) days(d), range(if(d < 60, 4, 2)) more(k)
"""

# Every node boots with the old driver on the first day, and with the new one on the day given.
DRIVERS = """
insert into marts.dim_node_versions
select 'large', 'n' || n, 'driver', '535.1', timestamp '2026-01-01 08:00', timestamp '2026-01-01 08:00'
from range({nodes}) nodes(n)
union all
select
    'large', 'n' || n, 'driver', '550.2', timestamp '2026-01-01 08:00' + to_days({day}::integer),
    timestamp '2026-01-01 08:00' + to_days({day}::integer)
from range({changed}) nodes(n)
"""
AT = datetime(2026, 3, 2, 8)
"""Day 60."""


@pytest.fixture
def changes(anew):
    """Plant, estimate, and give the rows by cause."""

    def changes(*statements):
        rows = anew(est_changes, PLANTED, *statements)("est_changes", cluster_id="large")
        return {row["failure_category"]: row for row in rows}

    return changes


def test_a_driver_that_halves_one_cause_helped_it_and_left_the_other(changes):
    rows = changes(HALVED, DRIVERS.format(nodes=40, changed=40, day="60"))
    assert list(rows) == ["all", "ib_link", "pcie"]
    halved = rows["ib_link"]
    assert (halved["change_kind"], halved["change"], halved["changed_at"]) == ("driver", "driver 550.2", AT)
    assert (halved["changed_node_count"], halved["node_count"], halved["method"]) == (40, 40, "before_after")
    # the day of the change counts on neither side
    assert (halved["incident_count_before"], halved["incident_count_after"]) == (240, 118)
    assert (halved["node_days_before"], halved["node_days_after"]) == (40 * 60, 40 * 59)
    assert halved["ratio"] == pytest.approx(0.5)
    assert 0.4 < halved["low"] < 0.5 < halved["high"] < 0.65
    assert (halved["verdict"], halved["note"]) == ("helped", None)
    assert (rows["pcie"]["verdict"], rows["pcie"]["ratio"]) == ("no change shown", pytest.approx(1.0))
    assert 0.5 <= rows["pcie"]["smallest_ratio"] < 0.8


def test_few_incidents_cannot_tell(changes):
    rows = changes(
        "insert into planted select 12 * d, d, 'pcie' from range(10) days(d)",
        DRIVERS.format(nodes=40, changed=40, day="60"),
    )
    assert (rows["pcie"]["verdict"], rows["pcie"]["event_count"]) == ("cannot tell", 9)
    assert rows["pcie"]["smallest_ratio"] is None or rows["pcie"]["smallest_ratio"] < 0.5


def test_a_staged_roll_out_is_held_against_the_nodes_that_did_not_change(changes):
    """The season doubles the rate of all nodes on day 60; half of them change on that day, and stay as they were."""
    season = """
    insert into planted
    select d, n, 'ib_link' from range(120) days(d), range(40) nodes(n)
    where (d + n) % if(d > 60 and n >= 20, 5, 10) = 0
    """
    row = changes(season, DRIVERS.format(nodes=40, changed=20, day="60"))["ib_link"]
    assert (row["method"], row["changed_node_count"], row["node_count"]) == ("ratio_of_ratios", 20, 40)
    assert row["unchanged_ratio"] == pytest.approx(2.0, rel=0.05)
    assert row["ratio"] == pytest.approx(0.5, rel=0.05)
    assert row["verdict"] == "helped"
    assert (row["event_count"], row["exposure"]) == (120 + 118 + 120 + 236, 40 * 119)


def test_nodes_whose_version_before_is_unknown_are_left_out_unless_the_fleet_tells_it(changes):
    driver = DRIVERS.format(nodes="3, 20", changed=40, day="60")
    known = changes(HALVED, driver, "insert into marts.dim_nodes (cluster_id, node_id) select 'large', 'n0'")["all"]
    assert (known["changed_node_count"], known["node_count"]) == (17, 17)
    there = "update marts.dim_nodes set first_seen_at = '2026-01-01'"
    inferred = changes(HALVED, driver, "insert into marts.dim_nodes (cluster_id, node_id) select 'large', 'n0'", there)
    assert inferred["all"]["changed_node_count"] == 18


def test_a_version_on_fewer_than_a_tenth_of_the_nodes_is_no_change(changes):
    assert not changes(HALVED, DRIVERS.format(nodes=40, changed=3, day="60"))


def test_a_controller_changes_for_all_nodes(changes):
    row = changes(
        HALVED,
        "insert into marts.dim_node_versions select 'large', null, 'slurmctld', v, t, t from (values "
        "('23.11.7', timestamp '2026-01-01 08:00'), ('24.05.1', timestamp '2026-03-02 08:00')) versions(v, t)",
    )["ib_link"]
    assert (row["change"], row["changed_at"], row["changed_node_count"]) == ("slurmctld 24.05.1", AT, None)
    assert row["verdict"] == "helped"


RISES = HALVED.replace("d < 60, 4, 2", "d < 60, 2, 4")


def test_a_new_check_changes_what_is_seen_and_not_what_fails(changes):
    check = """
    insert into marts.agg_check_introductions by name
    select 'large' as cluster_id, 'check_ib' as check_name, 'ib_link' as failure_category, true as is_introduction,
        timestamp '2026-03-02 08:00' as first_reported_at
    """
    rows = changes(RISES, check)
    assert list(rows) == ["all", "ib_link"], "its own cause, and all"
    assert (rows["ib_link"]["verdict"], rows["ib_link"]["note"]) == (
        "cannot tell",
        "a new check changes what is seen, not what fails",
    )
    assert rows["ib_link"]["q_value"] < 0.001


NOTE = (
    "insert into marts.dim_annotations (cluster_id, annotated_date, annotation) values ('large', '2026-03-02', 'new')"
)


def test_a_note_names_what_else_changed_and_what_the_search_found(anew):
    found = """
    update estimates.est_rate_changes
    set failure_category = 'ib_link', changed_at = '2026-03-05', changed_at_low = '2026-03-04',
        changed_at_high = '2026-03-06'
    where cluster_id = 'large'
    """
    versions = (
        "insert into marts.dim_node_versions select 'large', null, kind, v, t, t from (values "
        "('slurmctld', '1.1', timestamp '2026-01-01'), ('slurmctld', '1.2', timestamp '2026-03-07'), "
        "('kernel', '6.1', timestamp '2026-01-01'), ('kernel', '6.8', timestamp '2026-03-08')) versions(kind, v, t)"
    )
    rows = anew(est_changes, PLANTED, RISES, NOTE, found, versions)
    note, started, _ = rows("est_changes", cluster_id="large", failure_category="ib_link")
    # in the order of time, not of the kinds of changes
    assert note["note"] == "within 7 days of it: slurmctld 1.2, kernel 6.8"
    assert started["note"] == "within 7 days of it: new, kernel 6.8"
    assert (note["verdict"], note["rate_change_at"]) == ("hurt", datetime(2026, 3, 5))


def test_days_without_the_usual_logs_do_not_count(changes):
    row = changes(HALVED, NOTE, "delete from ops.sight where day_date > '2026-03-02'")["all"]
    assert (row["method"], row["ratio"], row["verdict"]) == ("no_exposure", None, "cannot tell")
    assert row["note"] == "no day of one side counts"


def test_days_outside_the_study_period_do_not_count(changes):
    """Nodes were in use 20 days before the study period, and 20 days after it."""
    outside = """
    insert into marts.fct_node_days by name
    select
        'large' as cluster_id, 'n' || n as node_id, date '2026-01-01' + d::integer as day_date, 24 as in_use_hours,
        0 as study_hours
    from range(40) nodes(n), range(-20, 140) days(d) where d not between 0 and 119;
    insert into ops.sight select cluster_id, node_id, 'kernel', day_date from marts.fct_node_days
    where study_hours = 0
    """
    failed = "insert into planted select d, 0, 'pcie' from (values (-5), (125)) days(d)"
    assert changes(HALVED, NOTE, outside, failed) == changes(HALVED, NOTE)


def test_changes_of_one_kind_end_each_other_s_days(changes):
    later = NOTE.replace("2026-03-02", "2026-03-22").replace("'new'", "'newer'")
    rows = changes(HALVED, NOTE, later)
    assert rows["all"]["change"] == "newer"
    assert rows["all"]["node_days_before"] == 40 * 19


def test_without_a_known_change_there_is_no_row(changes):
    assert not changes(HALVED)
