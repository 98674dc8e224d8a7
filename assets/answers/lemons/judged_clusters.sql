-- Result of the lemon list by cluster, or why it judges no node. One row per cluster with accounting.
-- `not_judged`: clusters whose accounting gives no basis to judge a node.
with not_judged as (
    select cluster_id, bool_or(started_at is not null) as has_run, bool_or(has_ended) as has_ended
    from marts.fct_attempts
    where cluster_id not in (select cluster_id from estimates.est_lemon_nodes)
    group by cluster_id
)

select
    clusters.cluster_id,
    clusters.is_simulated,
    bool_or(clusters.is_stale) as is_stale,
    any_value(clusters.stale_reason) as stale_reason,
    any_value(clusters.built_at) as built_at,
    any_value(clusters.data_through_at) as data_through_at,
    min(nodes.window_start_date) as window_start_date,
    min(nodes.window_end_date) as window_end_date,
    count(nodes.node_id) as node_count,
    count(*) filter (where nodes.verdict = 'lemon') as lemon_count,
    count(*) filter (where nodes.verdict = 'watch') as watch_count,
    count(*) filter (where nodes.verdict = 'ok') as ok_count,
    count(*) filter (where nodes.verdict = 'not enough data') as not_enough_data_count,
    any_value(nodes.fleet_rate) as fleet_rate,
    any_value(nodes.p_value) as p_value,
    max(nodes.false_discovery_ratio) filter (where nodes.verdict = 'lemon') as false_discovery_ratio,
    any_value(nodes.confidence_level) as confidence_level,
    sum(nodes.event_count) as failure_count,
    sum(nodes.exposure) as node_days,
    count(nodes.rank) > 0 as is_ranked,
    coalesce(bool_and(nodes.has_enough_data), true) as has_enough_data,
    case
        when count(nodes.node_id) > 0 then any_value(nodes.note)
        when not any_value(not_judged.has_run) then 'no job has run'
        when not any_value(not_judged.has_ended) then 'no job has ended'
        else 'accounting does not say which nodes a job had'
    end as refusal
from marts.dim_clusters as clusters
left join estimates.est_lemon_nodes as nodes using (cluster_id)
left join not_judged using (cluster_id)
where nodes.cluster_id is not null or not_judged.cluster_id is not null
group by clusters.cluster_id, clusters.is_simulated
order by clusters.is_simulated, clusters.cluster_id
