"""What must hold for marts.fct_health_events: believable times, and evidence that healthy work rarely shows."""

from __future__ import annotations

from great_expectations.expectations.expectation import Expectation

from assets.expectations.rules import believable_time, columns, no_finding

MAX_COMPLETED_WITH_EVIDENCE = 0.01


def expectations() -> list[Expectation]:
    """Return the suite."""
    return [
        columns(
            *("cluster_id", "event_id", "node_id", "observed_at", "source", "check_name", "code"),
            *("failure_category", "severity", "is_evidence"),
        ),
        believable_time("observed_at", "event_id"),
        no_finding(
            "completed_with_evidence",
            COMPLETED_WITH_EVIDENCE,
            f"under {MAX_COMPLETED_WITH_EVIDENCE:.0%} of completed attempts saw evidence, so evidence means something",
            warns=True,
        ),
    ]


# Events and attempts meet per node and week: on the node alone a year of a large cluster makes 10^9 pairs, and by the
# day an attempt of months takes hundreds of rows.
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
    order by cluster_id
"""
