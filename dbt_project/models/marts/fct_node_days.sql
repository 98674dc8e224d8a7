with

nodes as (

    select * from {{ ref('dim_nodes') }}

),

clusters as (

    select * from {{ ref('dim_clusters') }}

),

uses as (

    select * from {{ ref('int_nodes_used') }}

),

edge_uses as (

    select * from {{ ref('int_node_use_on_edge_days') }}

),

gaps as (

    select * from {{ ref('dim_study_gaps') }}

),

-- Days of accounting: a longer log of another kind cannot show that nothing ran on a day.
accounting_days as (

    select
        cluster_id,
        study_from_at,
        study_to_at,
        {{ unnest_date_range(
            'cast(first_at as date)', 'cast(coalesce(data_through_at, last_at) as date)'
        ) }} as day_date
    from clusters
    where has_accounting

),

-- Outages come from node events, or without them from the controller's log.
watched_days as (

    select distinct
        cluster_id,
        day_date
    from {{ ref('int_days_covered') }}
    where kind in ('events', 'slurmctld')

),

-- In a gap of accounting, only jobs that outlived it are recorded: no record means unknown there, and none elsewhere.
days as (

    select
        days.*,
        bool_or(watched_days.cluster_id is not null) as is_watched,
        count(gaps.cluster_id) > 0 as is_at_gap,
        case
            when not coalesce(bool_or(
                gaps.from_at <= cast(days.day_date as timestamp)
                and gaps.to_at >= cast(days.day_date as timestamp) + interval 1 day
            ), false) then 0
        end as untold
    from accounting_days as days
    left join gaps
        on
            days.cluster_id = gaps.cluster_id
            and days.day_date between cast(gaps.from_at as date) and cast(gaps.to_at - interval 1 second as date)
    left join watched_days
        on
            days.cluster_id = watched_days.cluster_id
            and days.day_date = watched_days.day_date
    group by all

),

-- Overlapping faults and planned work count once.
further_outages as (

    select
        cluster_id,
        node_id,
        greatest(
            started_at,
            max(coalesce(ended_at, {{ last_time() }})) over (
                partition by cluster_id, node_id
                order by started_at, outage_id
                rows between unbounded preceding and 1 preceding
            )
        ) as started_at,
        ended_at
    from {{ ref('fct_node_outages') }}

),

outage_days as (

    select
        outages.cluster_id,
        outages.node_id,
        outages.started_at,
        coalesce(outages.ended_at, clusters.last_at) as ended_at,
        {{ unnest_date_range(
            'cast(outages.started_at as date)', 'cast(coalesce(outages.ended_at, clusters.last_at) as date)'
        ) }} as day_date
    from further_outages as outages
    inner join clusters on outages.cluster_id = clusters.cluster_id
    where coalesce(outages.ended_at, clusters.last_at) > outages.started_at

),

out_of_service as (

    select
        cluster_id,
        node_id,
        day_date,
        {{ exact_sum(seconds_between(
            'greatest(started_at, cast(day_date as timestamp))',
            'least(ended_at, cast(day_date as timestamp) + interval 1 day)'
        )) }} as out_seconds
    from outage_days
    group by cluster_id, node_id, day_date

),

counts as (

    select
        cluster_id,
        culprit_node_id as node_id,
        cast(failed_at as date) as day_date,
        count(*) as failure_count,
        {{ exact_sum('posterior_probability') }} as expected_failure_count,
        {{ exact_sum('posterior_probability * lost_gpu_hours') }} as expected_lost_gpu_hours
    from {{ ref('fct_failures') }}
    where culprit_node_id is not null
    group by cluster_id, culprit_node_id, cast(failed_at as date)

)

select
    nodes.cluster_id,
    nodes.node_id,
    days.day_date,
    nodes.gpu_count,
    coalesce(
        days.study_from_at <= cast(days.day_date as timestamp)
        and days.study_to_at >= cast(days.day_date as timestamp) + interval 1 day
        and not days.is_at_gap,
        false
    ) as is_whole_day,
    case when uses.node_id is null then days.untold else uses.allocated_gpu_hours end as allocated_gpu_hours,
    coalesce(uses.used_seconds, days.untold) / 3600 as in_use_hours,
    coalesce(
        case
            when
                days.day_date > cast(days.study_from_at as date)
                and days.day_date < cast(days.study_to_at as date)
                and not days.is_at_gap
                then uses.used_seconds
            else edge_uses.used_seconds
        end,
        0
    ) / 3600 as study_hours,
    case when days.is_watched then least(coalesce(out_of_service.out_seconds, 0), 86400) / 3600 end
        as out_of_service_hours,
    cast(coalesce(counts.failure_count, days.untold) as integer) as failure_count,
    case when counts.node_id is null then days.untold else counts.expected_failure_count end as expected_failure_count,
    case when counts.node_id is null then days.untold else counts.expected_lost_gpu_hours end as expected_lost_gpu_hours
from nodes
inner join days on nodes.cluster_id = days.cluster_id
left join uses
    on
        nodes.cluster_id = uses.cluster_id
        and nodes.node_id = uses.node_id
        and days.day_date = uses.day_date
left join edge_uses
    on
        nodes.cluster_id = edge_uses.cluster_id
        and nodes.node_id = edge_uses.node_id
        and days.day_date = edge_uses.day_date
left join out_of_service
    on
        nodes.cluster_id = out_of_service.cluster_id
        and nodes.node_id = out_of_service.node_id
        and days.day_date = out_of_service.day_date
left join counts
    on
        nodes.cluster_id = counts.cluster_id
        and nodes.node_id = counts.node_id
        and days.day_date = counts.day_date
