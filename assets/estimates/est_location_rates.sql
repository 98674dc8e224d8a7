-- Nodes of clusters in which some places differ, where they stand, and their days in use inside the study period. A day
-- on which no log of a node was understood does not count, unless that holds of all nodes.
with placed as (
    select
        nodes.cluster_id,
        nodes.node_id,
        nodes.rack,
        nodes.switch,
        nodes.nvlink_domain,
        nodes.position,
        if(nodes.is_gpu_node, nodes.gpu_model, null) as gpu_model,
        coalesce(lemons.verdict = 'lemon', false) as is_lemon
    from marts.dim_nodes as nodes
    left join estimates.est_lemon_nodes as lemons using (cluster_id, node_id)
),

clusters as (
    select cluster_id
    from placed
    group by cluster_id
    having
        greatest(
            count(distinct rack), count(distinct switch), count(distinct nvlink_domain), count(distinct position),
            count(distinct gpu_model)
        ) > 1
),

days as (
    select
        cluster_id,
        node_id,
        study_hours / 24 as days,
        kinds > 0 as is_seen,
        max(kinds) over (partition by cluster_id) = 0 as is_blind
    from intermediate.node_day_sight
    semi join clusters using (cluster_id)
)

select
    placed.*,
    coalesce(sum(cast(days.days as decimal(28, 9))) filter (where days.is_seen or days.is_blind), 0)::double as node_days
from placed
semi join clusters using (cluster_id)
left join days using (cluster_id, node_id)
group by all
order by placed.cluster_id, placed.node_id;

-- The nodes that incidents took down, on days that count, in the order of their times.
select
    failures.*,
    epoch(failures.failed_at) as seconds
from intermediate.incident_nodes as failures
left join intermediate.node_day_sight as sight
    on
        failures.cluster_id = sight.cluster_id
        and failures.node_id = sight.node_id
        and cast(failures.failed_at - interval 1 microsecond as date) = sight.day_date
where
    sight.kinds > 0
    or failures.cluster_id not in (select seen.cluster_id from intermediate.node_day_sight as seen where seen.kinds > 0)
order by failures.cluster_id, failures.failed_at, failures.incident_id, failures.node_id;

-- All nodes of the attempts that lost several of them.
select
    cluster_id,
    attempt_id,
    node_id
from marts.fct_attempt_nodes
semi join (
    select
        cluster_id,
        attempt_id
    from intermediate.incident_nodes
    group by cluster_id, attempt_id
    having count(*) > 1
) as several using (cluster_id, attempt_id);

-- The largest size of jobs that had a hundredth of the node-days of each cluster or more, and what its nodes follow from.
select
    sizes.cluster_id,
    max(sizes.gpu_size_bin) as gpu_count,
    nullif(any_value(clusters.gpus_per_node), 0) as gpus_per_node,
    any_value(clusters.gpu_count) as fleet_gpu_count,
    any_value(clusters.gpu_node_count) as fleet_node_count
from (
    select
        cluster_id,
        gpu_size_bin,
        sum(node_days) / sum(sum(node_days)) over (partition by cluster_id) as share
    from intermediate.exposure_days
    group by cluster_id, gpu_size_bin
) as sizes
inner join marts.dim_clusters as clusters using (cluster_id)
where sizes.share >= 0.01 and sizes.gpu_size_bin > 0
group by sizes.cluster_id
