"""The comparison notices what is wrong: a spoilt copy of the published file gets worse numbers, and the right ones."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.recovery.comparison import Comparison, compare
from tests.recovery.month import CLUSTERS, Levels, Month
from tests.recovery.page import page

Spoil = Callable[[str], Comparison]
THIS = "where cluster_id = getvariable('cluster_id')"


@pytest.fixture
def spoil(many_clusters, many_clusters_home, tmp_path: Path) -> Spoil:
    """Give a function that runs statements on a copy of the published file and compares again."""
    truth = many_clusters_home.root / "truth" / CLUSTERS[0]

    def run(statements: str) -> Comparison:
        copy = tmp_path / "spoilt.duckdb"
        shutil.copy(many_clusters, copy)
        with duckdb.connect(str(copy)) as con:
            con.execute("set variable cluster_id = ?", [truth.name])
            con.execute(statements)
        return compare(copy, truth)

    return run


@pytest.fixture
def good(comparisons: dict[str, Comparison]) -> Comparison:
    return comparisons[CLUSTERS[0]]


def test_lost_attempts_are_noticed(spoil, good):
    score = spoil(f"delete from marts.fct_attempts {THIS} and job_id_raw % 10 = 0").score("attempts", "attempts")
    assert score.published == score.recovered < good.score("attempts", "attempts").published
    assert score.recall == pytest.approx(0.9, abs=0.02)


def test_another_state_is_no_recovery(spoil):
    changed = spoil(f"update marts.fct_attempts set state = 'FAILED' {THIS} and state = 'COMPLETED'")
    assert changed.score("attempts", "attempts").precision < 0.6


def test_lost_failures_cost_recall(spoil, good):
    changed = spoil(f"delete from marts.fct_failures {THIS} and hash(attempt_id) % 3 = 0")
    score = changed.score("failures", "failures that the logs show")
    assert score.recall < 0.85
    whole = good.score("failures", "failures that the logs show")
    assert score.published - score.recovered <= whole.published - whole.recovered
    assert score.precision >= 0.95


def test_what_is_improbable_is_no_longer_found_nor_wrong(spoil, good):
    item = "failures with evidence, at p >= 0.5"
    unlikely = spoil(f"update marts.fct_failures set posterior_probability = 0.4 {THIS} and hash(attempt_id) % 2 = 0")
    assert unlikely.score("attribution", item).recall < 0.7
    assert unlikely.score("attribution", item).precision >= good.score("attribution", item).precision - 0.05
    by_rule = "failures with evidence, by the paper's rule"
    assert unlikely.score("attribution", by_rule) == good.score("attribution", by_rule)


def test_an_invented_change_of_rate_is_at_no_planted_one(spoil, good):
    item = "published changes of rate that are at a planted one"
    changed = spoil(
        f"""
        insert into estimates.est_rate_changes by name
        select example.* replace (timestamp '2019-01-01' as changed_at)
        from (from estimates.est_rate_changes {THIS} and failure_category = 'all' limit 1) as example
        """
    )
    assert changed.share("rate_changes", item).total == good.share("rate_changes", item).total + 1
    assert changed.share("rate_changes", item).count == good.share("rate_changes", item).count


def test_invented_failures_cost_precision(spoil, good):
    changed = spoil(
        f"""
        insert into marts.fct_failures by name
        select example.* replace (attempts.attempt_id as attempt_id, attempts.attempt_id as incident_id)
        from (from marts.fct_failures {THIS} limit 1) as example
        cross join (
            from marts.fct_attempts {THIS} and state = 'FAILED' and not is_infrastructure_failure limit 40
        ) as attempts
        """
    )
    name = "failures that the logs show"
    assert changed.score("failures", name).precision < good.score("failures", name).precision - 0.1
    blamed = changed.share("blame", "ends of programs blamed on infrastructure")
    assert blamed.count >= good.share("blame", blamed.item).count + 30


def test_swapped_categories_cost_both(spoil, good):
    large = [score.item for score in good.scores["visible_causes"]][:2]
    changed = spoil(
        f"""
        update marts.fct_failures
        set failure_category = case failure_category when '{large[0]}' then '{large[1]}' else '{large[0]}' end
        {THIS} and failure_category in ('{large[0]}', '{large[1]}')
        """
    )
    for question in ("visible_causes", "true_causes"):
        for item in large:
            assert changed.score(question, item).precision < 0.1
            assert changed.score(question, item).recall < 0.1


def test_a_cause_for_what_left_no_evidence_is_noticed(spoil, good, many_clusters_home):
    failures = many_clusters_home.root / "truth" / CLUSTERS[0] / "failures.parquet"
    changed = spoil(
        f"""
        insert into marts.fct_failures by name
        select example.* replace (
            '{CLUSTERS[0]}:' || job_id_raw || ':' || submitted_epoch as attempt_id,
            'an invented cause' as failure_category
        )
        from (from marts.fct_failures {THIS} limit 1) as example
        cross join read_parquet('{failures}')
        where visible_category is null
        """
    )
    wrong = changed.share("unseen", "... given a wrong cause")
    assert wrong.count > good.share("unseen", wrong.item).count
    assert changed.share("unseen", "... not found").count < good.share("unseen", "... not found").count
    assert changed.score("failures", "failures that the logs show") == good.score(
        "failures", "failures that the logs show"
    )


def test_a_failure_laid_to_a_false_alarm_is_noticed(many_clusters, good, many_clusters_home, tmp_path):
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
    changed, alarms = compare(many_clusters, truth), "false alarms that were blamed for one"
    assert changed.share("blame", alarms).count == good.share("blame", alarms).count + 1
    assert changed.share("blame", alarms).total == good.share("blame", alarms).total + 1
    assert changed.score("failures", "failures that the logs show").precision < 1


def test_wrong_nodes_are_noticed(spoil):
    changed = spoil(f"update marts.fct_failures set culprit_node_id = 'elsewhere' {THIS} and hash(attempt_id) % 2 = 0")
    assert changed.score("culprits", "culprit nodes").recall < 0.7


def test_torn_incidents_cost_recall_and_heaps_cost_precision(spoil):
    torn = spoil(f"update marts.fct_failures set incident_id = attempt_id {THIS}")
    assert torn.score("incidents", "pairs of failures of one fault").recall == 0
    heap = spoil(f"update marts.fct_failures set incident_id = 'all' {THIS}")
    assert heap.score("incidents", "pairs of failures of one fault").precision < 0.1
    assert heap.share("incident_counts", "incidents published, of incidents planted").ratio < 0.1


def test_wrong_instigators_are_noticed(spoil):
    changed = spoil(
        f"""
        update marts.fct_preemptions
        set instigator_attempt_id = attempt_id, is_second_order = not is_second_order
        {THIS}
        """
    )
    assert changed.score("instigators", "instigators named by the log").recall == 0
    assert changed.score("instigators", "instigators inferred").recall == 0
    assert changed.score("instigators", "second-order preemptions").precision < 0.2


def test_shifted_outages_are_not_recovered(spoil):
    changed = spoil(
        f"""
        update marts.fct_node_outages
        set started_at = started_at - interval 2 minute, is_planned = not is_planned
        {THIS} and hash(outage_id) % 2 = 0
        """
    )
    assert 0.3 < changed.score("outages", "outages").recall < 0.7
    assert changed.score("outages", "planned outages").precision < 0.5


def test_cut_runs_are_noticed(spoil):
    changed = spoil(f"update marts.fct_attempts set previous_attempt_id = null {THIS} and hash(attempt_id) % 2 = 0")
    assert changed.score("job_runs", "links from attempt to attempt of a run").recall < 0.6


def test_bounds_beside_the_truth_are_noticed(spoil):
    changed = spoil(
        """
        create table marts.runs_as_published as from marts.fct_job_runs;
        create or replace view marts.fct_job_runs as
        select * replace (scheduled_hours + 1 as productive_hours_low) from marts.runs_as_published
        """
    )
    assert changed.share("productive_time", "... on several nodes").ratio == 0


def test_a_rate_elsewhere_does_not_hold(spoil):
    changed = spoil(
        f"""
        update estimates.est_failure_rates set
            failures_per_1000_node_days_low = 3 * failures_per_1000_node_days_low,
            failures_per_1000_node_days_high = 3 * failures_per_1000_node_days_high
        {THIS}
        """
    )
    for rate in changed.rates:
        assert not rate.holds(rate.true_rate)


def test_the_page_says_what_was_simulated(comparisons):
    levels = Levels(seed=7, scale=0.5)
    text = page(Month(seed=7), comparisons.values(), levels, list(comparisons.values()), ["## A question\n"])
    assert "## A question\n" in text
    assert "python -m tests.recovery --write docs/recovery.md --seed 7 --levels-scale 0.5\n" in text
    assert f"| `{CLUSTERS[0]}` | `{CLUSTERS[1]}` |" in text
    for comparison in comparisons.values():
        assert f"## Cluster `{comparison.planted['cluster_id']}` (simulated)" in text
        assert f"{comparison.planted['attempt_count']:,} attempts" in text
        for score in comparison.scores["visible_causes"]:
            assert f"| {score.item} | {score.planted:,} | {score.published:,} |" in text
