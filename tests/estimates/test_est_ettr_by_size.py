"""Measured and expected ETTR of long runs, worked out by hand."""

import pytest

from assets.estimates.est_ettr_by_size import est_ettr_by_size
from tests.estimates.five_clusters import PARTS_OF_RUNS
from tests.homes import change


def size_of(rows, cluster_id, gpu_size_bin):
    (row,) = rows("est_ettr_by_size", cluster_id=cluster_id, gpu_size_bin=gpu_size_bin)
    return row


def test_few_runs_of_a_size_show_the_lowest_and_the_highest(rows):
    """0.98, 0.94, 0.93."""
    row = size_of(rows, "large", 256)
    assert (row["run_count"], row["population"], row["method"]) == (3, "runs_ge_24h", "bounds_of_few_runs")
    assert row["ettr_measured"] == pytest.approx(0.95)
    assert (row["ettr_bound_low"], row["ettr_bound_high"]) == pytest.approx((0.94, 0.96))
    assert (row["ettr_measured_low"], row["ettr_measured_high"]) == (0.93, 0.98)
    assert (row["event_count"], row["exposure"]) == (1, 390.0)
    assert row["note"] == "3 runs: the lowest and the highest in place of limits"


def test_ten_runs_of_a_size_have_limits(anew):
    """Ten runs, five of 0.98 and five of 0.92: s = 0.03162, t = 1.833 with 9 degrees, logit(0.95) -/+ 0.3859."""
    rows = anew(
        est_ettr_by_size,
        "insert into marts.fct_job_runs by name select 'small' as cluster_id, 's' || i as run_id, "
        "64 as gpu_size_bin, 16 as node_count, 1 as attempt_count, 1 as queue_hours, "
        "28 + i % 2 as productive_hours, 30 as scheduled_hours, if(i % 2 = 0, 0.98, 0.92) as ettr, "
        "0.9 as ettr_low, 0.99 as ettr_high, 0 as infrastructure_failure_count from range(10) as runs (i)",
        PARTS_OF_RUNS,
    )
    (row,) = rows("est_ettr_by_size", cluster_id="small", gpu_size_bin=64)
    assert (row["method"], row["note"]) == ("logit_t", None)
    assert row["ettr_measured_low"] == pytest.approx(0.9281, abs=5e-5)
    assert row["ettr_measured_high"] == pytest.approx(0.9655, abs=5e-5)
    limits = (row["progress_ratio"], row["progress_ratio_low"], row["progress_ratio_high"])
    assert limits == pytest.approx((0.95, 0.9388, 0.9593), abs=5e-5)


def test_runs_that_progress_alike_and_wait_differently_have_limits_of_one_ratio(anew):
    rows = anew(
        est_ettr_by_size,
        "insert into marts.fct_job_runs by name select 'small' as cluster_id, 's' || i as run_id, "
        "64 as gpu_size_bin, 16 as node_count, 1 as attempt_count, i as queue_hours, 29 as productive_hours, "
        "30 as scheduled_hours, 29 / (30 + i) as ettr, 0.5 as ettr_low, 0.99 as ettr_high, "
        "0 as infrastructure_failure_count from range(10) as runs (i)",
        PARTS_OF_RUNS,
    )
    (row,) = rows("est_ettr_by_size", cluster_id="small", gpu_size_bin=64)
    assert row["ettr_measured_low"] < row["ettr_measured"]
    assert (row["progress_ratio"], row["progress_ratio_low"]) == (pytest.approx(29 / 30), None)
    assert row["note"] == "the runs progress alike: no limits of the progress ratio"


def test_progress_over_scheduled_time_stands_apart_from_ettr(rows):
    """238 of 240 h, 118 of 120 and 28 of 30; a half hour more or less in each."""
    row = size_of(rows, "large", 256)
    shares = [238 / 240, 118 / 120, 28 / 30]
    assert row["progress_ratio"] == pytest.approx(sum(shares) / 3)
    assert (row["progress_ratio_low"], row["progress_ratio_high"]) == pytest.approx((28 / 30, 238 / 240))
    halves = sum(0.5 / hours for hours in (240, 120, 30)) / 3
    assert row["progress_ratio_bound_low"] == pytest.approx(row["progress_ratio"] - halves)
    assert row["progress_ratio_bound_high"] == pytest.approx(row["progress_ratio"] + halves)


def test_the_parts_of_the_time_sum_to_all_of_it(rows):
    """Three runs in four attempts: 4 h queued, 390 scheduled, 5 minutes to restart and half an hour of work lost."""
    row = size_of(rows, "large", 256)
    hours = {"queue": 4, "restart": 4 * 5 / 60, "lost_work": 1.5, "productive": 384}
    hours["write"] = 390 - sum(hours.values()) + 4
    assert {part: row[f"{part}_hours"] for part in hours} == pytest.approx(hours)
    assert row["wallclock_hours"] == pytest.approx(394) == pytest.approx(sum(hours.values()))
    assert {part: row[f"{part}_wallclock_ratio"] for part in hours} == pytest.approx(
        {part: value / 394 for part, value in hours.items()}
    )


