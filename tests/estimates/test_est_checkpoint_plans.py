"""Plans of the five clusters: their own rate, their own costs, and bounds where a rate has no value."""

from functools import partial
from itertools import pairwise

import pytest
from scipy import stats

from assets.estimates.est_checkpoint_plans import est_checkpoint_plans, headline
from assets.model.month_variation import month_variation


@pytest.fixture
def plan(rows):
    def plan(cluster_id, gpu_count, rows=rows):
        (row,) = rows("est_checkpoint_plans", cluster_id=cluster_id, gpu_count=gpu_count)
        return row

    return plan


def test_sizes_are_powers_of_two_for_every_cluster(rows):
    sizes = {}
    for row in rows("est_checkpoint_plans"):
        sizes.setdefault(row["cluster_id"], []).append(row["gpu_count"])
    assert sizes == {name: [2**at for at in range(3, 18)] for name in ("empty", "large", "quiet", "small", "untracked")}


def test_a_plan_rests_on_the_clusters_reference_rate(plan):
    """2.5 failures per 1,000 node-days on 128 nodes: 0.32 a day, one in 75 hours, 9.6 in 30 days; Young by hand."""
    row = plan("large", 1024)
    assert (row["population"], row["counted_as"], row["event_count"], row["exposure"]) == (
        "gpus_gt_128", "attempts", 2, 800.0,
    )  # fmt: skip
    assert (row["node_count"], row["failures_per_1000_node_days"], row["mttf_hours"]) == (128, 2.5, 75.0)
    assert row["expected_interruptions"] == pytest.approx(9.6)
    assert row["checkpoint_minutes_young"] == pytest.approx((2 * 5 * 1440 / 0.32) ** 0.5)
    assert row["checkpoint_minutes_optimal"] == pytest.approx(row["checkpoint_minutes_daly"], rel=1e-4)
    assert row["checkpoint_minutes_optimal"] < row["checkpoint_minutes_young"]
    assert row["ettr_optimal"] == pytest.approx(0.9525, abs=1e-4)


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


def test_without_300_node_days_of_large_or_whole_node_jobs_the_rate_of_the_nodes_stands_in(plan):
    row = plan("small", 8)
    assert (row["population"], row["counted_as"], row["node_count"]) == ("nodes", "incidents", 2)


def test_without_failures_there_are_bounds_and_a_reason(plan):
    row = plan("quiet", 1024)
    missing = (
        "failures_per_1000_node_days", "mttf_hours", "expected_interruptions", "checkpoint_minutes_young",
        "checkpoint_minutes_daly", "checkpoint_minutes_optimal", "checkpoint_minutes_optimal_high", "ettr_optimal",
        "probability_ettr_ge_target",
    )  # fmt: skip
    assert {row[name] for name in missing} == {None}
    assert row["mttf_hours_low"] == pytest.approx(24 / (128 * 2.9957 / 105), rel=1e-4)
    assert row["checkpoint_minutes_optimal_low"] > 0
    assert 0 < row["ettr_optimal_low"] < row["ettr_optimal_high"] == 1
    assert (row["expected_interruptions_low"], row["method"]) == (0, "garwood_upper_limit")
    assert row["note"].startswith("no failure in 105 node-days: only bounds are known")


def test_without_exposure_nothing_is_said(plan):
    row = plan("empty", 1024)
    assert [row["mttf_hours_low"], row["expected_interruptions_high"], row["ettr_optimal_low"]] == [None] * 3
    assert row["note"].startswith("no failure rate: the cluster has no node-days")


def test_configured_costs_are_used_and_an_assumed_one_is_told(anew, plan):
    assert plan("large", 1024)["note"] == "write time not configured: 5 minutes assumed"
    rows = anew(
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


def test_the_headline_names_the_largest_likely_size(fitted):
    with fitted.reading() as con:
        text = headline(con.execute("from estimates.est_checkpoint_plans").df())
    assert "small: ETTR 0.9 up to 8 GPUs" in text
    assert "quiet: no size known to reach ETTR 0.9" in text
