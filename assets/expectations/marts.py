"""Rules for the tables of `marts`, in addition to those that follow from column names: completeness, plausibility."""

from __future__ import annotations

from assets.expectations.rules import Rule, no_finding, no_row, same_total

MAX_INFRASTRUCTURE_FAILURES = 0.2
MAX_COMPLETED_WITH_EVIDENCE = 0.01
MAX_ALLOCATED_RATIO = 1.05
"""Slurm notices node failures minutes late, so two jobs may seem to hold a GPU at once."""

LAST_DAY = "(to_at - if(known_by = 'log', 0, 1) * interval 1 second)::date"
"""A stated span that ends at midnight ends on the day before."""

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
"""

FAILURES_BELIEVABLE = f"""
    select cluster_id, concat(
        cluster_id, ': ', count(*) filter (is_infrastructure_failure), ' of ', count(*),
        ' attempts count as infrastructure failures'
    ) as finding
    from {{batch}}
    where is_terminal
    group by cluster_id
    having count(*) filter (is_infrastructure_failure) > {MAX_INFRASTRUCTURE_FAILURES} * count(*)
"""

# Events and attempts are joined by node and week: by node alone, a year of a large cluster makes 10^9 pairs; by day, an
# attempt of months takes hundreds of rows.
COMPLETED_WITH_EVIDENCE = f"""
    with evidence as (
        select distinct cluster_id, node_id, observed_at, date_trunc('week', observed_at) as week_date
        from {{batch}}
        where is_evidence
    ),

    completed as (
        select cluster_id, attempt_id, started_at, ended_at
        from marts.fct_attempts
        where state = 'COMPLETED' and started_at is not null and ended_at is not null
    ),

    placed as (
        select
            completed.*,
            nodes.node_id,
            unnest(
                generate_series(
                    date_trunc('week', completed.started_at), date_trunc('week', completed.ended_at), interval 7 day
                )
            ) as week_date
        from completed
        inner join marts.fct_attempt_nodes as nodes using (cluster_id, attempt_id)
    ),

    touched as (
        select placed.cluster_id, count(distinct placed.attempt_id) as attempt_count
        from placed
        inner join evidence using (cluster_id, node_id, week_date)
        where evidence.observed_at between placed.started_at and placed.ended_at
        group by placed.cluster_id
    )

    select
        cluster_id,
        concat(cluster_id, ': ', touched.attempt_count, ' of ', count(*), ' completed attempts') as finding
    from completed
    inner join touched using (cluster_id)
    group by cluster_id, touched.attempt_count
    having touched.attempt_count >= {MAX_COMPLETED_WITH_EVIDENCE} * count(*)
"""

RULES: dict[str, list[Rule]] = {
    "agg_failure_rates_daily": [
        no_finding("days_complete", DAYS_COMPLETE, "every day that accounting covers has its row"),
        same_total(
            "failures_reconcile",
            "select cluster_id, sum(failure_count) as total from {batch} group by 1",
            COVERED_FAILURES,
            "the days hold every failure of a day that accounting covers",
        ),
    ],
    "fct_attempts": [
        same_total(
            "records_complete",
            "select cluster_id, count(*) as total from {batch} group by cluster_id",
            "select cluster_id, count(*) as total from raw.sacct where disposition = 'loaded' group by cluster_id",
            "there are as many attempts as loaded accounting records",
        ),
        no_row(
            "ends_complete",
            "(is_terminal and not has_ended) or (has_ended and runtime_seconds is null)",
            ("attempt_id", "is_terminal", "has_ended", "runtime_seconds"),
            "terminal attempts have ended, and ended attempts have a runtime",
        ),
        no_row(
            "gpus_of_nodes",
            "gpu_count_source = 'refuted'",
            ("attempt_id", "job_id", "node_count", "source_path", "source_line_number"),
            "no job has more GPUs than its nodes; if one has, its GPUs count as unknown",
            warns=True,
        ),
        no_finding("failures_believable", FAILURES_BELIEVABLE, "infrastructure ends few of the attempts", warns=True),
    ],
    "fct_health_events": [
        no_finding(
            "completed_with_evidence",
            COMPLETED_WITH_EVIDENCE,
            f"under {MAX_COMPLETED_WITH_EVIDENCE:.0%} of completed attempts saw evidence, so evidence means something",
            warns=True,
        ),
    ],
    "fct_node_days": [
        no_row(
            "hours_within_day",
            "greatest(in_use_hours, study_hours, out_of_service_hours) > 24 + 1e-9",
            ("cluster_id", "node_id", "day_date", "in_use_hours", "study_hours", "out_of_service_hours"),
            "a day of a node has 24 hours at most",
        ),
        no_row(
            "allocated_within_day",
            f"allocated_gpu_hours > {MAX_ALLOCATED_RATIO} * 24 * gpu_count",
            ("cluster_id", "node_id", "day_date", "allocated_gpu_hours", "gpu_count"),
            "a node gives at most 24 hours of each GPU a day",
            warns=True,
        ),
    ],
    "fct_preemptions": [
        no_row(
            "not_of_itself",
            "attempt_id = instigator_attempt_id",
            ("attempt_id", "instigator_attempt_id"),
            "no attempt preempts itself",
        ),
    ],
}
