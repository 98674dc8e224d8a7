"""The saving of taking a node out follows from its own jobs: one lemon runs jobs of 1 GPU, the other jobs of 64."""

import pytest

from assets.estimates.est_lemon_nodes import est_lemon_nodes
from tests.estimates.five_clusters import read
from tests.warehouses import filled

# 40 nodes over 90 days. n00 runs a job of 1 GPU all day long, nodes 1 to 40 run in fives, 64 GPUs together; all jobs
# take 24 hours. n00 and n01 fail 12 times, every second other node once. A tenth more is lost to preemptions.
PLANTED = """
insert into marts.dim_clusters by name
select
    'c' as cluster_id, 60 as checkpoint_minutes, timestamp '2026-01-01' as study_from_at,
    timestamp '2026-04-01' as study_to_at;
insert into inputs.inp_lemon_windows_chosen by name
select
    'c' as cluster_id, date '2026-01-01' as rate_start_date, date '2026-03-31' as window_end_date, 90 as rate_days,
    '{}' as thresholds;
insert into marts.dim_nodes by name
select 'c' as cluster_id, printf('n%02d', n) as node_id, node_id as node_name from range(41) as nodes (n);
insert into marts.fct_node_days by name
select cluster_id, node_id, date '2026-01-01' + d::integer as day_date, 24 as in_use_hours, 24 as study_hours
from marts.dim_nodes, range(90) as days (d);
insert into marts.fct_attempt_exposures by name
select
    'c' as cluster_id, 'a' || job || '-' || d as attempt_id, if(job = 0, 1, 64) as gpu_count,
    if(job = 0, 1, 5) as node_count, 0 as entry_seconds, 86400 as exit_seconds, 86400 as exposure_seconds,
    timestamp '2026-01-01' + to_days(d::integer) as seen_from_at, seen_from_at + interval 1 day as seen_to_at,
    0 as failure_probability, false as is_paper_failure
from range(9) as jobs (job), range(90) as days (d);
insert into marts.fct_attempt_nodes by name
select 'c' as cluster_id, 'a' || ((n + 4) // 5) || '-' || d as attempt_id, printf('n%02d', n) as node_id
from range(41) as nodes (n), range(90) as days (d);
insert into marts.fct_incident_suspects by name
select
    'c' as cluster_id, node_id || '-' || i as incident_id, node_id, true as is_known, 1.0 as incident_probability,
    timestamp '2026-01-05 12:00' + to_days((7 * i + n % 5)::integer) as failed_at
from (select printf('n%02d', n) as node_id, n, unnest(range(if(n < 2, 12, n % 2))) as i from range(41) as nodes (n));
insert into marts.fct_failures by name
select
    cluster_id, incident_id as attempt_id, failed_at, 1.0 as posterior_probability,
    if(node_id = 'n00', 0.5, 32.0) as lost_gpu_hours
from marts.fct_incident_suspects;
insert into marts.agg_lost_goodput by name select 'c' as cluster_id, 110.0 as expected_lost_gpu_hours;
insert into marts.agg_failure_rates_by_cause by name select 'c' as cluster_id, 100.0 as expected_lost_gpu_hours;
"""
MEAN_HOURS = 0.5 - 0.5**2 / (2 * 24)
"""Return the loss of one GPU by an incident at any time of a day, with checkpoints every hour."""


@pytest.fixture
def house(tmp_path):
    warehouse = filled(tmp_path, PLANTED)
    return warehouse


def judged(house, *changes):
    with house.writing() as con:
        for change in changes:
            con.execute(change)
    est_lemon_nodes(warehouse=house)
    return {row["node_id"]: row for row in read(house, "est_lemon_nodes")}


def test_a_node_saves_its_own_excess_of_its_own_losses(house):
    rows = judged(house)
    for name, gpus in (("n00", 1), ("n01", 64)):
        row = rows[name]
        assert row["verdict"] == "lemon"
        assert row["incident_loss_gpu_hours"] == pytest.approx(gpus * MEAN_HOURS * 1.1)
        for end in ("", "_low", "_high"):
            excess = (row[f"rate{end}"] - row["fleet_rate"]) / 1000
            assert row[f"saved_gpu_hours_per_month{end}"] == pytest.approx(excess * 30 * gpus * MEAN_HOURS * 1.1)
    # 11 or 12 failures of 90 days, of half an hour each.
    assert 1.0 < rows["n00"]["saved_gpu_hours_per_month"] < 2.2
    assert 64 < rows["n01"]["saved_gpu_hours_per_month"] < 64 * 2.2


