with clusters as (
    select
        cluster_id,
        study_from_at,
        study_to_at
    from {{ ref('dim_clusters') }}
    where study_to_at > study_from_at
)

select
    row_number() over () as onset,
    events.* exclude (source, check_name, is_repeat),
    least(
        events.observed_at + interval 7 day,
        clusters.study_to_at,
        greatest(events.observed_at, coalesce(gaps.from_at, timestamp 'infinity')),
        greatest(events.observed_at, coalesce(nodes.last_seen_at, timestamp 'infinity'))
    ) as seen_to_at,
    greatest(events.observed_at, coalesce(interruptions.occurred_at, timestamp 'infinity')) as interrupted_at,
    -- The fault may be reported while the node is out, or shortly after it boots.
    greatest(
        coalesce(interruptions.occurred_at + interval 15 minute, timestamp 'infinity'), interruptions.ended_at
    ) as back_at
from {{ ref('inp_fault_events_named') }} as events
inner join clusters using (cluster_id)
left join {{ ref('dim_nodes') }} as nodes
    on events.cluster_id = nodes.cluster_id and events.node_id = nodes.node_id
asof left join {{ ref('dim_study_gaps') }} as gaps
    on events.cluster_id = gaps.cluster_id and events.observed_at < gaps.to_at
asof left join (
    select
        cluster_id,
        node_id,
        ended_at,
        min(occurred_at) as occurred_at
    from {{ ref('inp_component_faults_listed') }}
    where component = 'interruption'
    group by cluster_id, node_id, ended_at
) as interruptions
    on
        events.cluster_id = interruptions.cluster_id
        and events.node_id = interruptions.node_id
        and events.observed_at <= interruptions.ended_at
where
    events.source = 'health_check'
    and events.severity != 'info'
    and events.observed_at between clusters.study_from_at and clusters.study_to_at
