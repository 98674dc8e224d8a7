"""What must hold for marts.agg_failure_rates_daily: possible rates, each covered day once, and the failures listed."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import columns, finite, no_finding, no_row, not_negative, same_total

ROW = ("cluster_id", "day_date", "failure_category")
RATE = "failures_per_1000_node_days_30d"


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(*ROW, "failure_count", "node_days", RATE),
        not_negative("failure_count", *ROW),
        not_negative("node_days", *ROW),
        not_negative(RATE, *ROW),
        finite((RATE, "node_days"), *ROW),
        no_row(
            "rate_needs_exposure",
            f"{RATE} is not null and coalesce(node_days_30d, 0) = 0",
            (*ROW, RATE, "node_days_30d"),
            "a rate rests on node-days",
        ),
        no_finding("days_complete", DAYS_COMPLETE, "every day that accounting covers has its row"),
        same_total(
            "failures_reconcile",
            "select cluster_id, sum(failure_count) as total from {batch} group by 1",
            COVERED_FAILURES,
            "the days hold every failure of a day that accounting covers",
        ),
    ]


LAST_DAY = "(to_at - if(known_by = 'log', 0, 1) * interval 1 second)::date"
"""What is said to go until midnight ends on the day before."""
COVERED_FAILURES = f"""
    select cluster_id, count(*) as total
    from marts.fct_failures as failures
    where exists (
        from ops.spans
        where spans.cluster_id = failures.cluster_id and spans.kind = 'sacct'
            and failures.failed_at::date between from_at::date and {LAST_DAY}
    )
    group by cluster_id
"""
DAYS_COMPLETE = f"""
    select cluster_id, concat(
        cluster_id, ' ', failure_category, ': ', day_count, ' rows from ', first_date, ' to ', last_date
    ) as finding
    from (
        select
            cluster_id, failure_category, count(*) as day_count, min(day_date) as first_date, max(day_date) as last_date
        from {{batch}}
        group by cluster_id, failure_category
    ) as series
    where day_count <> (
        select count(distinct days.covered_date)
        from (
            select
                cluster_id,
                unnest(generate_series(from_at::date, {LAST_DAY}, interval 1 day))::date as covered_date
            from ops.spans where kind = 'sacct'
        ) as days
        where days.cluster_id = series.cluster_id and days.covered_date between series.first_date and series.last_date
    )
    order by finding
"""
