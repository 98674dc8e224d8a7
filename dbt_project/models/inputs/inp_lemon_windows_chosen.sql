with

settings as (

    select * from {{ ref('stg_config__clusters') }}

),

clusters as (

    select * from {{ ref('dim_clusters') }}
    where
        has_accounting
        and study_from_at is not null

),

node_days as (

    select * from {{ ref('fct_node_days') }}

),

gaps as (

    select * from {{ ref('dim_study_gaps') }}

),

suspects as (

    select * from {{ ref('fct_incident_suspects') }}

),

attempts as (

    select * from {{ ref('fct_attempts') }}
    where
        is_terminal
        and node_count > 1

),

uses as (

    select
        node_days.cluster_id,
        sum(node_days.study_hours) / 24 as study_node_days,
        sum(node_days.study_hours) / 24 / count(*) as in_use_ratio
    from node_days
    inner join clusters
        on
            node_days.cluster_id = clusters.cluster_id
            and node_days.day_date >= cast(clusters.study_from_at as date)
            and node_days.day_date <= cast(clusters.study_to_at as date)
    left join gaps
        on
            node_days.cluster_id = gaps.cluster_id
            and cast(node_days.day_date as timestamp) >= gaps.from_at
            and cast(node_days.day_date as timestamp) + interval 1 day <= gaps.to_at
    where gaps.cluster_id is null
    group by node_days.cluster_id

),

incidents as (

    select
        suspects.cluster_id,
        suspects.incident_id,
        max(suspects.incident_probability) as incident_probability
    from suspects
    inner join clusters
        on
            suspects.cluster_id = clusters.cluster_id
            and suspects.failed_at > clusters.study_from_at
            and suspects.failed_at <= clusters.study_to_at
    left join gaps
        on
            suspects.cluster_id = gaps.cluster_id
            and suspects.failed_at > gaps.from_at
            and suspects.failed_at <= gaps.to_at
    where gaps.cluster_id is null
    group by suspects.cluster_id, suspects.incident_id

),

incident_counts as (

    select
        cluster_id,
        {{ exact_sum('incident_probability') }} as incident_count
    from incidents
    group by cluster_id

),

spans as (

    select
        clusters.cluster_id,
        -- Do not use the end of all records: an inventory or a check may be months younger than accounting.
        cast(clusters.study_to_at as date) as last_date,
        {{ days_between('cast(clusters.study_from_at as date)', 'cast(clusters.study_to_at as date)') }} + 1
            as day_count,
        settings.lemon_window_days,
        settings.lemon_rate_days,
        settings.lemon_thresholds,
        -- Days in which a node that fails 10 times as often as the fleet has 5 expected failures.
        5 * uses.study_node_days / nullif(10 * incident_counts.incident_count * uses.in_use_ratio, 0) as telling_days
    from clusters
    inner join settings on clusters.cluster_id = settings.cluster_id
    left join uses on clusters.cluster_id = uses.cluster_id
    left join incident_counts on clusters.cluster_id = incident_counts.cluster_id

),

sizes as (

    select
        cluster_id,
        count(*) filter (where job_gpu_count >= 512) as count_512,
        count(*) filter (where job_gpu_count >= 256) as count_256,
        count(*) filter (where job_gpu_count >= 128) as count_128,
        count(*) filter (where job_gpu_count >= 64) as count_64,
        count(*) filter (where job_gpu_count >= 32) as count_32,
        count(*) filter (where job_gpu_count >= 16) as count_16
    from attempts
    group by cluster_id

),

windows as (

    select
        *,
        cast(least(
            day_count,
            coalesce(
                lemon_rate_days,
                case
                    when telling_days <= 28 then 28
                    when telling_days <= 56 then 56
                    when telling_days <= 84 then 84
                    when telling_days <= 168 then 168
                    else 336
                end
            )
        ) as integer) as rate_days
    from spans

)

select
    windows.cluster_id,
    windows.last_date as window_end_date,
    windows.rate_days,
    windows.last_date + 1 - windows.rate_days as rate_start_date,
    cast(least(windows.lemon_window_days, floor(windows.day_count / 2)) as integer) as judged_days,
    cast(windows.day_count as integer) as day_count,
    windows.lemon_thresholds as thresholds,
    -- The paper uses 512 GPUs and more. If few jobs are as large, use the largest common size.
    cast(case
        when sizes.count_512 >= 30 then 512
        when sizes.count_256 >= 30 then 256
        when sizes.count_128 >= 30 then 128
        when sizes.count_64 >= 30 then 64
        when sizes.count_32 >= 30 then 32
        when sizes.count_16 >= 30 then 16
    end as integer) as large_gpu_count
from windows
left join sizes on windows.cluster_id = sizes.cluster_id
