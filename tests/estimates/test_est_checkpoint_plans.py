"""Plans of the five clusters: their own rate, their own costs, and bounds if a rate has no value."""

from functools import partial
from itertools import pairwise

import pytest
from scipy import stats

from assets.estimates.est_checkpoint_plans import est_checkpoint_plans
from assets.model.month_variation import month_variation


@pytest.fixture
def plan(rows):
    def plan(cluster_id, gpu_count, rows=rows):
        (row,) = rows("est_checkpoint_plans", cluster_id=cluster_id, gpu_count=gpu_count)
        return row

    return plan


def test_two_failures_leave_much_open(plan):
    """Two in one incident scatter twice as much, and months differ: negative binomial of mean 1.5 x 3,840 / 400."""
    row = plan("large", 1024)
    shape = 1 / (1 / 1.5 + 2 * month_variation([], []).relative_variance)
    assert (row["expected_interruptions_low"], row["expected_interruptions_high"]) == tuple(
        stats.nbinom.ppf([0.05, 0.95], shape, shape / (shape + 1.5 * 3840 / 400))
    )
    assert row["ettr_run_high"] - row["ettr_run_low"] > 0.05
    assert 0.8 < row["probability_ettr_ge_target"] < 0.95


def test_the_probability_falls_with_size(rows):
    found = [row["probability_ettr_ge_target"] for row in rows("est_checkpoint_plans", cluster_id="large")]
    assert found[0] > 0.99
    assert found[-1] == 0.0
    assert all(larger <= smaller + 0.002 for smaller, larger in pairwise(found)), "simulated"


def test_configured_costs_are_used_and_an_assumed_one_is_told(redo, plan):
    assert plan("large", 1024)["note"] == "write time not configured: 5 minutes assumed"
    rows = redo(
        est_checkpoint_plans,
        "update staging.stg_config__clusters set write_minutes = 1, restart_minutes = 12 where cluster_id = 'large'",
        "update marts.dim_clusters set gpus_per_node = null where cluster_id = 'small'",
    )
    changed = partial(plan, rows=rows)
    row = changed("large", 1024)
    assert (row["restart_minutes"], row["write_minutes"], row["note"]) == (12, 1, None)
    assert row["checkpoint_minutes_young"] == pytest.approx((2 * 1440 / 0.32) ** 0.5)
    assert changed("small", 8)["note"].startswith("GPUs per node unknown; ")
    assert [changed("small", 8)[name] for name in ("node_count", "ettr_optimal", "mttf_hours_low")] == [None] * 3
