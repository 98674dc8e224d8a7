"""Failure rates of the five clusters, computed by hand."""

from functools import partial

import pytest
from scipy import special

from assets.estimates.est_failure_rates import est_failure_rates
from tests.estimates.five_clusters import read
from tests.homes import change
from tests.warehouses import insert

RATE = "failures_per_1000_node_days"


def rate_of(rows, cluster_id, population, counted_as="attempts"):
    (row,) = rows("est_failure_rates", cluster_id=cluster_id, population=population, counted_as=counted_as)
    return row


def test_what_still_runs_adds_what_it_ran_and_no_failure(redo):
    rows = redo(est_failure_rates, "update marts.fct_attempts set runtime_seconds = 10 * 86400 where not is_terminal")
    row = rate_of(rows, "large", "gpus_gt_128")
    assert (row["failure_count"], row["node_days"]) == (2, 1952.0)


def test_a_doubtful_failure_counts_as_often_as_it_is_one(redo):
    """One incident of 0.8 and 0.4: w = 0.8, m = 1.5; k = 1.2, V = 0.8 x 2.25 x 1.2 = 2.16; incidents 0.8 and 0.96."""
    rows = redo(
        est_failure_rates,
        "insert into marts.fct_failures (cluster_id, attempt_id, posterior_probability) "
        "values ('large', 'a2', 0.8), ('large', 'a3', 0.4)",
    )
    attempts, incidents = (rate_of(rows, "large", "gpus_gt_128", way) for way in ("attempts", "incidents"))
    assert (attempts["failure_count"], attempts["failure_variance"]) == pytest.approx((1.2, 2.16))
    assert (incidents["failure_count"], incidents["failure_variance"]) == pytest.approx((0.8, 0.96))
    assert attempts[f"{RATE}_low"] == pytest.approx(1.8 * special.gammaincinv(1.2 / 1.8, 0.05) / 0.8)
    assert rate_of(rows, "large", "gpus_gt_128", "attempts_paper")["failure_count"] == 2


def test_an_incident_strikes_each_of_its_culprits_once(warehouse):
    """Two attempts of one incident on one node are one; on two nodes two; an unknown node adds none to a known one."""

    def struck(culprits):
        with warehouse.writing() as con:
            con.execute("delete from marts.fct_failures where cluster_id = 'large' and attempt_id in ('a2', 'a3')")
            failures = [
                {"cluster_id": "large", "attempt_id": attempt, "culprit_node_id": culprit}
                for attempt, culprit in culprits.items()
            ]
            insert(con, "marts.fct_failures", failures)
        est_failure_rates(warehouse=warehouse)
        row = rate_of(partial(read, warehouse), "large", "nodes", "incidents")
        return row["failure_count"], row["failure_variance"], row["node_days"]

    assert struck({"a2": "n1", "a3": "n1"}) == (2, 2, 928)
    assert struck({"a2": "n1", "a3": "n2"}) == (3, 5, 928)
    assert struck({"a2": "n1", "a3": None}) == (2, 2, 928)
    assert struck({"a2": None, "a3": None}) == (2, 2, 928)


def test_the_reference_is_chosen_by_exposure_alone(warehouse):
    """300 node-days of large jobs, else of whole nodes, else the nodes; all where no attempt names its nodes."""

    def reference():
        est_failure_rates(warehouse=warehouse)
        found = read(warehouse, "est_failure_rates", is_reference=True)
        return {row["cluster_id"]: (row["population"], row["counted_as"]) for row in found}

    assert reference() == {
        "large": ("gpus_gt_128", "attempts"), "small": ("nodes", "incidents"), "quiet": ("nodes", "incidents"),
        "untracked": ("nodes", "incidents"), "empty": ("all", "attempts"),
    }  # fmt: skip
    change(
        warehouse,
        "update marts.fct_attempts set is_infrastructure_failure = false, runtime_seconds = runtime_seconds * 3",
        "update marts.fct_attempts set gpu_count = 128, gpu_size_bin = 128, node_count = 16 where cluster_id = 'large'",
        "delete from marts.fct_node_days where cluster_id = 'untracked'",
    )
    assert reference() == {
        "large": ("whole_nodes", "attempts"), "small": ("nodes", "incidents"), "quiet": ("gpus_gt_128", "attempts"),
        "untracked": ("all", "attempts"), "empty": ("all", "attempts"),
    }  # fmt: skip
    (row,) = read(warehouse, "est_failure_rates", cluster_id="untracked", population="nodes")
    assert (row["failure_count"], row["node_days"], row["note"]) == (None, None, "no attempt names its nodes")


