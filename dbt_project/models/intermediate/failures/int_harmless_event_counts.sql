with

features as (

    select * from {{ ref('int_event_features') }}

),

evidence as (

    select * from {{ ref('int_attempt_end_evidence') }}
    where
        not is_control
        and not is_named

),

culprits as (

    select * from {{ ref('int_culprits_named') }}

),

beside_suspects as (

    select distinct
        cluster_id,
        event_id
    from evidence

),

beside_failed_nodes as (

    select distinct
        features.cluster_id,
        features.event_id
    from features
    inner join culprits
        on
            features.cluster_id = culprits.cluster_id
            and features.node_id = culprits.node_id
            and features.observed_at >= culprits.ended_at - interval 900 second
            and features.observed_at <= culprits.ended_at + interval 900 second

)

select
    features.cluster_id,
    features.node_id,
    features.check_key,
    count(*) as event_count
from features
left join beside_suspects
    on
        features.cluster_id = beside_suspects.cluster_id
        and features.event_id = beside_suspects.event_id
left join beside_failed_nodes
    on
        features.cluster_id = beside_failed_nodes.cluster_id
        and features.event_id = beside_failed_nodes.event_id
where
    beside_suspects.event_id is null
    and beside_failed_nodes.event_id is null
    and not features.is_withdrawn
group by features.cluster_id, features.node_id, features.check_key
