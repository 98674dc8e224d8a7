"""Measured and expected ETTR of long runs, computed by hand."""

import pytest

from assets.estimates.est_ettr_by_size import est_ettr_by_size
from tests.estimates.five_clusters import PARTS_OF_RUNS


def test_ten_runs_of_a_size_have_limits(redo):
    """Ten runs, five of 0.98 and five of 0.92: s = 0.03162, t = 1.833 with 9 degrees, logit(0.95) -/+ 0.3859."""
    rows = redo(
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


def test_runs_that_progress_alike_and_wait_differently_have_limits_of_one_ratio(redo):
    rows = redo(
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


def test_a_run_of_unknown_queue_is_left_out_of_ettr_and_told_of(redo):
    rows = redo(
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
