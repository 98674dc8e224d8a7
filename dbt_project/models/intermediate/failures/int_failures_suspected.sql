{{ config(materialized=incremental_on_duckdb(), unique_key='attempt_id', meta={'lookups': [touched_attempts()]}) }}

with

attempts as (

    select * from {{ ref('int_attempts') }}
    {{ touched_jobs_only() }}

),

clusters as (

    select * from {{ ref('stg_config__clusters') }}

)

select
    attempts.cluster_id,
    attempts.attempt_id,
    attempts.job_id_raw,
    attempts.job_key,
    attempts.user_name,
    attempts.account,
    attempts.partition,
    attempts.qos,
    attempts.het_job_id,
    attempts.state,
    attempts.started_at,
    attempts.ended_at,
    attempts.runtime_seconds,
    attempts.node_ids,
    attempts.node_count,
    attempts.gpu_count,
    attempts.failed_node_id,
    attempts.ended_at - {{ seconds_interval('clusters.attribution_before_seconds') }} as window_start_at,
    attempts.ended_at + {{ seconds_interval('clusters.attribution_after_seconds') }} as window_end_at
from attempts
inner join clusters on attempts.cluster_id = clusters.cluster_id
where
    attempts.is_terminal
    and attempts.state in ('NODE_FAIL', 'BOOT_FAIL', 'FAILED', 'REQUEUED')
