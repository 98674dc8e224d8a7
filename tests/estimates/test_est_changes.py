"""Effects of known changes: versions that nodes installed, a staged roll-out, a new check, a note, a log that ended."""

from datetime import datetime

import pytest

from assets.estimates.est_changes import est_changes

# 200 days of 40 nodes, each in use all day. Incidents are planted by day and node, and all are certain.
PLANTED = """
delete from marts.dim_annotations;
delete from marts.agg_check_introductions;
delete from marts.fct_node_days;
delete from ops.sight;
insert into marts.fct_node_days by name
select
    'large' as cluster_id, 'n' || n as node_id, date '2026-01-01' + d::integer as day_date, 24 as in_use_hours,
    24 as study_hours
from range(40) nodes(n), range(200) days(d);
insert into ops.sight select cluster_id, node_id, 'kernel', day_date from marts.fct_node_days;
update marts.dim_clusters set study_to_at = timestamp '2026-07-20' where cluster_id = 'large';
create or replace table planted (d bigint, n bigint, failure_category varchar);
create or replace view inputs.inp_exposures_failed as
select
    'large' as cluster_id, 'a' || row_number() over (order by d, n, failure_category) as attempt_id,
    null::varchar as incident_id, 'n' || n as culprit_node_id, failure_category, 1.0::double as failure_probability,
    timestamp '2026-01-01 12:00' + to_days(d::integer) as failed_at
from planted;
"""

