with faults as (
    select
        cluster_id,
        culprit_node_id as node_id,
        split_part(failure_category, '_', 1) as component,
        failed_at as occurred_at,
        posterior_probability as probability,
        null as ended_at
    from {{ ref('fct_failures') }}
    where posterior_probability >= 0.5 and culprit_node_id is not null
    union all
    select
        cluster_id,
        node_id,
        split_part(failure_category, '_', 1) as component,
        opened_at as occurred_at,
        1 as probability,
        null as ended_at
    from {{ ref('fct_tickets') }}
    union all
    select
        cluster_id,
        node_id,
        unnest([
            if(is_planned or origin != 'administrator', null, split_part(failure_category, '_', 1)), 'interruption'
        ]) as component,
        started_at as occurred_at,
        1 as probability,
        coalesce(ended_at, timestamp 'infinity') as ended_at
    from {{ ref('fct_node_outages') }}
    union all
    select
        cluster_id,
        node_id,
        'interruption' as component,
        observed_at as occurred_at,
        1 as probability,
        observed_at as ended_at
    from {{ ref('inp_fault_events_named') }}
    where source = 'kernel' and check_name = 'boot'
)

select
    cluster_id,
    node_id,
    component,
    occurred_at,
    max(probability) as probability,
    max(ended_at) as ended_at,
    coalesce(occurred_at - lag(occurred_at) over (
        partition by cluster_id, node_id, component order by occurred_at
    ) > interval 1 day, true) as is_new
from faults
where component is not null
group by cluster_id, node_id, component, occurred_at
