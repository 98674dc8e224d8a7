"""The rate by job size: planted fleets with a known exponent, and clusters that cannot tell."""

import pytest

from assets.estimates.est_scale_tests import est_scale_tests
from tests.estimates.five_clusters import read
from tests.homes import change

# Attempts of 1, 4, 16 and 64 nodes for one day each; every n-th fails. As many on one GPU, which all fail.
FLEET = """
insert into marts.dim_clusters (cluster_id, is_simulated, gpus_per_node, gpu_count) values ('fleet', false, 8, 4096);
insert into marts.fct_attempts by name
select
    'fleet' as cluster_id, nodes || ':' || i as attempt_id, true as is_terminal, i % every = 0 as
    is_infrastructure_failure, nodes * 8 as gpu_count, nodes * 8 as gpu_size_bin, nodes as node_count,
    86400 as runtime_seconds, nodes::double as node_days,
    timestamp '2026-02-01' as started_at, timestamp '2026-02-02' as ended_at
from (values {sizes}) sizes(nodes, every, attempts), range(1, attempts + 1) attempts(i)
union all by name
select
    'fleet' as cluster_id, 'x' || i as attempt_id, true as is_terminal, true as is_infrastructure_failure,
    1 as gpu_count, 1 as gpu_size_bin, 1 as node_count, 86400 as runtime_seconds, 1.0::double as node_days,
    timestamp '2026-02-01' as started_at, timestamp '2026-02-02' as ended_at
from range(50) attempts(i);
"""


def verdict_of(warehouse, sizes):
    change(warehouse, FLEET.format(sizes=sizes))
    est_scale_tests(warehouse=warehouse)
    (row,) = read(warehouse, "est_scale_tests", cluster_id="fleet")
    return row


def test_a_rate_that_is_the_same_at_every_size_is_constant(warehouse):
    """One failure in 64 node-days at every size: 1,600 failures in all; the 50 of a single GPU are left out."""
    row = verdict_of(warehouse, "(1, 64, 25600), (4, 16, 6400), (16, 4, 1600), (64, 1, 400)")
    assert (row["verdict"], row["is_equivalent"], row["size_count"]) == ("constant", True, 4)
    assert row["beta"] == pytest.approx(0.0, abs=1e-9)
    assert -0.05 < row["beta_low"] < 0 < row["beta_high"] < 0.05
    assert (row["event_count"], row["exposure"], row["exposure_unit"]) == (1600, 102_400.0, "node-days")
    assert (row["node_count_min"], row["node_count_max"]) == (1.0, 64.0)
    assert row["dispersion"] == pytest.approx(0.0, abs=1e-9)
    assert (row["method"], row["note"], row["population"]) == ("poisson_profile", None, "whole_nodes")


def test_a_rate_that_grows_with_the_root_of_the_size_says_so(warehouse):
    """1, 2, 4 and 8 failures in 128 node-days."""
    row = verdict_of(warehouse, "(1, 128, 25600), (4, 16, 6400), (16, 2, 1600), (64, 1, 0)")
    assert row["beta"] == pytest.approx(0.5)
    assert (row["verdict"], row["is_equivalent"]) == ("grows", False)
    assert row["p_value"] < 1e-6


def test_failures_that_share_incidents_or_are_uncertain_widen_the_limits(redo, warehouse):
    """The same counts in incidents of four attempts, each of 0.5: phi is 4 x (2 - 0.5) = 6, and half of them count."""
    alone = verdict_of(warehouse, "(1, 64, 25600), (4, 16, 6400), (16, 4, 1600), (64, 1, 400)")
    rows = redo(
        est_scale_tests,
        "insert into marts.fct_failures (cluster_id, attempt_id, posterior_probability) "
        "select cluster_id, attempt_id, 0.5 from marts.fct_attempts where cluster_id = 'fleet'",
        "update marts.fct_attempts as attempts set incident_id = numbered.incident_id "
        "from (select attempt_id, node_count || ' ' || (row_number() over ("
        "partition by node_count order by attempt_id) - 1) // 4 as incident_id from marts.fct_attempts "
        "where cluster_id = 'fleet' and is_infrastructure_failure) as numbered "
        "where attempts.cluster_id = 'fleet' and attempts.attempt_id = numbered.attempt_id",
    )
    (row,) = rows("est_scale_tests", cluster_id="fleet")
    assert (alone["incident_dispersion"], row["incident_dispersion"]) == pytest.approx((1.0, 6.0))
    assert (row["event_count"], row["method"], row["verdict"]) == (800, "quasi_poisson", "cannot tell")
    assert row["beta_high"] == pytest.approx(alone["beta_high"] * 12**0.5, rel=0.05)


def test_unknown_gpus_per_node_leave_every_size_unknown(redo):
    rows = redo(est_scale_tests, "update marts.dim_clusters set gpus_per_node = null where cluster_id = 'large'")
    (row,) = rows("est_scale_tests", cluster_id="large")
    assert (row["verdict"], row["size_count"]) == ("cannot tell", 0)
    assert row["note"].startswith("GPUs per node unknown")
    assert (row["event_count"], row["exposure"]) == (None, None)


def test_an_attempt_of_unknown_nodes_is_left_out_and_told_of(redo):
    rows = redo(
        est_scale_tests, "update marts.fct_attempts set node_count = null, node_days = null where cluster_id = 'quiet'"
    )
    (row,) = rows("est_scale_tests", cluster_id="quiet")
    assert (row["event_count"], row["exposure"], row["size_count"]) == (None, None, 0)
    assert row["note"].startswith("no attempt has both known GPUs and known nodes")
