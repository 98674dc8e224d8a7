"""The negative control of the five clusters, worked out by hand."""

import pytest


def chance_of(rows, cluster_id, category="pcie"):
    (row,) = rows("est_attribution_chance", cluster_id=cluster_id, failure_category=category)
    return row


def test_chance_is_that_of_the_sizes_that_failed(rows):
    """10 of 100 attributed; by chance 1% of the 80 small and 10% of the 20 large ones: 2.8%."""
    row = chance_of(rows, "large")
    assert (row["attributed_count"], row["failed_count"]) == (10, 100)
    assert (row["coincidence_count"], row["completed_count"]) == (2, 110)
    assert row["attributed_ratio"] == pytest.approx(0.1)
    assert row["chance_ratio"] == pytest.approx(0.8 * 0.01 + 0.2 * 0.1)
    assert row["corrected_ratio"] == pytest.approx((0.1 - 0.028) / (1 - 0.028))
    assert row["credible_ratio"] == pytest.approx(row["corrected_ratio"] / 0.1)
    assert row["corrected_ratio_low"] < row["corrected_ratio"] < row["corrected_ratio_high"]
    assert (row["event_count"], row["exposure"], row["exposure_unit"]) == (10, 100.0, "attempts")
    assert (row["confidence_level"], row["method"], row["note"]) == (0.9, "abbott_mover", None)


def test_no_coincidence_seen_leaves_an_upper_limit(rows):
    row = chance_of(rows, "large", "ib_link")
    assert (row["chance_ratio"], row["chance_ratio_low"]) == (0.0, 0.0)
    assert row["chance_ratio_high"] == pytest.approx(2.9957 * 0.2 / 10, rel=1e-4)
    assert row["corrected_ratio"] == row["attributed_ratio"] == pytest.approx(0.02)
    assert row["corrected_ratio_low"] == 0.0


def test_sizes_without_a_control_are_told(rows):
    row = chance_of(rows, "small")
    assert row["attributed_ratio"] == pytest.approx(0.1)
    assert row["chance_ratio"] == 0.0
    assert row["note"] == "no control for the sizes of 75.0% of the failed attempts"


def test_without_any_control_chance_is_unknown(rows):
    row = chance_of(rows, "quiet")
    assert row["attributed_ratio"] == pytest.approx(0.2)
    assert [row[name] for name in ("chance_ratio", "corrected_ratio", "credible_ratio")] == [None, None, None]
    assert (row["method"], row["note"]) == ("no_control", "no attempt of these sizes COMPLETED: chance is unknown")


@pytest.mark.parametrize("cluster_id", ["untracked", "empty"])
def test_a_cluster_without_evidence_has_no_row(rows, cluster_id):
    assert rows("est_attribution_chance", cluster_id=cluster_id) == []
