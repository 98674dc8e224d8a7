with

failures as (

    select
        failures.*,
        failures.ended_at - {{ seconds_interval('clusters.attribution_before_seconds') }} as window_start_at,
        failures.ended_at + {{ seconds_interval('clusters.attribution_after_seconds') }} as window_end_at
    from {{ ref('int_attempts_interrupted') }} as failures
    inner join {{ ref('stg_config__clusters') }} as clusters on failures.cluster_id = clusters.cluster_id
    where not failures.is_planned

),

evidence as (

    select * from {{ ref('int_attempt_end_evidence') }}
    where
        is_in_window
        and not is_control

),

checks as (

    select
        cluster_id,
        node_id,
        observed_at,
        unchanged_since,
        {{ quarter_hour('observed_at') }} as quarter_hour
    from {{ ref('stg_health__checks') }}
    where
        result_quality = 'ran'
        and node_id is not null

),

-- If there is evidence, the culprit is one of its nodes.
watched_nodes as (

    select distinct
        failures.cluster_id,
        failures.attempt_id,
        failures.window_start_at,
        failures.window_end_at,
        evidence.node_id
    from failures
    inner join evidence
        on
            failures.cluster_id = evidence.cluster_id
            and failures.attempt_id = evidence.attempt_id

    union all

    select
        cluster_id,
        attempt_id,
        window_start_at,
        window_end_at,
        {{ unnest_list(
            'case when culprit_node_id is null then node_ids else ' ~ list_literal(['culprit_node_id']) ~ ' end'
        ) }} as node_id
    from failures
    where evidence_count = 0

),

watched_days as (

    select distinct
        cluster_id,
        attempt_id,
        node_id,
        window_start_at,
        window_end_at,
        {{ unnest_list(list_literal(['cast(window_start_at as date)', 'cast(window_end_at as date)'])) }} as day_date
    from watched_nodes

),

-- Check results are by far the largest table: read them once, by the quarters of an hour that windows touch.
watched_quarter_hours as (

    select
        *,
        {{ unnest_integer_range(quarter_hour('window_start_at'), quarter_hour('window_end_at')) }} as quarter_hour
    from watched_nodes

)

select
    watched_quarter_hours.cluster_id,
    watched_quarter_hours.attempt_id,
    watched_quarter_hours.node_id
from watched_quarter_hours
inner join checks
    on
        watched_quarter_hours.cluster_id = checks.cluster_id
        and watched_quarter_hours.node_id = checks.node_id
        and watched_quarter_hours.quarter_hour = checks.quarter_hour
        and watched_quarter_hours.window_start_at <= checks.observed_at
        and watched_quarter_hours.window_end_at >= checks.observed_at
union
-- Only the ends of a day's stretch are kept: in between, a result came in every quarter of an hour.
select
    watched_days.cluster_id,
    watched_days.attempt_id,
    watched_days.node_id
from watched_days
inner join checks
    on
        watched_days.cluster_id = checks.cluster_id
        and watched_days.node_id = checks.node_id
        and watched_days.day_date = cast(checks.observed_at as date)
        and watched_days.window_start_at <= checks.observed_at
        and watched_days.window_end_at >= checks.unchanged_since
where checks.unchanged_since is not null
