"""A refresh of a simulated month gives back what was planted: failures, causes, culprits, instigators, rates."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from scipy.stats import binom

from tests.recovery.month import CLUSTERS, Comparison, compare
from tests.truth.claims import BLAMED, SHOWN, SHOWN_CAUSES, SIMULATED, WRONG_CAUSE
from tests.truth.scorer import Claim, missed

ASKED = tuple(claim for claim in SIMULATED if claim.is_asked)
ALARMS = "false alarms that were blamed for one"


@pytest.fixture(params=CLUSTERS)
def month(comparisons: dict[str, Comparison], request: pytest.FixtureRequest) -> Comparison:
    return comparisons[request.param]


@pytest.mark.parametrize("claim", ASKED, ids=lambda claim: claim.item)
def test_what_was_planted_comes_back(month: Comparison, claim: Claim) -> None:
    assert not missed([claim], month.measures)


@pytest.mark.parametrize("claim", [claim for claim in ASKED if claim.is_rare], ids=lambda claim: claim.item)
def test_what_is_rare_was_tried_on_a_cluster(comparisons: dict[str, Comparison], claim: Claim) -> None:
    assert tuple(comparisons) == CLUSTERS
    assert max(comparison.measure(claim.item).planted for comparison in comparisons.values()) >= claim.least


def test_few_causes_are_too_rare_to_be_judged(month: Comparison) -> None:
    # One lemon and one driver make most failures of the smaller cluster: few causes, but most of what failed.
    judged = [cause.planted for cause in month.measures[SHOWN_CAUSES.item] if cause.planted >= SHOWN_CAUSES.least]
    assert len(judged) >= 3
    assert sum(judged) > 0.6 * month.measure(SHOWN.item).planted


def test_what_left_no_evidence_is_given_a_wrong_cause_by_chance_only(comparisons: dict[str, Comparison]) -> None:
    for month in comparisons.values():
        wrong, blamed = month.measure(WRONG_CAUSE.item), month.measure(BLAMED.item)
        # By chance a check fails near any program's end: that often, and no more often, a cause may be wrong. Where
        # no program's end was blamed the rate is known only from above, and a single coincidence proves nothing.
        allowed = max(1, binom.ppf(0.999, wrong.planted, blamed.recall)) if wrong.planted else 0
        assert wrong.recovered <= allowed, wrong
    assert max(month.measure(WRONG_CAUSE.item).planted for month in comparisons.values()) >= 5


THIS = "where cluster_id = getvariable('cluster_id')"
INVENTED = f"""
    insert into marts.fct_failures by name
    select example.* replace (attempts.attempt_id as attempt_id, attempts.attempt_id as incident_id)
    from (from marts.fct_failures {THIS} limit 1) as example
    cross join (
        from marts.fct_attempts {THIS} and state = 'FAILED' and not is_infrastructure_failure limit 40
    ) as attempts
"""
OTHER_CAUSES = f"""
    update marts.fct_failures
    set failure_category = if(failure_category = 'ib_link', 'gpu_memory', 'ib_link')
    {THIS} and failure_category in ('ib_link', 'gpu_memory')
"""
OTHER_INSTIGATORS = f"""
    update marts.fct_preemptions
    set instigator_attempt_id = attempt_id, is_second_order = not is_second_order {THIS}
"""
SHIFTED = f"""
    update marts.fct_node_outages
    set started_at = started_at - interval 2 minute, is_planned = not is_planned {THIS} and hash(outage_id) % 2 = 0
"""
TOO_HIGH = """
    create table marts.runs_as_published as from marts.fct_job_runs;
    create or replace view marts.fct_job_runs as
    select * replace (scheduled_hours + 1 as productive_hours_low) from marts.runs_as_published
"""
ELSEWHERE = f"""
    update estimates.est_failure_rates set
        failures_per_1000_node_days_low = 3 * failures_per_1000_node_days_low,
        failures_per_1000_node_days_high = 3 * failures_per_1000_node_days_high {THIS}
