"""What must hold for estimates.est_ettr_grid: every ETTR between 0 and 1, and less of it where more fails."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.fitted import EVIDENCE
from assets.expectations.rules import columns, finite, no_finding, no_row, ratio, without_cluster

ROW = ("scenario", "gpu_count", "failures_per_1000_node_days", "checkpoint_minutes")
VALUES = ("ettr_expected", "ettr_expected_exact")


def expectations() -> list[Expectation]:
    """Return the suite."""
    rules = [
        columns(*ROW, "restart_minutes", "write_minutes", *VALUES, "ettr_target", *EVIDENCE),
        *(ratio(value, *ROW) for value in VALUES),
        finite((*VALUES, "checkpoint_minutes_longest"), *ROW),
        no_row(
            "values_there",
            "ettr_expected is null or ettr_expected_exact is null",
            ROW,
            "nothing is unknown where everything is assumed",
        ),
        no_row(
            "line_parts_the_grid",
            "checkpoint_minutes > checkpoint_minutes_longest * (1 + 1e-6) and ettr_expected_exact > ettr_target",
            (*ROW, "checkpoint_minutes_longest", "ettr_expected_exact"),
            "an interval beyond the line misses the target",
        ),
        no_finding("less_where_more_fails", LESS_WHERE_MORE_FAILS, "a higher failure rate never raises the ETTR"),
    ]
    return without_cluster(rules)


LESS_WHERE_MORE_FAILS = """
    select cluster_id, concat(
        scenario, ', ', gpu_count, ' GPUs, ', checkpoint_minutes, ' min: ', ettr_expected_exact, ' at ',
        failures_per_1000_node_days, ', ', at_lower_rate, ' at a lower rate'
    ) as finding
    from (
        select
            *,
            lag(ettr_expected_exact) over (
                partition by scenario, gpu_count, checkpoint_minutes order by failures_per_1000_node_days
            ) as at_lower_rate
        from {batch}
    )
    where ettr_expected_exact > at_lower_rate + 1e-9
    order by finding
"""
