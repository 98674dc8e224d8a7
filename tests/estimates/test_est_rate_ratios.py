"""Ratios of the five clusters and of the periods of three others, computed by hand and with scipy."""

from datetime import date

import pytest

from assets.estimates.est_failure_rates import est_failure_rates
from assets.estimates.est_rate_ratios import est_rate_ratios
from assets.model.rate_ratio import rate_ratio
from tests.estimates.five_clusters import read
from tests.warehouses import filled


def test_a_simulated_cluster_against_a_real_one_is_told(redo):
    rows = redo(est_rate_ratios, "update marts.dim_clusters set is_simulated = true where cluster_id = 'large'")
    (row,) = rows("est_rate_ratios", cluster_id="large", other_cluster_id="small", is_reference=True)
    assert (row["is_simulated"], row["other_is_simulated"]) == (True, False)
    assert row["note"].startswith("a simulated cluster against a real one")
    (within,) = rows("est_rate_ratios", cluster_id="large", comparison="halves", is_reference=True)
    assert "simulated" not in (within["note"] or "")


PERIODS = """
insert into marts.dim_clusters (cluster_id, is_simulated, has_health_checks, study_from_at, study_to_at)
values
    ('busy', false, true, '2026-01-01 12:00', '2026-03-02'), ('quiet', false, true, '2026-01-01', '2026-01-11'),
    ('timeless', false, true, null, null);
insert into marts.fct_attempt_exposures (
    cluster_id, attempt_id, state, seen_from_at, seen_to_at, node_days, failed_at, failure_probability,
    is_paper_failure, incident_id
)
values
    ('busy', 'steady', 'RUNNING', '2026-01-01 12:00', '2026-03-02', 595, null, 0, false, null),
    ('busy', 'before', 'COMPLETED', '2026-01-01 12:00', '2025-12-01', 0, null, 0, false, null),
    ('busy', 'f1', 'NODE_FAIL', '2026-01-10', '2026-01-10', 0, '2026-01-10', 1, true, 'i1'),
    ('busy', 'f2', 'NODE_FAIL', '2026-01-10', '2026-01-10', 0, '2026-01-10', 1, true, 'i1'),
    ('busy', 'f3', 'NODE_FAIL', '2026-01-10', '2026-01-10', 0, '2026-01-10', 1, true, 'i1'),
    ('busy', 'f4', 'FAILED', '2026-01-20', '2026-01-20', 0, '2026-01-20', 0.5, true, null),
    ('busy', 'f5', 'NODE_FAIL', '2026-01-30', '2026-01-30', 0, '2026-01-30 23:59', 1, true, 'i2'),
    ('busy', 'f6', 'NODE_FAIL', '2026-01-31', '2026-01-31', 0, '2026-01-31 00:01', 1, true, 'i2'),
    ('busy', 'f7', 'NODE_FAIL', '2026-02-10', '2026-02-10', 0, '2026-02-10', 1, true, null),
    ('busy', 'f8', 'FAILED', '2026-02-11', '2026-02-11', 0, '2026-02-11', 0.4, true, null),
    ('busy', 'lost', 'NODE_FAIL', '2026-02-12', null, null, '2026-02-12', 1, true, null),
    ('quiet', 'a', 'COMPLETED', '2026-01-02', '2026-01-08', 12, null, 0, false, null);
"""
"""One job of 10 nodes for the 59.5 days of a study, and failures without a time."""


@pytest.fixture(scope="module")
def periods(tmp_path_factory):
    """Return the rows of both ways of counting of one comparison of a cluster, and the whole warehouse."""
    house = filled(tmp_path_factory.mktemp("periods"), PERIODS)
    for asset in (est_failure_rates, est_rate_ratios):
        asset(warehouse=house)

    def of(comparison, cluster_id, table="est_rate_ratios", **key):
        found = read(house, table, cluster_id=cluster_id, **{"comparison": comparison} if comparison else {}, **key)
        return sorted(found, key=lambda row: row["counted_as"])

    return of


def sides(row):
    return [row[name] for name in ("failure_count", "node_days", "other_failure_count", "other_node_days")]


