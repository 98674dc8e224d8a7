{{ config(post_hook='{{ name_tables_by_schema() }}') }}

with

attempts as (

    select * from {{ name_table(ref('fct_attempts'), by_schema) }}
    where started_at is not null

),

clusters as (

    select
        cluster_id,
        gpus_per_node,
        study_from_at,
        study_to_at
    from {{ name_table(ref('dim_clusters'), by_schema) }}

),

failures as (

    select * from {{ name_table(ref('fct_failures'), by_schema) }}

),

observed as (

    select
        attempts.*,
        clusters.gpus_per_node,
        clusters.study_from_at,
        clusters.study_to_at,
        coalesce(
            attempts.ended_at,
            attempts.started_at
            + {{ seconds_interval('attempts.exposure_seconds + coalesce(attempts.suspended_seconds, 0)') }}
        ) as observed_until_at
    from attempts
    inner join clusters on attempts.cluster_id = clusters.cluster_id

),

-- Suspended time is no exposure and nobody records when it was: it is spread evenly over the attempt.
clipped as (

    select
        *,
        {{ seconds_between('started_at', 'observed_until_at') }} as observed_seconds,
        greatest(0, coalesce({{ seconds_between('started_at', 'study_from_at') }}, 0)) as unseen_seconds,
        least(
            {{ seconds_between('started_at', 'observed_until_at') }},
            {{ seconds_between('started_at', 'study_to_at') }}
        ) as seen_until_seconds
    from observed

),

shares as (

    select
        *,
        case
            when observed_seconds > 0 then least(unseen_seconds, observed_seconds) / observed_seconds else 0
        end as entry_share,
        case
            when observed_seconds > 0 then greatest(seen_until_seconds, 0) / observed_seconds else 1
        end as exit_share
    from clipped

),

exposed as (

    select
        *,
        exposure_seconds * entry_share as entry_seconds,
        exposure_seconds * greatest(exit_share, entry_share) as exit_seconds
    from shares

)

select
    exposed.cluster_id,
    exposed.attempt_id,
    exposed.state,
    exposed.gpu_count,
    exposed.node_count,
    exposed.gpu_size_bin,
    case
        when exposed.gpus_per_node > 0 then exposed.gpu_count >= exposed.node_count * exposed.gpus_per_node
    end as is_whole_node,
    exposed.entry_seconds,
    exposed.exit_seconds,
    exposed.exit_seconds - exposed.entry_seconds as exposure_seconds,
    exposed.node_count * (exposed.exit_seconds - exposed.entry_seconds) / 86400 as node_days,
    exposed.gpu_count * (exposed.exit_seconds - exposed.entry_seconds) / 3600 as gpu_hours,
    exposed.has_ended,
    failures.failed_at,
    coalesce(failures.posterior_probability, 0) as failure_probability,
    failures.attempt_id is not null
    or coalesce(
        exposed.end_reason = 'planned'
        and exposed.state = 'NODE_FAIL'
        and exposed.study_from_at < exposed.ended_at
        and exposed.study_to_at >= exposed.ended_at, false
    ) as is_paper_failure,
    failures.incident_id,
    failures.culprit_node_id,
    failures.failure_category,
    exposed.started_at,
    greatest(exposed.started_at, exposed.study_from_at) as seen_from_at,
    -- The condition is needed: least() passes over NULL, and a job that lost its end would get one.
    case
        when exposed.observed_until_at is not null then least(exposed.observed_until_at, exposed.study_to_at)
    end as seen_to_at
from exposed
left join failures
    on
        exposed.cluster_id = failures.cluster_id
        and exposed.attempt_id = failures.attempt_id
        and exposed.study_from_at < failures.failed_at
        and exposed.study_to_at >= failures.failed_at