"""
SPOILT = {
    "lost attempts": (f"delete from marts.fct_attempts {THIS} and job_id_raw % 10 = 0", "attempts"),
    "another state": (f"update marts.fct_attempts set state = 'FAILED' {THIS} and state = 'COMPLETED'", "attempts"),
    "lost failures": (f"delete from marts.fct_failures {THIS} and hash(attempt_id) % 3 = 0", SHOWN.item),
    "invented failures": (INVENTED, SHOWN.item),
    "ends of programs": (INVENTED, BLAMED.item),
    "swapped causes": (OTHER_CAUSES, SHOWN_CAUSES.item),
    "other nodes": (f"update marts.fct_failures set culprit_node_id = 'n' {THIS} and hash(attempt_id) % 2 = 0",
                    "culprit nodes"),
    "torn incidents": (f"update marts.fct_failures set incident_id = attempt_id {THIS}",
                       "pairs of failures of one fault"),
    "one heap": (f"update marts.fct_failures set incident_id = 'all' {THIS}", "pairs of failures of one incident"),
    "few incidents": (f"update marts.fct_failures set incident_id = 'all' {THIS}",
                      "incidents published, of incidents planted"),
    "other instigators": (OTHER_INSTIGATORS, "instigators named by the log"),
    "other guesses": (OTHER_INSTIGATORS, "instigators inferred"),
    "other orders": (OTHER_INSTIGATORS, "second-order preemptions"),
    "shifted outages": (SHIFTED, "outages"),
    "faults as plans": (SHIFTED, "planned outages"),
    "cut runs": (f"update marts.fct_attempts set previous_attempt_id = null {THIS} and hash(attempt_id) % 2 = 0",
                 "links from attempt to attempt of a run"),
    "bounds off the truth": (TOO_HIGH, "... on several nodes"),
    "a rate elsewhere": (ELSEWHERE, "r_f whose interval holds what happened"),
}  # fmt: skip
"""Statements that spoil a published file, and the claim that must notice."""


@pytest.fixture
def spoilt(many_clusters: Path, tmp_path: Path) -> Callable[[str], Path]:
    """A copy of the published file on which statements were run."""

    def run(statements: str) -> Path:
        copy = shutil.copy(many_clusters, tmp_path / "spoilt.duckdb")
        with duckdb.connect(str(copy)) as con:
            con.execute("set variable cluster_id = ?", [CLUSTERS[0]])
            con.execute(statements)
        return copy

    return run


@pytest.mark.parametrize(("statements", "item"), SPOILT.values(), ids=SPOILT)
def test_what_is_wrong_is_noticed(statements, item, spoilt, many_clusters_home):
    (claim,) = (claim for claim in ASKED if claim.item == item)
    measures = compare(spoilt(statements), many_clusters_home.root / "truth" / CLUSTERS[0], [claim]).measures
    assert missed([claim], measures)


def test_a_failure_laid_to_a_false_alarm_is_noticed(many_clusters, comparisons, many_clusters_home, tmp_path):
    truth = tmp_path / "truth"
    shutil.copytree(many_clusters_home.root / "truth" / CLUSTERS[0], truth)
    failures, faults = truth / "failures.parquet", truth / "faults.parquet"
    with duckdb.connect() as con:
        con.execute(f"create table failures as from '{failures}'")
        con.execute(f"create table faults as from '{faults}'")
        fault = con.execute("select fault_number from failures where visible_category = 'ib_link' limit 1").fetchone()
        con.execute("update faults set mechanism = 'alarm' where fault_number = ?", fault)
        con.execute("delete from failures where fault_number = ?", fault)
        con.execute(f"copy failures to '{failures}' (format parquet)")
        con.execute(f"copy faults to '{faults}' (format parquet)")
    changed, before = (found.measure(ALARMS) for found in (compare(many_clusters, truth), comparisons[CLUSTERS[0]]))
    assert (changed.recovered, changed.planted) == (before.recovered + 1, before.planted + 1)
