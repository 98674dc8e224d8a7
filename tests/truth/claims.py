"""What is claimed of every simulated month, the capture and a real Slurm: one table."""

from __future__ import annotations

from tests.truth.scorer import Claim, share

SHOWN = Claim(
    "failures that the logs show", "failures", "is_visible", "is_published and (is_visible or not is_planted)",
    precision=0.95, recall=0.95,
)  # fmt: skip
CULPRITS = Claim(
    "culprit nodes", "failures", "is_published and is_visible", "is_published and is_visible and has_culprit",
    "is_published and is_visible and is_culprit", precision=0.95, recall=0.95,
)  # fmt: skip
SHOWN_CAUSES = Claim(
    "visible causes", "causes", "is_planted and kind = 'visible'", "is_published and kind = 'visible'", by="category",
    precision=0.9, recall=0.9, least=5, spare=1,
)  # fmt: skip
"""Of one failure in ten the cause may be wrong, and of less than ten one: that one is chance, not a broken rule."""
UNSEEN = "is_planted and not has_evidence"
WRONG_CAUSE = share(
    "... given a wrong cause",
    "failures",
    "is_published and failure_category not in ('node_fail_unattributed', true_category)",
    UNSEEN,
)
BLAMED = share(
    "ends of programs blamed on infrastructure", "attempts", "is_blamed", "is_end_of_program", least=101, at_most=0.005
)
FOUND = (
    # No attempt is lost or invented.
    Claim("attempts", "attempts", recovered="is_same_state", precision=1, recall=1),
    Claim("nodes of attempts", "attempt_nodes", precision=1, recall=1),
    SHOWN,
    Claim("all failures", "failures"),
    Claim(
        "failures with evidence, at p >= 0.5",
        "failures",
        "has_evidence",
        "is_probable and (has_evidence or not is_planted)",
    ),
    Claim(
        "failures with evidence, by the paper's rule",
        "failures",
        "has_evidence",
        "is_published and (has_evidence or not is_planted)",
    ),
    CULPRITS,
    # A switch's or a store's event strikes several nodes, each by a fault of its own: no precision is asked for.
    Claim("pairs of failures of one fault", "failure_pairs", "is_of_fault", recall=0.9, least=5, is_rare=True),
    Claim("pairs of failures of one incident", "failure_pairs", precision=0.9, recall=0.9, least=5, is_rare=True),
    Claim("preempted attempts", "preemptions", precision=1, recall=1),
    Claim(
        "instigators named by the log", "preemptions", "is_planted and is_named", "rule = 'named_in_log'",
        "rule = 'named_in_log' and is_right", precision=0.95, recall=0.95, least=5, is_rare=True,
    ),
    # Next to a named victim it is clear; else whichever started on the nodes is a guess, and mostly a good one.
    Claim(
        "instigators inferred", "preemptions", "is_planted and not is_named", "is_claimed and rule != 'named_in_log'",
        "rule != 'named_in_log' and not is_named and is_right", precision=0.8, recall=0.8,
    ),
    # A restart after a failure that the logs do not show, or later than the next job of a run may come, looks like any
    # other start: the recall of all depends on the users' habits, so it is asked for where a reader can know.
    Claim("second-order preemptions", "preemptions", "was_second_order", "is_second_order", precision=0.95),
    Claim(
        "second-order preemptions whose restart the logs show", "preemptions", "was_after_restart",
        "is_second_order and (was_after_restart or not was_second_order)", precision=0.95, recall=0.95,
    ),
    Claim("outages", "outages", recovered="is_recovered", precision=0.95, recall=0.95),
    Claim(
        "planned outages", "outages", "is_planted and is_planned", "is_published and is_planned",
        "is_recovered and is_planned", precision=0.95, recall=0.95,
    ),
    Claim(
        "links from attempt to attempt of a run", "attempts", "is_planted_link", "is_link", "is_same_link",
        precision=0.95, recall=0.9,
    ),
)  # fmt: skip
CAUSES = (
    SHOWN_CAUSES,
    Claim("true causes", "causes", "is_planted and kind = 'true'", "is_published and kind = 'true'", by="category"),
)
SHARES = (
    share("failures without evidence", "failures", "not has_evidence", "is_planted"),
    share("... not found", "failures", "not is_published", UNSEEN),
    WRONG_CAUSE,
    # Symptoms of two causes are one failure under the more telling of them, as the taxonomy ranks them.
    share(
        "failures that show as another cause", "failures", "visible_category != true_category", "has_evidence",
        least=21, at_most=0.1,
    ),
    BLAMED,
    share("false alarms that were blamed for one", "alarms", "is_blamed"),
    Claim(
        "incidents published, of incidents planted", "incidents", published=None, recovered="is_published",
        recall=0.95, at_most=1.05,
    ),
    share("published changes of rate that are at a planted one", "rate_changes", "is_met", "kind = 'published'"),
    share("planted changes of rate, by half or more, that were found", "rate_changes", "is_met", "kind = 'planted'"),
    share("runs with true productive time within the bounds", "job_runs", "is_within"),
    share("... on several nodes", "job_runs", "is_within", "node_count > 1", least=101, recall=0.95),
)  # fmt: skip
RATES = (
    share("r_f with 5 failures and more", "rates", "true_failure_count >= 5", recall=1),
    share("r_f whose interval holds what happened", "rates", "true_rate between low and high", recall=1, least=2),
    share(
        "r_f whose interval holds what was planted", "rates", "planted_rate between low and high",
        "planted_rate is not null", recall=1,
    ),
    share("r_f of the true node-days", "rates", "abs(node_days / true_node_days - 1) <= 0.05", recall=1),
)  # fmt: skip
SIMULATED = (*FOUND, *CAUSES, *SHARES, *RATES)
KNOWN_FAILURES = (SHOWN, CULPRITS, SHOWN_CAUSES)
"""What is claimed where only the failures are known."""
