"""Ratios of the five clusters, worked out by hand and with scipy."""

from datetime import date

import pytest
from scipy import stats

from assets.estimates.est_rate_ratios import est_rate_ratios
from tests.estimates.five_clusters import read


def pair(rows, cluster_id, other, population="all", counted_as="attempts"):
    key = {"comparison": "clusters", "cluster_id": cluster_id, "other_cluster_id": other}
    (row,) = rows("est_rate_ratios", population=population, counted_as=counted_as, **key)
    return row


def test_every_pair_of_clusters_stands_once_in_four_countings_with_one_to_quote(rows):
    found = rows("est_rate_ratios", comparison="clusters")
    assert len(found) == 10 * 4
    assert all(row["cluster_id"] < row["other_cluster_id"] for row in found)
    assert sum(row["is_reference"] for row in found) == 10


def test_two_clusters_by_the_exact_conditional_test(rows):
    """3 failures in 828 node-days over 1 in 3: a share of 3 in 4 where 0.996 is expected."""
    row = pair(rows, "large", "small")
    assert (row["failure_count"], row["node_days"]) == (3, 828.0)
    assert (row["other_failure_count"], row["other_node_days"]) == (1, 3.0)
    assert row["ratio"] == pytest.approx((3 / 828) / (1 / 3))
    assert (row["rate"], row["other_rate"]) == pytest.approx((3000 / 828, 1000 / 3))
    share = stats.binomtest(3, 4).proportion_ci(0.90, "exact")
    assert row["ratio_low"] == pytest.approx(share.low / (1 - share.low) * 3 / 828)
    assert row["ratio_high"] == pytest.approx(share.high / (1 - share.high) * 3 / 828)
    assert row["p_value"] == pytest.approx(2 * stats.binom.cdf(3, 4, 828 / 831))
    assert (row["event_count"], row["exposure"], row["method"]) == (4, 831.0, "conditional_binomial")
    assert row["is_reference"]


def test_attempts_that_share_an_incident_are_told(rows):
    row = pair(rows, "large", "small")
    assert row["note"].startswith("4 failed attempts were 3 incidents")
    assert pair(rows, "large", "small", counted_as="incidents")["failure_count"] == 2
    assert pair(rows, "large", "small", counted_as="incidents")["note"] is None


def test_no_failure_on_a_side_leaves_one_limit(rows):
    row = pair(rows, "large", "quiet")
    assert (row["ratio"], row["ratio_high"]) == (None, None)
    assert row["ratio_low"] > 0
    assert "no failure on the second side: the ratio has a lower limit only" in row["note"]


def test_without_exposure_or_knowledge_nothing_is_said(rows):
    for row, note in (
        (pair(rows, "empty", "large"), "no node-days on one side"),
        (pair(rows, "large", "untracked", "gpus_gt_128"), "unknown for one of them"),
    ):
        assert [row[name] for name in ("ratio", "ratio_low", "ratio_high", "p_value")] == [None] * 4
        assert row["method"] == "no_exposure"
        assert note in row["note"]


def test_neither_side_with_a_failure_is_no_ratio(rows):
    row = pair(rows, "large", "quiet", "gpus_gt_128")
    assert row["event_count"] == 2
    row = pair(rows, "quiet", "small", "gpus_gt_128")
    assert (row["method"], row["ratio_low"], row["p_value"]) == ("no_exposure", None, None)


def test_a_simulated_cluster_against_a_real_one_is_told(warehouse):
    with warehouse.writing() as con:
        con.execute("update marts.dim_clusters set is_simulated = true where cluster_id = 'large'")
    est_rate_ratios(warehouse=warehouse)
    (row,) = read(warehouse, "est_rate_ratios", cluster_id="large", other_cluster_id="small", is_reference=True)
    assert (row["is_simulated"], row["other_is_simulated"]) == (True, False)
    assert row["note"].startswith("a simulated cluster against a real one")
    (within,) = read(warehouse, "est_rate_ratios", cluster_id="large", comparison="halves", is_reference=True)
    assert "simulated" not in (within["note"] or "")


def test_the_later_half_over_the_earlier(rows):
    """60 days from 1 January: 8 incidents in the first 30, 2 + 14 in the second; attempts are twice as many."""
    (row,) = rows("est_rate_ratios", comparison="halves", cluster_id="large", counted_as="incidents")
    assert (row["boundary_date"], row["other_cluster_id"]) == (date(2026, 1, 31), "large")
    assert (row["failure_count"], row["other_failure_count"]) == (16, 8)
    assert (row["node_days"], row["other_node_days"]) == pytest.approx((414.0, 414.0))
    assert row["ratio"] == pytest.approx(16 / 8)
    assert row["p_value"] == pytest.approx(2 * stats.binom.sf(15, 24, 0.5))
    (attempts,) = rows("est_rate_ratios", comparison="halves", cluster_id="large", counted_as="attempts")
    assert (attempts["failure_count"], attempts["other_failure_count"]) == (32, 16)
    assert attempts["note"].startswith("48 failed attempts were 24 incidents")


def test_before_and_after_each_annotation(rows):
    found = rows("est_rate_ratios", comparison="annotation", cluster_id="large", counted_as="incidents")
    assert [(row["boundary_date"], row["annotation"]) for row in found] == [
        (date(2026, 1, 5), "new racks"),
        (date(2026, 2, 8), "driver 550"),
    ]
    assert (found[0]["other_failure_count"], found[0]["other_node_days"]) == (1, pytest.approx(4 * 13.8))
    assert found[1]["failure_count"] + found[1]["other_failure_count"] == 24


def test_a_cluster_without_days_has_its_halves_as_unknown(rows):
    for cluster_id in ("small", "quiet", "untracked", "empty"):
        for row in rows("est_rate_ratios", comparison="halves", cluster_id=cluster_id):
            assert [row[name] for name in ("boundary_date", "ratio", "p_value", "failure_count")] == [None] * 4
            assert (row["method"], row["note"]) == ("no_exposure", "no failure to compare by day")
    assert {row["note"] for row in rows("est_rate_ratios", comparison="annotation", cluster_id="quiet")} == {
        "no failure to compare by day"
    }


def test_the_last_30_days_over_the_30_before(rows, warehouse):
    """Of 60 days these are the two halves; with the 20 first days gone, the side before has ten days left."""
    (row,) = rows("est_rate_ratios", comparison="months", cluster_id="large", counted_as="incidents")
    assert (row["boundary_date"], row["other_cluster_id"]) == (date(2026, 1, 31), "large")
    assert (row["failure_count"], row["other_failure_count"]) == (16, 8)
    assert row["ratio"] == pytest.approx(16 / 8)
    with warehouse.writing() as con:
        con.execute("update marts.agg_failure_rates_daily set day_date = day_date - 40 where day_date < '2026-01-21'")
    est_rate_ratios(warehouse=warehouse)
    (row,) = read(warehouse, "est_rate_ratios", comparison="months", cluster_id="large", counted_as="attempts")
    assert (row["node_days"], row["other_node_days"]) == pytest.approx((414.0, 138.0))