def test_the_form_of_the_papers_second_version_stands_beside_the_measured_value(rows):
    """0.08 failures a day: Young's interval for writes of 5 minutes is sqrt(10 x 18,000) = 424.3 minutes."""
    row = size_of(rows, "large", 256)
    interval = (2 * 5 * 1440 / 0.08) ** 0.5
    expected = (1 - 0.08 / 1440 * (5 + interval / 2)) / (1 + 5 / interval)
    assert row["ettr_expected_v2"] == pytest.approx(expected) == pytest.approx(0.97643, abs=5e-6)
    assert row["ettr_expected_v2_low"] < row["ettr_expected_v2"] < row["ettr_expected_v2_high"]


def test_expected_from_nodes_rate_queue_and_settings(rows):
    """32 nodes, 2.5 per 1,000 node-days: 0.08 a day; 4 h queued over 4 attempts: 60 minutes; 128 h productive."""
    row = size_of(rows, "large", 256)
    assert (row["node_count_median"], row["queue_minutes_mean"], row["productive_hours_mean"]) == (32, 60, 128)
    per_hour, useful = 0.08 / 24, 1 - 0.08 / 24 * (5 / 60 + 0.5)
    published = useful / ((1 + per_hour) * (1 + 5 / 60 / 128) + useful / 128)
    assert row["ettr_expected"] == pytest.approx(published)
    assert row["ettr_expected_exact"] == pytest.approx(published, abs=1e-5)
    assert row["ettr_expected_low"] < row["ettr_expected"] < row["ettr_expected_high"]
    assert row["ettr_expected_exact_low"] < row["ettr_expected_exact"] < row["ettr_expected_exact_high"]
    assert row["rate_population"] == "gpus_gt_128"


def test_runs_under_24_scheduled_hours_are_left_out(rows):
    assert [row["gpu_size_bin"] for row in rows("est_ettr_by_size", cluster_id="large")] == [256, 512]
    assert rows("est_ettr_by_size", cluster_id="small") == []


def test_a_single_run_has_no_limits(rows):
    row = size_of(rows, "large", 512)
    assert (row["ettr_measured"], row["ettr_measured_low"], row["ettr_measured_high"]) == (0.97, None, None)
    assert row["note"] == "a single run: no limits"


def test_without_failures_the_expected_value_has_limits_only(rows):
    row = size_of(rows, "quiet", 256)
    assert (row["ettr_expected"], row["ettr_expected_exact"]) == (None, None)
    assert 0.5 < row["ettr_expected_low"] < row["ettr_expected_high"] < 1
    assert row["note"] == "a single run: no limits; no failure yet: expected ETTR known by its lower limit only"


def test_runs_of_unknown_size_stand_apart(rows):
    row = size_of(rows, "untracked", None)
    assert row["node_count_median"] == 2
    assert row["note"] == "runs whose GPU count is unknown; a single run: no limits"


def test_unknown_nodes_leave_the_expected_value_unknown(rows):
    row = size_of(rows, "quiet", None)
    assert [row["node_count_median"], row["ettr_expected"], row["ettr_expected_low"]] == [None, None, None]
    assert row["note"].endswith("nodes unknown: no expected ETTR")


def test_a_run_of_unknown_queue_is_left_out_of_ettr_and_told_of(anew):
    rows = anew(
        est_ettr_by_size,
        "update marts.fct_job_runs set queue_hours = null, wallclock_hours = null, ettr = null, ettr_low = null, "
        "ettr_high = null "
        "where cluster_id = 'quiet' or (cluster_id = 'large' and run_id = 'r2')",
    )
    (row,) = rows("est_ettr_by_size", cluster_id="large", gpu_size_bin=256)
    assert (row["run_count"], row["ettr_measured"]) == (3, pytest.approx(0.955))
    assert row["progress_ratio"] == pytest.approx((238 / 240 + 118 / 120 + 28 / 30) / 3)
    assert [row["queue_hours"], row["wallclock_hours"], row["restart_wallclock_ratio"]] == [None, None, None]
    assert row["queue_minutes_mean"] == pytest.approx(60 / 2)
    assert "runs left out of ETTR, time queued unknown: 1" in row["note"]
    (row,) = rows("est_ettr_by_size", cluster_id="quiet", gpu_size_bin=256)
    assert (row["ettr_measured"], row["progress_ratio"], row["ettr_expected"]) == (None, pytest.approx(74 / 75), None)


def test_no_long_run_is_an_empty_table_not_an_error(warehouse):
    change(warehouse, "delete from marts.fct_job_runs")
    result = est_ettr_by_size(warehouse=warehouse)
    assert result.metadata["dagster/row_count"] == 0
    assert result.metadata["headline"] == "no run with 24 scheduled hours"


def test_restarts_after_other_ends_than_failures_are_said(anew):
    rows = anew(
        est_ettr_by_size,
        "update marts.fct_job_runs set attempt_count = 12 where cluster_id = 'large' and run_id = 'r1'",
    )
    (row,) = rows("est_ettr_by_size", cluster_id="large", gpu_size_bin=256)
    assert row["note"].endswith("expected knows infrastructure failures only: 1 of 12 restarts")
