-- Shares of states (without the row INFRASTRUCTURE) and of sizes: of attempts always, of GPU time if any is known.
{{ config(tags=['judged_with_the_code']) }}

with

shares as (

    select
        'agg_job_states' as table_name,
        cluster_id,
        sum(attempt_ratio) as attempt_ratio,
        sum(gpu_time_ratio) as gpu_time_ratio
    from {{ ref('agg_job_states') }}
    where not is_infrastructure
    group by cluster_id

    union all

    select
        'agg_job_sizes' as table_name,
        cluster_id,
        sum(job_ratio) as attempt_ratio,
        sum(gpu_time_ratio) as gpu_time_ratio
    from {{ ref('agg_job_sizes') }}
    group by cluster_id

)

select *
from shares
where
    abs(attempt_ratio - 1) > 1e-9
    or abs(gpu_time_ratio - 1) > 1e-9
