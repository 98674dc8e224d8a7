-- The 12 nodes of each cluster with the most failures, then with open and past outages. One row per node.
with blamed as (
    select
        failures.cluster_id,
        failures.culprit_node_id as node_id,
        failures.failure_category,
        coalesce(categories.label, failures.failure_category) as label,
        failures.failed_at,
        failures.lost_gpu_hours
    from marts.fct_failures as failures
    left join marts.dim_failure_categories as categories using (failure_category)
    where failures.culprit_node_id is not null
),

causes as (
    select
        cluster_id,
        node_id,
        list({'category': failure_category, 'label': label, 'count': cause_count}
            order by cause_count desc, failure_category) as causes
    from (
        select cluster_id, node_id, failure_category, label, count(*) as cause_count
        from blamed
        group by all
    )
    group by all
),

failures as (
    select
        cluster_id,
        node_id,
        count(*) as failure_count,
        sum(lost_gpu_hours) as lost_gpu_hours,
        max(failed_at) as last_failed_at
    from blamed
    group by all
),

spans as (
    select
        outages.cluster_id,
        outages.node_id,
        outages.is_planned,
        outages.reason,
        outages.started_at,
        outages.ended_at is null as is_open,
        epoch(coalesce(outages.ended_at, greatest(clusters.last_at, outages.started_at))) - epoch(outages.started_at)
            as seconds
    from marts.fct_node_outages as outages
    inner join marts.dim_clusters as clusters using (cluster_id)
),

outages as (
    select
        cluster_id,
        node_id,
        count(*) filter (where not is_planned) as fault_outage_count,
        count(*) filter (where is_planned) as planned_outage_count,
        sum(seconds) filter (where not is_planned) / 3600 as fault_outage_hours,
        sum(seconds) filter (where is_planned) / 3600 as planned_outage_hours,
        arg_max(reason, started_at) filter (where not is_planned) as last_fault_reason,
        max(started_at) filter (where is_open) as open_since,
        arg_max(reason, started_at) filter (where is_open) as open_reason,
        bool_and(is_planned) filter (where is_open) as open_is_planned
    from spans
    group by cluster_id, node_id
)

select
    cluster_id,
    node_id,
    coalesce(nodes.node_name, node_id) as node_name,
    coalesce(failures.failure_count, 0) as failure_count,
    failures.lost_gpu_hours,
    failures.last_failed_at,
    causes.causes,
    coalesce(outages.fault_outage_count, 0) as fault_outage_count,
    coalesce(outages.planned_outage_count, 0) as planned_outage_count,
    outages.fault_outage_hours,
    outages.planned_outage_hours,
    outages.last_fault_reason,
    outages.open_since,
    outages.open_reason,
    outages.open_is_planned,
    count(*) over (partition by cluster_id) as concerned_node_count,
    row_number() over (
        partition by cluster_id
        order by
            coalesce(failures.failure_count, 0) desc,
            coalesce(outages.open_since is not null and not outages.open_is_planned, false) desc,
            coalesce(outages.fault_outage_count, 0) desc,
            node_id
    ) as place
from failures
full join outages using (cluster_id, node_id)
left join causes using (cluster_id, node_id)
left join marts.dim_nodes as nodes using (cluster_id, node_id)
qualify place <= 12
order by cluster_id, place
