"""What must hold for marts.agg_lost_goodput: possible losses."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, finite, no_finding, not_negative

ROW = ("cluster_id", "gpu_size_bin")


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "first_order_gpu_hours", "second_order_gpu_hours"),
        not_negative("first_order_gpu_hours", *ROW),
        not_negative("second_order_gpu_hours", *ROW),
        finite(("first_order_gpu_hours", "second_order_gpu_hours"), *ROW),
        no_finding(
            "at_most_half_a_checkpoint_interval",
            """
            select
                cluster_id,
                concat(cluster_id, ' ', gpu_size_bin, ': ', first_order_gpu_hours, ' hours by ', failure_count,
                ' failures, ', second_order_gpu_hours, ' by ', second_order_count, ' preemptions') as finding
            from {batch}
            inner join marts.dim_clusters using (cluster_id)
            where first_order_gpu_hours > checkpoint_minutes / 120 * gpu_size_bin * failure_count + 1e-6
                or second_order_gpu_hours > checkpoint_minutes / 120 * gpu_size_bin * second_order_count + 1e-6
            """,
            "nothing loses more of its GPUs' time than half the configured checkpoint interval",
        ),
    ]