def test_large_jobs_that_share_their_nodes_are_not_the_reference(redo, warehouse):
    """First one large job in nine shares its nodes, then all hold half of the GPUs of twice the nodes."""
    change(
        warehouse,
        "insert into marts.fct_attempts by name select * replace ('a8' as attempt_id, 64 as node_count) "
        "from marts.fct_attempts where cluster_id = 'large' and attempt_id = 'a1'",
    )
    rows = partial(read, warehouse)
    est_failure_rates(warehouse=warehouse)
    before = rate_of(rows, "large", "gpus_gt_128")
    rows = redo(
        est_failure_rates, "update marts.fct_attempts set node_count = gpu_count / 4 where cluster_id = 'large'"
    )
    (reference,) = rows("est_failure_rates", cluster_id="large", is_reference=True)
    assert (reference["population"], reference["counted_as"]) == ("nodes", "incidents")
    row = rate_of(rows, "large", "gpus_gt_128")
    assert row["failure_count"] == before["failure_count"]


def test_without_gpus_per_node_large_jobs_are_not_known_to_share(redo):
    rows = redo(est_failure_rates, "update marts.dim_clusters set gpus_per_node = null where cluster_id = 'large'")
    (reference,) = rows("est_failure_rates", cluster_id="large", is_reference=True)
    assert reference["population"] == "gpus_gt_128"


def test_a_failure_of_unknown_node_days_does_not_raise_the_rate(redo):
    rows = redo(
        est_failure_rates,
        "insert into marts.fct_attempts by name select * replace (null as node_count, 'x' as attempt_id) "
        "from marts.fct_attempts where cluster_id = 'small' and attempt_id = 'a1'",
    )
    row = rate_of(rows, "small", "all")
    assert (row["failure_count"], row["node_days"]) == (1, 3.0)
    assert row["note"] == "failures left out, node-days unknown: 1"


def test_a_failure_before_the_first_second_counts_and_adds_no_exposure(warehouse):
    with warehouse.writing() as con:
        con.execute("delete from marts.fct_attempts where cluster_id = 'small'")
        attempt = {"cluster_id": "small", "attempt_id": "a9", "run_id": "r9", "gpu_count": 8, "gpu_size_bin": 8}
        attempt |= {"is_terminal": True, "is_infrastructure_failure": True, "node_count": 2, "runtime_seconds": 0}
        insert(con, "marts.fct_attempts", [attempt | {"node_days": 0.0}])
    est_failure_rates(warehouse=warehouse)
    row = rate_of(partial(read, warehouse), "small", "all")
    assert (row["failure_count"], row["node_days"], row[RATE]) == (1, 0.0, None)
    assert row["note"] == "the attempts add up to no node-days"


@pytest.mark.parametrize(("low", "is_lower_bound"), [(0.95, False), (0.6, True), (None, True)])
def test_without_evidence_the_rate_is_a_lower_bound_unless_it_reaches_nearly_all(warehouse, low, is_lower_bound):
    change(warehouse, "update marts.dim_clusters set has_health_checks = false where cluster_id = 'large'")
    change(warehouse, "update estimates.est_evidence_reach set low = $1 where cluster_id = 'large'", values=[low])
    est_failure_rates(warehouse=warehouse)
    rows = read(warehouse, "est_failure_rates")
    bounds = {row["cluster_id"] for row in rows if row["is_lower_bound"]}
    assert ("large" in bounds, bounds - {"large"}) == (is_lower_bound, set())
    said = {row["cluster_id"] for row in rows if (row["note"] or "").startswith("a lower bound, as only NODE_FAIL")}
    assert said == {"large"}
