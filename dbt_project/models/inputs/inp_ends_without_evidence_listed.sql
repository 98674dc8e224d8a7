with clusters as (
    select
        clusters.cluster_id,
        clusters.study_from_at,
        clusters.study_to_at,
        configured.attribution_after_seconds as after_seconds
    from {{ ref('dim_clusters') }} as clusters
    left join {{ ref('stg_config__clusters') }} as configured using (cluster_id)
),

likely_failures as (
    select
        cluster_id,
        attempt_id
    from {{ ref('fct_failures') }}
    inner join clusters using (cluster_id)
    where failed_at > study_from_at and failed_at <= study_to_at and posterior_probability >= 0.5
)

select
    attempts.cluster_id,
    attempts.attempt_id,
    attempts.ended_at,
    cast(date_trunc('month', attempts.ended_at) as date) as month_date,
    attempts.node_count,
    attempts.user_name,
    attempts.runtime_seconds,
    -- The first half-hour is one class.
    greatest(10, cast(floor(log2(attempts.runtime_seconds)) as integer)) as runtime_class,
    attempts.state in ('FAILED', 'REQUEUED') as is_unexplained,
    attempts.state = 'COMPLETED' as is_control,
    clusters.after_seconds
from {{ ref('fct_attempts') }} as attempts
inner join clusters using (cluster_id)
anti join likely_failures using (cluster_id, attempt_id)
where
    attempts.is_terminal
    and attempts.ended_at > clusters.study_from_at
    and attempts.ended_at <= clusters.study_to_at
    and attempts.node_count > 0
    and attempts.runtime_seconds > 0
    and attempts.end_reason is null
