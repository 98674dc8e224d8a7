with

clusters as (

    select * from {{ ref('dim_clusters') }}

),

days_covered as (

    select * from {{ ref('int_days_covered') }}

),

exposures as (

    select * from {{ ref('int_node_days_by_date') }}

)

-- On a day that no export covers nobody knows what failed, and what ran is known only of jobs that ended later.
select
    days_covered.cluster_id,
    days_covered.day_date,
    -- A day without attempts had no exposure; one whose attempts' nodes are unknown had an unknown one.
    case when exposures.cluster_id is null then 0 else exposures.node_days end as node_days,
    -- Where exports show no running jobs, what still ran at the end of the last days is on no record.
    clusters.study_to_at < clusters.data_through_at
    and clusters.study_to_at < cast(days_covered.day_date as timestamp) + interval 1 day as is_cut_off
from days_covered
inner join clusters on days_covered.cluster_id = clusters.cluster_id
left join exposures
    on
        days_covered.cluster_id = exposures.cluster_id
        and days_covered.day_date = exposures.day_date
where
    days_covered.kind = 'sacct'
    and days_covered.day_date between cast(clusters.first_at as date) and cast(clusters.data_through_at as date)
