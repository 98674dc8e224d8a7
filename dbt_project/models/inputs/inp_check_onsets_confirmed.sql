with onset_components as (
    select
        onset,
        cluster_id,
        node_id,
        observed_at,
        unnest(components) as component
    from {{ ref('inp_check_onsets_numbered') }}
),

repairs as (
    select
        cluster_id,
        node_id,
        opened_at as repaired_at,
        split_part(failure_category, '_', 1) as component
    from {{ ref('fct_tickets') }}
    union all
    select
        cluster_id,
        node_id,
        started_at as repaired_at,
        split_part(failure_category, '_', 1) as component
    from {{ ref('fct_node_outages') }}
    where not is_planned and origin = 'administrator'
),

repaired as (
    select
        onsets.onset,
        true as is_repaired,
        false as is_confirmed
    from onset_components as onsets
    asof inner join repairs
        on
            onsets.cluster_id = repairs.cluster_id
            and onsets.node_id = repairs.node_id
            and onsets.component = repairs.component
            and onsets.observed_at - interval 10 minute <= repairs.repaired_at
    where repairs.repaired_at <= onsets.observed_at + interval 6 hour
),

kernel_components as (
    select
        cluster_id,
        node_id,
        observed_at,
        unnest(components) as component
    from {{ ref('inp_fault_events_named') }}
    where source = 'kernel' and severity != 'info'
),

confirmed as (
    select
        onsets.onset,
        false as is_repaired,
        true as is_confirmed
    from onset_components as onsets
    asof inner join kernel_components as messages
        on
            onsets.cluster_id = messages.cluster_id
            and onsets.node_id = messages.node_id
            and onsets.component = messages.component
            and onsets.observed_at - interval 5 minute <= messages.observed_at
    where messages.observed_at <= onsets.observed_at + interval 5 minute
)

select
    onset,
    bool_or(is_repaired) as is_repaired,
    bool_or(is_confirmed) as is_confirmed
from (
    select * from repaired
    union all
    select * from confirmed
) as found
group by onset
