with clusters as (
    select
        cluster_id,
        study_from_at,
        study_to_at
    from {{ ref('dim_clusters') }}
    where study_to_at > study_from_at
),

interruptions as (
    select
        cluster_id,
        node_id,
        started_at as interrupted_at
    from {{ ref('fct_node_outages') }}
    union all
    select
        cluster_id,
        node_id,
        observed_at as interrupted_at
    from {{ ref('inp_fault_events_named') }}
    where source = 'kernel' and check_name = 'boot'
)

select
    row_number() over () as onset,
    events.* exclude (source, check_name, is_repeat),
    clusters.study_to_at,
    coalesce(interruptions.interrupted_at, timestamp 'infinity') as interrupted_at
from {{ ref('inp_fault_events_named') }} as events
inner join clusters using (cluster_id)
asof left join interruptions
    on
        events.cluster_id = interruptions.cluster_id
        and events.node_id = interruptions.node_id
        and events.observed_at <= interruptions.interrupted_at
where
    events.source = 'health_check'
    and events.severity != 'info'
    and events.observed_at between clusters.study_from_at and clusters.study_to_at