# Two PCIe incidents a day all the time; four of InfiniBand a day, and two from day 100.
HALVED = """
insert into planted
select d, (7 * d + k) % 40, 'pcie' from range(200) days(d), range(2) more(k)
union all
select d, (11 * d + 5 * k) % 40, 'ib_link' from range(200) days(d), range(if(d < 100, 4, 2)) more(k)
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
AT = datetime(2026, 4, 11, 8)
"""Day 100."""


@pytest.fixture
def changes(redo):
    """Plant, estimate, and return the rows by cause."""

    def changes(*statements):
        rows = redo(est_changes, PLANTED, *statements)("est_changes", cluster_id="large")
        return {row["failure_category"]: row for row in rows}

    return changes


def test_a_driver_that_halves_one_cause_helped_it_and_left_the_other(changes):
    rows = changes(HALVED, DRIVERS.format(nodes=40, changed=40, day="100"))
    assert list(rows) == ["all", "ib_link", "pcie"]
    halved = rows["ib_link"]
    assert (halved["change_kind"], halved["change"], halved["changed_at"]) == ("driver", "driver 550.2", AT)
    assert (halved["changed_node_count"], halved["node_count"], halved["method"]) == (40, 40, "before_after")
    # the day of the change counts on neither side
    assert (halved["incident_count_before"], halved["incident_count_after"]) == (360, 180)
    assert (halved["node_days_before"], halved["node_days_after"]) == (40 * 90, 40 * 90)
    assert halved["ratio"] == pytest.approx(0.5)
    assert 0.4 < halved["low"] < 0.5 < halved["high"] < 0.65
    assert (halved["verdict"], halved["note"]) == ("helped", None)
    assert (rows["pcie"]["verdict"], rows["pcie"]["ratio"]) == ("no change shown", pytest.approx(1.0))
    assert 0.5 <= rows["pcie"]["smallest_ratio"] < 0.8


def test_few_incidents_cannot_tell(changes):
    rows = changes(
        "insert into planted select 20 * d, d, 'pcie' from range(10) days(d)",
        DRIVERS.format(nodes=40, changed=40, day="100"),
    )
    assert (rows["pcie"]["verdict"], rows["pcie"]["event_count"]) == ("cannot tell", 8)
    assert rows["pcie"]["smallest_ratio"] is None or rows["pcie"]["smallest_ratio"] < 0.5


def test_a_staged_roll_out_is_held_against_the_nodes_that_did_not_change(changes):
    """The season doubles the rate of all nodes on day 100; half of them change on that day, with no further effect."""
    season = """
    insert into planted
    select d, n, 'ib_link' from range(200) days(d), range(40) nodes(n)
    where (d + n) % if(d > 100 and n >= 20, 5, 10) = 0
    """
    row = changes(season, DRIVERS.format(nodes=40, changed=20, day="100"))["ib_link"]
    assert (row["method"], row["changed_node_count"], row["node_count"]) == ("ratio_of_ratios", 20, 40)
    assert row["unchanged_ratio"] == pytest.approx(2.0, rel=0.05)
    assert row["ratio"] == pytest.approx(0.5, rel=0.05)
    assert row["verdict"] == "helped"
    assert (row["event_count"], row["exposure"]) == (180 + 180 + 180 + 360, 40 * 180)


def test_nodes_whose_version_before_is_unknown_are_left_out_unless_the_fleet_tells_it(changes):
    driver = DRIVERS.format(nodes="3, 20", changed=40, day="100")
    known = changes(HALVED, driver, "insert into marts.dim_nodes (cluster_id, node_id) select 'large', 'n0'")["all"]
    assert (known["changed_node_count"], known["node_count"]) == (17, 17)
    there = "update marts.dim_nodes set first_seen_at = '2026-01-01'"
    inferred = changes(HALVED, driver, "insert into marts.dim_nodes (cluster_id, node_id) select 'large', 'n0'", there)
    assert inferred["all"]["changed_node_count"] == 18


def test_a_version_on_fewer_than_a_tenth_of_the_nodes_is_no_change(changes):
    assert not changes(HALVED, DRIVERS.format(nodes=40, changed=3, day="100"))


def test_a_controller_changes_for_all_nodes(changes):
    row = changes(
        HALVED,
        "insert into marts.dim_node_versions select 'large', null, 'slurmctld', v, t, t from (values "
        "('23.11.7', timestamp '2026-01-01 08:00'), ('24.05.1', timestamp '2026-04-11 08:00')) versions(v, t)",
    )["ib_link"]
    assert (row["change"], row["changed_at"], row["changed_node_count"]) == ("slurmctld 24.05.1", AT, None)
    assert row["verdict"] == "helped"


RISES = HALVED.replace("d < 100, 4, 2", "d < 100, 2, 4")


def test_a_new_check_changes_what_is_seen_and_not_what_fails(changes):
    check = """
    insert into marts.agg_check_introductions by name
    select 'large' as cluster_id, 'check_ib' as check_name, 'ib_link' as failure_category, true as is_introduction,
        timestamp '2026-04-11 08:00' as first_reported_at
    """
    rows = changes(RISES, check)
    assert list(rows) == ["all", "ib_link"], "its own cause, and all"
    assert (rows["ib_link"]["verdict"], rows["ib_link"]["note"]) == (
        "cannot tell",
        "a new check changes what is seen, not what fails",
    )
    assert rows["ib_link"]["q_value"] < 0.001


NOTE = (
    "insert into marts.dim_annotations (cluster_id, annotated_date, annotation) values ('large', '2026-04-11', 'new')"
)


def test_a_row_names_what_cannot_be_told_apart_and_what_the_search_found(redo):
    found = """
    update estimates.est_rate_changes
    set failure_category = 'ib_link', changed_at = '2026-04-14', changed_at_low = '2026-04-13',
        changed_at_high = '2026-04-15'
    where cluster_id = 'large'
    """
    versions = (
        "insert into marts.dim_node_versions select 'large', null, kind, v, t, t from (values "
        "('slurmctld', '1.1', timestamp '2026-01-01'), ('slurmctld', '1.2', timestamp '2026-04-16'), "
        "('kernel', '6.1', timestamp '2026-01-01'), ('kernel', '6.8', timestamp '2026-04-17')) versions(kind, v, t)"
    )
    rows = redo(est_changes, PLANTED, RISES, NOTE, found, versions)
    note, started, _ = rows("est_changes", cluster_id="large", failure_category="ib_link")
    assert (note["inseparable_from"], started["inseparable_from"]) == (None, "kernel 6.8")
    assert (note["verdict"], note["rate_change_at"]) == ("hurt", datetime(2026, 4, 14))


# Four incidents in five days up to day 100, and three in ten days after it: 0.8 and 0.3 a day.
CUT = """
insert into planted select d, d % 40, 'ib_link' from range(200) days(d) where if(d < 100, d % 5 > 0, d % 10 < 3)
"""


@pytest.mark.parametrize(("noted", "is_group"), [("2026-04-08", True), ("2026-04-07", False)])
def test_changes_between_which_fewer_than_three_incidents_are_expected_have_one_test(redo, noted, is_group):
    """0.8 incidents a day are 2.4 in three days and 3.2 in four."""
    note = NOTE.replace("2026-04-11", noted)
    rows = redo(est_changes, PLANTED, CUT, DRIVERS.format(nodes=40, changed=40, day="100"), note)
    noted, driver = rows("est_changes", cluster_id="large", failure_category="ib_link")
    assert (noted["change"], driver["change"]) == ("new", "driver 550.2")
    assert (noted["inseparable_from"], driver["inseparable_from"]) == (
        ("driver 550.2", "new") if is_group else (None, None)
    )
    assert (noted["change_group"] == driver["change_group"]) == is_group
    if is_group:
        # from day 10, the first of the driver's, to the note on day 97; from the day after the driver to day 187
        assert [noted[name] for name in ("node_days_before", "node_days_after")] == [40 * 87, 40 * 87]
        assert all(
            noted[name] == driver[name] for name in ("event_count", "low", "high", "p_value", "q_value", "verdict")
        )
        assert driver["verdict"] == "helped"


def test_changes_of_different_nodes_are_told_apart(redo):
    """A driver on half of the nodes, and a kernel on the other half: each has changed alone for all days after."""
    both = (
        DRIVERS.format(nodes=40, changed=20, day="100")
        + ";"
        + DRIVERS.format(nodes="40", changed="20, 40", day="100").replace("driver", "kernel")
    )
    rows = redo(est_changes, PLANTED, HALVED, both)("est_changes", cluster_id="large", failure_category="ib_link")
    assert [(row["change_kind"], row["inseparable_from"]) for row in rows] == [("driver", None), ("kernel", None)]


def test_months_that_differ_by_themselves_widen_the_limits(changes):
    """As many incidents before and after, once evenly and once in months of many and few."""
    waves = HALVED.replace(
        "range(if(d < 100, 4, 2)) more(k)",
        "range([2, 8, 2, 1, 4, 1][least(greatest((d - 10) // 30, 0), 5) + 1]) more(k)",
    )
    steady, waving = (changes(of, DRIVERS.format(nodes=40, changed=40, day="100"))["ib_link"] for of in (HALVED, waves))
    assert steady["verdict"] == "helped"
    assert steady["smallest_ratio"] > 0.6
    assert (waving["verdict"], waving["high"] > 1) == ("cannot tell", True)
    assert waving["smallest_ratio"] < 0.5
    assert waving["dispersion"] > 3 * steady["dispersion"]


@pytest.mark.parametrize(("last", "verdict"), [("2026-06-25", "helped"), ("2026-06-24", "cannot tell")])
def test_without_unchanged_nodes_a_verdict_needs_75_days_on_each_side(changes, last, verdict):
    short = f"""
    update marts.dim_clusters set study_to_at = '{last} 23:00';
    delete from marts.fct_node_days where day_date > '{last}'
    """
    row = changes(HALVED, DRIVERS.format(nodes=40, changed=40, day="100"), short)["ib_link"]
    assert row["verdict"] == verdict
    assert (row["q_value"] is None) == (verdict == "cannot tell")


def test_days_without_the_usual_logs_do_not_count(changes):
    row = changes(HALVED, NOTE, "delete from ops.sight where day_date > '2026-04-11'")["all"]
    assert (row["method"], row["ratio"], row["verdict"]) == ("no_exposure", None, "cannot tell")
    assert row["note"] == "no day of one side counts"


def test_days_outside_the_study_period_do_not_count(changes):
    """Nodes were in use 20 days before the study period, and 20 days after it."""
    outside = """
    insert into marts.fct_node_days by name
    select
        'large' as cluster_id, 'n' || n as node_id, date '2026-01-01' + d::integer as day_date, 24 as in_use_hours,
        0 as study_hours
    from range(40) nodes(n), range(-20, 220) days(d) where d not between 0 and 199;
    insert into ops.sight select cluster_id, node_id, 'kernel', day_date from marts.fct_node_days
    where study_hours = 0
    """
    failed = "insert into planted select d, 0, 'pcie' from (values (-5), (205)) days(d)"
    assert changes(HALVED, NOTE, outside, failed) == changes(HALVED, NOTE)


def test_changes_of_one_kind_end_each_other_s_days(changes):
    later = NOTE.replace("2026-04-11", "2026-05-01").replace("'new'", "'newer'")
    rows = changes(HALVED, NOTE, later)
    assert rows["all"]["change"] == "newer"
    assert rows["all"]["node_days_before"] == 40 * 19
