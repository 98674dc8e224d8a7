"""What must hold for marts.fct_attempts: every accounting record arrived, with possible durations and sizes."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, in_order, no_finding, no_row, not_negative, same_total

ROW = ("attempt_id",)


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *("cluster_id", "attempt_id", "job_id", "submitted_at", "started_at", "ended_at", "queue_seconds"),
            *("runtime_seconds", "node_count", "gpu_count", "gpu_hours", "node_days", "state", "has_ended"),
            *("is_terminal", "is_infrastructure_failure", "failure_category"),
        ),
        same_total(
            "records_complete",
            "select cluster_id, count(*) as total from {batch} group by cluster_id",
            "select cluster_id, count(*) as total from raw.sacct where disposition = 'loaded' group by cluster_id",
            "there are as many attempts as loaded accounting records",
        ),
        not_negative("runtime_seconds", *ROW),
        not_negative("queue_seconds", *ROW),
        not_negative("gpu_count", *ROW),
        not_negative("gpu_hours", *ROW),
        not_negative("node_days", *ROW),
        in_order("submitted_at", "started_at", *ROW),
        in_order("started_at", "ended_at", *ROW),
        no_row(
            "ends_complete",
            "(is_terminal and not has_ended) or (has_ended and runtime_seconds is null)",
            (*ROW, "is_terminal", "has_ended", "runtime_seconds"),
            "what is over has ended, and what has ended has a runtime",
        ),
        believable_time("ended_at", *ROW),
        no_finding("failures_believable", FAILURES_BELIEVABLE, "infrastructure ends few of the attempts", warns=True),
    ]


MAX_INFRASTRUCTURE_FAILURES = 0.2

FAILURES_BELIEVABLE = f"""
    select cluster_id, concat(
        cluster_id, ': ', count(*) filter (is_infrastructure_failure), ' of ', count(*),
        ' attempts count as infrastructure failures'
    ) as finding
    from {{batch}}
    where is_terminal
    group by cluster_id
    having count(*) filter (is_infrastructure_failure) > {MAX_INFRASTRUCTURE_FAILURES} * count(*)
    order by cluster_id
"""