def test_the_later_half_of_the_study_over_the_earlier(periods):
    """60 days, the first of them from noon on: 30 x 10 node-days after 29.5 x 10; of the failures six come before."""
    attempts, incidents = periods("halves", "busy")
    assert attempts["boundary_date"] == incidents["boundary_date"] == date(2026, 1, 31)
    assert sides(attempts) == pytest.approx([1 + 0.4, 300, 3 + 0.5 + 2, 295])
    assert sides(incidents) == pytest.approx([1 + 0.4, 300, 1 + 0.5 + 1, 295])
    assert attempts["ratio"] == pytest.approx((1.4 / 300) / (5.5 / 295))
    assert (attempts["is_reference"], incidents["is_reference"]) == (True, False)


def test_the_limits_of_periods_know_incidents_and_doubt(periods):
    """Variances are w m^2 (2 - w): 1 + 0.4 x 1.6 after 9 + 0.5 x 1.5 + 4; of incidents 1 + 0.75 + 1 before."""
    for row, k, variance in zip(periods("halves", "busy"), (5.5, 2.5), (13.75, 2.75), strict=True):
        phi = (1.64 / 1.4**2 + variance / k**2) / (1 / 1.4 + 1 / k)
        expected = rate_ratio(1.4, 300, k, 295, dispersion=phi)
        assert (row["ratio_low"], row["ratio_high"]) == pytest.approx((float(expected.low), float(expected.high)))
        assert row["p_value"] == pytest.approx(float(expected.p_value))
        assert (row["method"], row["note"]) == ("conditional_beta", None)


def test_both_halves_are_what_the_failure_rate_rests_on(periods):
    for cluster_id in ("busy", "quiet", "timeless"):
        for row in periods("halves", cluster_id):
            (rate,) = periods(None, cluster_id, "est_failure_rates", population="all", counted_as=row["counted_as"])
            assert (row["event_count"], row["exposure"]) == pytest.approx((rate["failure_count"], rate["node_days"]))


def test_the_last_30_days_over_the_30_before(periods):
    """Of 60 days these are the two halves, in incidents. Of ten days, all are the last."""
    (month,), (_, half) = periods("months", "busy", population="all"), periods("halves", "busy")
    assert month["boundary_date"] == half["boundary_date"]
    assert sides(month) == sides(half)
    assert (month["population"], month["counted_as"], month["is_reference"]) == ("all", "incidents", True)
    (quiet,) = periods("months", "quiet", population="all")
    assert sides(quiet) == pytest.approx([0, 12, 0, 0])
    assert quiet["verdict"] == "cannot tell"
    assert month["verdict"] == "cannot tell"


MONTHS = """
insert into marts.dim_clusters (cluster_id, is_simulated, has_health_checks, study_from_at, study_to_at)
values ('c', false, true, '2026-01-01', '2026-03-02 08:00');
insert into marts.fct_attempt_exposures (
    cluster_id, attempt_id, state, seen_from_at, seen_to_at, node_days, gpu_size_bin, is_whole_node, failed_at,
    failure_probability, is_paper_failure
)
select 'c', 'steady', 'RUNNING', '2026-01-01', '2026-03-02 08:00', 10 * (60 + 1 / 3), 256, true, null, 0, false
union all
select
    'c', 'f' || n, 'NODE_FAIL', at_, at_, 0, if(n < 40, 256, 8), true, at_, 1, true
from (
    select
        n,
        -- ten before the moment in which the later window begins, 30 after it, and ten of small jobs
        case when n < 10 then timestamp '2026-01-31 07:00' when n < 40 then '2026-01-31 09:00' else '2026-03-01' end
            as at_
    from range(0, 50) as numbers (n)
);
insert into marts.fct_node_days (cluster_id, node_id, day_date, study_hours, in_use_hours)
select 'c', 'n', cast(unnest(range(date '2026-01-01', date '2026-03-03', interval 1 day)) as date), 24, 24;
"""
"""A job of ten nodes above 128 GPUs for the 60 days and 8 hours of a study, whose last month begins at 8 o'clock."""
SEEN = """
insert into ops.sight (cluster_id, node_id, kind, day_date)
select 'c', 'n', 'kernel', cast(unnest(range(date '2026-01-01', date '2026-02-21', interval 1 day)) as date)
"""


def months(tmp_path, more="", population="gpus_gt_128"):
    house = filled(tmp_path, MONTHS + more)
    for asset in (est_failure_rates, est_rate_ratios):
        asset(warehouse=house)
    (row,) = read(house, "est_rate_ratios", comparison="months", population=population)
    return row


