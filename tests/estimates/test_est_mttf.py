"""Measured and projected MTTF of the five clusters, computed by hand."""

from functools import partial

import pandas as pd
import pytest
from scipy import stats

from assets.estimates.est_checkpoint_plans import est_checkpoint_plans
from assets.estimates.est_mttf_by_size import est_mttf_by_size, with_mttf
from assets.estimates.est_mttf_projections import est_mttf_projections
from assets.model.month_variation import month_variation
from tests.estimates.five_clusters import read

USUAL = month_variation([], []).relative_variance

WITHOUT_LOOPS = {"cluster_id": "c", "repeat_count": 0.0, "loops": None}


def size_of(rows, cluster_id, gpu_size_bin):
    (row,) = rows("est_mttf_by_size", cluster_id=cluster_id, gpu_size_bin=gpu_size_bin)
    return row


def projection_of(rows, cluster_id, gpu_count):
    (row,) = rows("est_mttf_projections", cluster_id=cluster_id, gpu_count=gpu_count)
    return row


def limits_of(row):
    return [row["failures_30d_low"], row["failures_30d_high"]]


def predicted(counted, variance, scale):
    """Return the limits of a negative binomial count: `counted` events behind the rate, `variance` between months."""
    shape, mean = 1 / (1 / counted + variance), counted * scale
    return stats.nbinom.ppf([0.05, 0.95], shape, shape / (shape + mean)).tolist()


def test_the_theory_line_stands_at_the_mean_size_of_the_bin():
    """The bin of 512 GPUs holds jobs of 40 nodes on average, not the 64 of its upper edge."""
    bin_ = {"failure_count": 2.0, "failure_variance": 2.0, "runtime_hours": 100.0, "gpu_size_bin": 512.0}
    rate = {"rate_failure_count": 4.0, "rate_failure_variance": 4.0, "rate_node_days": 1000.0}
    cluster = {"gpus_per_node": 8.0, "mean_node_count": 40.0, "rate_population": "all", "note": None} | WITHOUT_LOOPS
    line = with_mttf(pd.DataFrame([bin_ | rate | cluster]))
    assert line["mttf_theory_hours"][0] == pytest.approx(24 / (40 * 0.004))


@pytest.mark.parametrize(
    ("loops", "words"),
    [
        ([], "p = 0.034 after 9 sizes"),
        ([9], "p = 0.034 after 9 sizes; crash loops explain it: job j0 (9 failures); each counted once, p = 1"),
        ([2], "p = 0.034 after 9 sizes; crash loops are among them: job j0 (2 failures); each counted once, p = 0.06"),
        ([3, 3, 2, 2], "explain it: job j0 (3 failures), job j1 (3 failures), job j2 (2 failures) and 1 more"),
    ],
)
def test_a_size_off_the_line_is_judged_after_the_number_of_sizes(loops, words):
    """25 failures where 11 are expected, of a rate of 34: 2 x P(at least 25 of 59 at 11 / 45), for nine sizes."""
    share = 11 / (11 + 34)
    assert min(1, 9 * 2 * stats.binom.sf(24, 59, share)) == pytest.approx(0.034, abs=0.0005)
    line = {"gpus_per_node": 8.0, "mean_node_count": 1.0, "rate_population": "all", "note": None, "gpu_size_bin": 8.0}
    rate = {"rate_failure_count": 34.0, "rate_failure_variance": 34.0, "rate_node_days": 34.0, "cluster_id": "c"}
    named = [{"job_id": f"j{n}", "failure_count": float(count)} for n, count in enumerate(loops)]
    of_loops = {"repeat_count": float(sum(loops) - len(loops)), "loops": named}
    off = {"failure_count": 25.0, "failure_variance": 25.0, "runtime_hours": 24.0 * 11} | of_loops
    as_expected = {"failure_count": 11.0, "failure_variance": 11.0, "runtime_hours": 24.0 * 11} | WITHOUT_LOOPS
    other = as_expected | line | rate | {"cluster_id": "d"}
    notes = with_mttf(pd.DataFrame([off | line | rate, *[as_expected | line | rate] * 8, other]))["note"]
    assert notes[0].startswith("25 failures where 11 are expected: ")
    assert words in notes[0]
    assert notes[1:].isna().all()


