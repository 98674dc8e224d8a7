"""What must hold for marts.fct_failures: believable times, explained attribution, possible losses."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, no_finding, no_row, not_negative

ROW = ("attempt_id",)


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *("cluster_id", "attempt_id", "failed_at", "failure_category", "attribution_rule", "is_attributed"),
            *("has_coverage", "culprit_node_id", "evidence_count", "incident_id", "lost_gpu_hours"),
        ),
        believable_time("failed_at", *ROW),
        not_negative("evidence_count", *ROW),
        not_negative("lost_gpu_hours", *ROW),
        no_row(
            "attribution_explained",
            "is_attributed and (failure_category is null or attribution_rule is null)",
            (*ROW, "failure_category", "attribution_rule"),
            "an attributed failure has a category and the rule that gave it",
        ),
        no_finding("loss_bounded", LOSS_BOUNDED, "a failure loses at most the GPU time its attempt used"),
    ]


LOSS_BOUNDED = """
    select
        cluster_id,
        concat('attempt_id ', attempt_id, ', lost_gpu_hours ', lost_gpu_hours, ', gpu_hours ', gpu_hours) as finding
    from {batch} as failures
    inner join marts.fct_attempts as attempts using (cluster_id, attempt_id)
    where failures.lost_gpu_hours > attempts.gpu_hours * (1 + 1e-9) + 1e-9
    order by finding
"""