BEGAN = "update marts.dim_clusters set study_from_at = timestamp '2026-01-31 08:00' - interval {} minute"
LIKELY = (
    "update marts.fct_attempt_exposures set failure_probability = if(failed_at < '2026-01-31 08:00', {}, {}) "
    "where failed_at is not null"
)
NOT_ENOUGH = (
    "create or replace view inputs.inp_clusters_judged as "
    "select cluster_id, is_simulated, false as has_enough_data, 'too little to tell' as note from marts.dim_clusters"
)


@pytest.mark.parametrize(
    ("more", "population", "counted", "verdict", "note"),
    [
        ("", "gpus_gt_128", [30, 300, 10, 300], "worse", None),
        # From 1 March 06:00 to 2 March 08:00 are 26 hours of a node.
        ("update marts.dim_clusters set study_from_at = '2026-03-01 06:00';"
         "update marts.fct_node_days set study_hours = if(day_date = '2026-03-01', 18, 8);",
         "nodes", [None, 26 / 24, None, None], "cannot tell", "days seen: 1.083 and 0, and 7 are needed"),
        # The job has ten node-days a day, of one node that jobs share. Two attempts of one incident are one.
        ("update marts.fct_attempt_exposures set incident_id = 'i' where attempt_id in ('f0', 'f1')",
         "all", [40, 30 + 2 / 3, 9, 30], "worse", None),
        # Accounting of the earlier month begins 6.9 days before its end: the row stays, with what was seen.
        (BEGAN.format(int(6.9 * 1440)), "all", [40, None, None, None], "cannot tell",
         "days seen: 30 and 6.9, and 7 are needed"),
        # From 1 January 08:00 to 31 January 08:00 a gap of 24 days leaves six.
        ("insert into marts.dim_study_gaps values ('c', '2026-01-03', '2026-01-27')", "all", None, "cannot tell",
         "days seen: 30 and 6, and 7 are needed"),
        # From 21 February on no log was understood: ten days are left out, the last in part.
        (SEEN, "gpus_gt_128", [30, 300 - 10 * (9 + 1 / 3), 10, 300], "worse", "no log that was understood: 10"),
        # Nodes are counted by the days of the nodes, from midnight on.
        ("insert into marts.fct_incidents (cluster_id, incident_id) select 'c', 'f' || n from range(0, 50) as t (n);",
         "nodes", [40, 30 + 2 / 3, 10, 30], "worse", None),
        (LIKELY.format(1, 0), "gpus_gt_128", None, "better", None),
        (LIKELY.format(0.9, 0.3), "gpus_gt_128", None, "no change shown", None),
        (LIKELY.format(0.29, 0), "gpus_gt_128", None, "cannot tell", None),
        (NOT_ENOUGH, "gpus_gt_128", None, "cannot tell", "too little to tell"),
    ],
)  # fmt: skip
def test_the_last_month_is_compared_to_the_hour_over_what_was_seen(tmp_path, more, population, counted, verdict, note):
    row = months(tmp_path, more, population)
    for found, expected in zip(sides(row), counted or [None] * 4, strict=True):
        assert expected is None or found == pytest.approx(expected)
    assert row["verdict"] == verdict
    assert note is None or note in row["note"]
    if "7 are needed" in (note or ""):
        assert [row[name] for name in ("ratio", "ratio_low", "ratio_high", "p_value")] == [None] * 4


def test_the_months_have_the_limits_of_their_counts_from_a_week_on(tmp_path):
    row, expected = months(tmp_path), rate_ratio(30, 300, 10, 300)
    assert (row["counted_as"], row["boundary_date"], row["is_reference"]) == ("incidents", date(2026, 1, 31), False)
    assert (row["ratio"], row["ratio_low"]) == pytest.approx((3, float(expected.low)))
    assert months(tmp_path, BEGAN.format(7 * 1440), "all")["ratio"] > 0


def test_a_study_without_a_failure_has_its_node_days(periods):
    """A job of two nodes has the second to the seventh of ten days."""
    for row in periods("halves", "quiet"):
        assert row["boundary_date"] == date(2026, 1, 6)
        assert sides(row) == pytest.approx([0, 4, 0, 8])
        assert (row["method"], row["note"]) == ("no_events", "no failure on either side")
        assert [row[name] for name in ("ratio", "ratio_low", "ratio_high", "p_value")] == [None] * 4


def test_without_a_study_period_there_are_no_periods(periods):
    for row in periods("halves", "timeless") + periods("months", "timeless"):
        assert (row["boundary_date"], row["method"]) == (None, "no_exposure")
        assert sides(row) == [0, 0, 0, 0]