def test_projections_reach_from_8_to_131072_gpus_and_hold_the_largest_job_and_the_cluster(rows):
    sizes = [row["gpu_count"] for row in rows("est_mttf_projections", cluster_id="large")]
    assert sizes == sorted({2**exponent for exponent in range(3, 18)} | {2000})
    assert projection_of(rows, "large", 2000)["is_cluster_size"]
    assert projection_of(rows, "large", 1024)["is_largest_job"]
    assert [row["gpu_count"] for row in rows("est_mttf_projections", cluster_id="quiet")].count(512) == 1


def test_failures_of_a_planned_month_are_predicted_as_a_count(rows):
    """2 failures of 1 incident in 800 node-days; 2,048 nodes for 30 days are 61,440: 153.6, and 1.5 for the spread.

    No month was seen: it may differ as months usually do, and so may the one that the rate is of: twice their variance.
    """
    row = projection_of(rows, "large", 16_384)
    assert row["failures_30d"] == pytest.approx(61_440 * 0.0025)
    assert limits_of(row) == predicted(1.5, 2 * USUAL, 61_440 / 400)
    quiet = projection_of(rows, "quiet", 1024)
    assert (quiet["failures_30d"], quiet["failures_30d_low"]) == (None, 0.0)
    assert quiet["failures_30d_high"] == predicted(0.5, 2 * USUAL, 128 * 30 / 105)[1]
    assert projection_of(rows, "empty", 64)["failures_30d_high"] is None


def test_months_that_were_seen_tell_how_far_the_next_may_differ(warehouse):
    """Two failures of one incident in one of two months do not show that months differ, and hardly exclude it.

    30 days add their variance x (1/2 + 1), as both months seen have missed the mean, too.
    """
    with warehouse.writing() as con:
        con.execute("""
            create or replace table estimates.est_forecast_scores as
            from (values ('large', date '2026-01-01', 2.0, 400.0), ('large', date '2026-02-01', 0.0, 400.0))
                as months (cluster_id, month_date, month_failure_count, month_node_days)
        """)
    est_mttf_projections(warehouse=warehouse)
    est_checkpoint_plans(warehouse=warehouse)
    rows = partial(read, warehouse)
    row = projection_of(rows, "large", 16_384)
    relative_variance = month_variation([2.0, 0.0], [400.0, 400.0], dispersion=2.0).relative_variance
    assert limits_of(row) == predicted(1.5, 1.5 * relative_variance, 61_440 / 400)
    (plan,) = rows("est_checkpoint_plans", cluster_id="large", gpu_count=16_384)
    assert limits_of(row) == [plan["expected_interruptions_low"], plan["expected_interruptions_high"]]
    assert limits_of(projection_of(rows, "quiet", 1024)) == predicted(0.5, 2 * USUAL, 128 * 30 / 105)


def test_unknown_gpus_per_node_leave_sizes_without_nodes(warehouse):
    with warehouse.writing() as con:
        con.execute("update marts.dim_clusters set gpus_per_node = null where cluster_id = 'large'")
        con.execute("update marts.dim_clusters set gpus_per_node = 0 where cluster_id = 'small'")
    est_mttf_by_size(warehouse=warehouse)
    est_mttf_projections(warehouse=warehouse)
    rows = partial(read, warehouse)
    for cluster_id in ("large", "small"):
        row = projection_of(rows, cluster_id, 16)
        assert (row["node_count"], row["mttf_hours"], row["note"]) == (None, None, "GPUs per node unknown")
    assert size_of(rows, "large", 256)["mttf_hours"] == 264.0
    assert size_of(rows, "large", 256)["note"] == "GPUs per node unknown: no theory line"
