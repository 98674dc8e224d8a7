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


def test_windows_count_failed_attempts_of_all_causes_once(rows):
    (row,) = rows("est_attribution_windows", cluster_id="large", is_configured=True)
    assert (row["before_seconds"], row["after_seconds"]) == (600, 300)
    assert (row["attributed_count"], row["failed_count"], row["coincidence_count"]) == (12, 100, 2)
    assert row["attributed_ratio"] == pytest.approx(0.12)


def test_a_wider_window_has_a_row_of_its_own(rows):
    (row,) = rows("est_attribution_windows", cluster_id="large", before_seconds=1200)
    assert row["is_configured"] is False
    assert (row["attributed_count"], row["coincidence_count"]) == (12, 3)
    assert row["chance_ratio"] == pytest.approx(0.8 * 0.02 + 0.2 * 0.1)


@pytest.mark.parametrize("cluster_id", ["untracked", "empty"])
def test_a_cluster_without_evidence_says_so(rows, cluster_id):
    (row,) = rows("est_attribution_windows", cluster_id=cluster_id)
    assert (row["before_seconds"], row["after_seconds"], row["is_configured"]) == (600, 300, True)
    assert [row[name] for name in ("attributed_count", "attributed_ratio", "chance_ratio", "exposure")] == [None] * 4
    assert row["method"] == "no_evidence"
    assert row["note"] == "no evidence of a fault in the logs: attribution by evidence is impossible"
    assert rows("est_attribution_chance", cluster_id=cluster_id) == []
