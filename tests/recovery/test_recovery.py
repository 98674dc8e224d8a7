"""A refresh of a simulated month gives back what was planted: failures, causes, culprits, instigators, rates."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from tests.recovery.comparison import Comparison, Score
from tests.recovery.month import CLUSTERS

ENOUGH = 5
"""Failures of a category from which on its precision and recall say something."""


@pytest.fixture(params=CLUSTERS)
def month(comparisons: dict[str, Comparison], request: pytest.FixtureRequest) -> Comparison:
    return comparisons[request.param]


def assert_recovered(score: Score, precision: float, recall: float) -> None:
    assert score.planted > 0, f"nothing was planted, so nothing was tried: {score}"
    assert (score.precision or 0) >= precision, score
    assert (score.recall or 0) >= recall, score


def assert_recovered_or_absent(score: Score, precision: float, recall: float) -> None:
    """Ask for nothing where nothing was planted; `test_what_is_rare_was_tried` asks for it on some cluster."""
    if score.planted:
        assert_recovered(score, precision, recall)
    else:
        assert score.published == 0, score


def assert_mostly(part: int, whole: int, score: Score) -> None:
    """Allow one in ten to be wrong, and of less than ten one: that one is chance, not a broken rule."""
    assert whole - part <= max(1, 0.1 * whole), score


def test_every_cluster_is_tried(comparisons):
    assert tuple(comparisons) == CLUSTERS


def test_what_is_rare_was_tried(comparisons):
    # A small cluster may have no fault that ends several attempts, none without evidence, no log that names anybody.
    rare = (
        ("incidents", "pairs of failures of one fault"),
        ("incidents", "pairs of failures of one incident"),
        ("instigators", "instigators named by the log"),
    )
    for question, item in rare:
        assert max(comparison.score(question, item).planted for comparison in comparisons.values()) >= ENOUGH, item
    assert (
        max(comparison.share("unseen", "... given a wrong cause").total for comparison in comparisons.values())
        >= ENOUGH
    )


@pytest.mark.parametrize("item", ["attempts", "nodes of attempts"])
def test_no_attempt_is_lost_or_invented(month, item):
    score = month.score("attempts", item)
    assert score.published == score.planted == score.recovered > 0


def test_failures_that_left_evidence_are_found(month):
    assert_recovered(month.score("failures", "failures that the logs show"), 0.95, 0.95)


def test_their_causes_are_found(month):
    scores = [score for score in month.scores["visible_causes"] if score.planted >= ENOUGH]
    # One lemon and one driver make most failures of the smaller cluster: few causes, but most of what failed.
    assert len(scores) >= 3
    assert sum(score.planted for score in scores) > 0.6 * month.score("failures", "failures that the logs show").planted
    for score in scores:
        assert_mostly(score.recovered, score.published, score)
        assert_mostly(score.recovered, score.planted, score)


def test_few_failures_show_as_another_cause(month):
    # Symptoms of two causes are one failure under the more telling of them, as the taxonomy ranks them.
    shadowed = month.share("unseen", "failures that show as another cause")
    assert shadowed.total > 20
    assert shadowed.ratio <= 0.1, shadowed


def test_culprits_are_found(month):
    assert_recovered(month.score("culprits", "culprit nodes"), 0.95, 0.95)


def test_what_left_no_evidence_is_given_no_cause(month):
    wrong = month.share("unseen", "... given a wrong cause")
    # By chance a check fails beside any program's end: that often, and no more often, a cause may be wrong. Where no
    # program's end was blamed the rate is known only from above, and a single coincidence proves nothing.
    by_chance = month.share("blame", "ends of programs blamed on infrastructure").ratio
    assert wrong.count <= (max(1, binom.ppf(0.999, wrong.total, by_chance)) if wrong.total else 0), wrong


def test_ends_of_programs_are_not_blamed_on_infrastructure(month):
    blamed = month.share("blame", "ends of programs blamed on infrastructure")
    assert blamed.total > 100
    assert blamed.ratio <= 0.005, blamed


def test_failures_of_one_incident_are_kept_together_and_others_apart(month):
    assert_recovered_or_absent(month.score("incidents", "pairs of failures of one incident"), 0.9, 0.9)
    counts = month.share("incident_counts", "incidents published, of incidents planted")
    assert counts.ratio == pytest.approx(1, abs=0.05), counts


def test_failures_of_one_fault_are_never_split(month):
    # Precision is not asked for: a switch's event strikes several nodes, each of them by a fault of its own.
    score = month.score("incidents", "pairs of failures of one fault")
    assert score.recovered >= 0.9 * score.planted, score


@pytest.mark.parametrize(
    ("item", "least"),
    [
        ("preempted attempts", 1.0),
        # Beside a named victim it is clear; else whoever started on the nodes is a guess, and mostly a good one.
        ("instigators inferred", 0.8),
    ],
)
def test_instigators_are_found(month, item, least):
    assert_recovered(month.score("instigators", item), least, least)


def test_instigators_that_the_log_names_are_taken_over(month):
    assert_recovered_or_absent(month.score("instigators", "instigators named by the log"), 0.95, 0.95)


def test_second_order_preemptions_are_found(month):
    # A restart after a failure that the logs do not show, or later than the next job of a run may come, looks like any
    # other start: the recall of all depends on the users' habits, so it is asked for where a reader can know.
    assert (month.score("instigators", "second-order preemptions").precision or 0) >= 0.95
    assert_recovered(month.score("instigators", "... for a restart that the logs show"), 0.95, 0.95)


@pytest.mark.parametrize("item", ["outages", "planned outages"])
def test_outages_are_found(month, item):
    assert_recovered(month.score("outages", item), 0.95, 0.95)


def test_runs_are_put_together(month):
    assert_recovered(month.score("job_runs", "links from attempt to attempt of a run"), 0.95, 0.9)


def test_true_productive_time_lies_within_its_bounds(month):
    within = month.share("productive_time", "... on several nodes")
    assert within.total > 100
    assert within.ratio >= 0.95, within


@pytest.mark.parametrize("population", ["all", "gpus_gt_128"])
def test_the_failure_rate_that_happened_is_inside_the_interval(month, population):
    rate = month.rate(population)
    assert rate.true_failure_count >= ENOUGH
    assert rate.holds(rate.true_rate), rate
    assert rate.node_days == pytest.approx(rate.true_node_days, rel=0.05)


def test_the_planted_failure_rate_is_inside_the_interval(month):
    rate = month.rate("gpus_gt_128")
    assert rate.planted_rate is not None
    assert rate.holds(rate.planted_rate), rate
