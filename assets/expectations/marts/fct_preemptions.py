"""What must hold for marts.fct_preemptions: believable times, possible losses, no attempt that preempts itself."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, no_row, not_negative


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *("cluster_id", "attempt_id", "preempted_at", "instigator_attempt_id", "is_inferred"),
            *("is_second_order", "lost_gpu_hours"),
        ),
        believable_time("preempted_at", "attempt_id"),
        not_negative("lost_gpu_hours", "attempt_id"),
        no_row(
            "not_of_itself",
            "attempt_id = instigator_attempt_id",
            ("attempt_id", "instigator_attempt_id"),
            "no attempt preempts itself",
        ),
    ]