def test_what_is_given_up_is_the_use_of_the_nodes_own_gpus(house):
    rows = judged(house)
    assert [rows[name]["given_up_gpu_hours_per_month"] for name in ("n00", "n01")] == pytest.approx(
        [24 * 30, 24 * 30 * 64 / 5]
    )
    assert rows["n01"]["attempts_gpu_hours_per_month"] == pytest.approx(24 * 30 * 64)
    for end in ("", "_low", "_high"):
        a_day = 24 * 64 / 5
        assert rows["n01"][f"break_even_days{end}"] == pytest.approx(
            rows["n01"][f"saved_gpu_hours_per_month{end}"] / a_day
        )


def test_nobody_saves_more_than_was_lost_or_used(house):
    """The failures themselves lost little, then all jobs of the lemon but one are missing from accounting."""
    rows = judged(house, "update marts.fct_failures set lost_gpu_hours = 0.1")
    saved = sum(row["saved_gpu_hours_per_month"] for row in rows.values())
    assert saved == pytest.approx(0.1 * (24 + 19) * 1.1 / 3)
    assert rows["n01"]["saved_gpu_hours_per_month_high"] > saved
    rows = judged(
        house,
        "update marts.fct_failures set lost_gpu_hours = 1000",
        "delete from marts.fct_attempt_exposures where attempt_id like 'a1-%' and attempt_id != 'a1-0'",
        "update marts.fct_attempt_exposures set exit_seconds = 360, exposure_seconds = 360, "
        "seen_to_at = seen_from_at + interval 6 minute where attempt_id = 'a1-0'",
    )
    assert rows["n01"]["attempts_gpu_hours_per_month"] == pytest.approx(64 * 0.1 / 3)
    assert rows["n01"]["saved_gpu_hours_per_month_high"] == pytest.approx(64 * 0.1 / 3)


def test_jobs_that_share_a_node_fail_together(house):
    """An incident of n00 ended three of its jobs, one of n01 one: two on average."""
    rows = judged(
        house,
        "insert into marts.fct_attempt_exposures by name select 'c' as cluster_id, unnest(['x', 'y', 'z', 'w']) as "
        "attempt_id, unnest(['i', 'i', 'i', 'j']) as incident_id, unnest(['n00', 'n00', 'n00', 'n01']) as "
        "culprit_node_id, 0.5 as failure_probability, true as is_paper_failure",
    )
    assert rows["n00"]["incident_loss_gpu_hours"] == pytest.approx(2 * MEAN_HOURS * 1.1)


def test_short_jobs_lose_half_of_their_time_and_what_ran_before_these_days_does_not_count(house):
    """Jobs of n00 take half an hour; those of n01 began two days before the study."""
    rows = judged(
        house,
        "update marts.fct_attempt_exposures set exit_seconds = 1800, exposure_seconds = 1800, "
        "seen_to_at = seen_from_at + interval 30 minute where gpu_count = 1",
        "update marts.fct_attempt_exposures set entry_seconds = 172800, exit_seconds = 259200 where gpu_count = 64",
        "update inputs.inp_lemon_windows_chosen set rate_start_date = date '2026-02-01'",
    )
    assert rows["n00"]["incident_loss_gpu_hours"] == pytest.approx(0.25 * 1.1)
    assert rows["n01"]["incident_loss_gpu_hours"] == pytest.approx(64 * 0.5 * 1.1)
    assert rows["n00"]["given_up_gpu_hours_per_month"] == pytest.approx(0.5 * 30)


def test_unknown_gpu_counts_are_told(house):
    rows = judged(
        house,
        "update marts.fct_attempt_exposures set gpu_count = null where attempt_id in ('a1-0', 'a1-1')",
        "update marts.fct_attempt_exposures set gpu_count = null where attempt_id like 'a0-1%'",
    )
    assert rows["n00"]["saved_gpu_hours_per_month"] is None
    assert rows["n00"]["break_even_days"] is None
    assert rows["n00"]["saving_note"] == "the GPU counts of its jobs are unknown"
    # Two days of 90 unknown: the rest represents them.
    assert rows["n01"]["given_up_gpu_hours_per_month"] == pytest.approx(24 * 30 * 64 / 5)
    assert rows["n01"]["saving_note"] is None


def test_a_fleet_that_cannot_tell_promises_nothing(house):
    rows = judged(house, "delete from marts.fct_incident_suspects where node_id in ('n00', 'n01')")
    assert {row["saved_gpu_hours_per_month"] for row in rows.values()} == {None}
    assert {row["saving_note"] for row in rows.values()} == {rows["n00"]["note"]}
