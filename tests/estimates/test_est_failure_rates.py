"""Failure rates of the five clusters, worked out by hand."""

from functools import partial

import pytest

from assets.estimates.est_failure_rates import est_failure_rates
from tests.estimates.five_clusters import read

RATE = "failures_per_1000_node_days"


def rate_of(rows, cluster_id, population, counted_as="attempts"):
    (row,) = rows("est_failure_rates", cluster_id=cluster_id, population=population, counted_as=counted_as)
    return row


def test_every_cluster_has_its_four_rows_and_one_reference(rows):
    for cluster_id in ("large", "small", "quiet", "untracked", "empty"):
        found = rows("est_failure_rates", cluster_id=cluster_id)
        assert len(found) == 4
        assert sum(row["is_reference"] for row in found) == 1


def test_failures_and_node_days_of_attempts_above_128_gpus(rows):
    """2 failures in 320 + 160 + 320 node-days; 128 GPUs are not above 128, and what still runs is not counted."""
    row = rate_of(rows, "large", "gpus_gt_128")
    assert (row["failure_count"], row["node_days"]) == (2, 800.0)
    assert row[RATE] == pytest.approx(2.5)
    assert row[f"{RATE}_low"] == pytest.approx(0.3554 / 0.8, rel=1e-3)
    assert row[f"{RATE}_high"] == pytest.approx(6.2958 / 0.8, rel=1e-4)
    assert (row["event_count"], row["exposure"], row["exposure_unit"]) == (2, 800.0, "node-days")
    assert (row["confidence_level"], row["method"], row["note"]) == (0.9, "garwood", None)


def test_failures_that_share_an_incident_count_once_as_incidents(rows):
    assert rate_of(rows, "large", "gpus_gt_128", "incidents")["failure_count"] == 1
    assert rate_of(rows, "large", "all")["failure_count"] == 3
    row = rate_of(rows, "large", "all", "incidents")
    assert (row["failure_count"], row["node_days"]) == (2, 828.0)


def test_a_failure_without_an_incident_is_its_own(rows):
    assert rate_of(rows, "small", "all", "incidents")["failure_count"] == 1


def test_a_population_nobody_belongs_to_is_null_with_a_reason(rows):
    row = rate_of(rows, "small", "gpus_gt_128")
    assert [row[RATE], row[f"{RATE}_low"], row[f"{RATE}_high"]] == [None, None, None]
    assert (row["failure_count"], row["node_days"], row["method"]) == (0, 0.0, "no_exposure")
    assert row["note"] == "no finished attempt with more than 128 GPUs"
    assert rate_of(rows, "empty", "all")["note"] == "no finished attempt"


def test_the_reference_falls_back_on_all_attempts_where_large_jobs_never_failed(rows):
    assert rate_of(rows, "large", "gpus_gt_128")["is_reference"]
    for cluster_id in ("small", "quiet", "untracked", "empty"):
        assert rate_of(rows, cluster_id, "all")["is_reference"]


def test_without_failures_only_the_upper_limit_is_stated(rows):
    row = rate_of(rows, "quiet", "all")
    assert (row["failure_count"], row["node_days"], row[RATE], row[f"{RATE}_low"]) == (0, 105.0, None, 0.0)
    assert row[f"{RATE}_high"] == pytest.approx(1000 * 2.9957 / 105, rel=1e-4)
    assert row["method"] == "garwood_upper_limit"
    assert row["note"] == "no failure in 105 node-days: only the upper limit is known"


def test_an_unknown_gpu_count_is_neither_large_nor_small(rows):
    row = rate_of(rows, "quiet", "gpus_gt_128")
    assert row["node_days"] == 100.0
    assert row["note"].endswith("; finished attempts left out, GPU count unknown: 1")
    unknowable = rate_of(rows, "untracked", "gpus_gt_128")
    assert [unknowable[name] for name in ("failure_count", "node_days", RATE)] == [None, None, None]
    assert unknowable["note"] == "the GPU count of every attempt is unknown"
    assert rate_of(rows, "untracked", "all")[RATE] == pytest.approx(100.0)


def test_a_failure_of_unknown_node_days_does_not_raise_the_rate(warehouse):
    with warehouse.writing() as con:
        con.execute("insert into marts.fct_attempts by name select * replace (null as node_days, 'x' as attempt_id) "
                    "from marts.fct_attempts where cluster_id = 'small' and attempt_id = 'a1'")  # fmt: skip
    est_failure_rates(warehouse=warehouse)
    row = rate_of(partial(read, warehouse), "small", "all")
    assert (row["failure_count"], row["node_days"]) == (1, 3.0)
    assert row["note"] == "failures left out, node-days unknown: 1"


def test_a_failure_before_the_first_second_counts_and_adds_no_exposure(warehouse):
    with warehouse.writing() as con:
        con.execute("delete from marts.fct_attempts where cluster_id = 'small'")
        con.execute("insert into marts.fct_attempts "
                    "values ('small', 'a9', 'r9', true, true, null, 8, 8, 2, 0, 0.0, null, null)")  # fmt: skip
    est_failure_rates(warehouse=warehouse)
    row = rate_of(partial(read, warehouse), "small", "all")
    assert (row["failure_count"], row["node_days"], row[RATE]) == (1, 0.0, None)
    assert row["note"] == "the finished attempts add up to no node-days"


def test_without_evidence_the_rate_is_a_lower_bound_and_says_so(warehouse):
    with warehouse.writing() as con:
        con.execute("update marts.dim_clusters set has_health_checks = false where cluster_id = 'large'")
    est_failure_rates(warehouse=warehouse)
    for row in read(warehouse, "est_failure_rates", cluster_id="large"):
        assert row["note"].startswith("a lower bound, as only NODE_FAIL counts")
    others = read(warehouse, "est_failure_rates", cluster_id="small")
    assert not any("lower bound" in (row["note"] or "") for row in others)
