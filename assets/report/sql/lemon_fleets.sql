-- What the search for lemons found in each cluster, and over which days. One row per cluster with accounting.
select
    nodes.cluster_id,
    count(*) as node_count,
    count(*) filter (where nodes.verdict = 'lemon') as lemon_count,
    count(*) filter (where nodes.verdict = 'watch') as watch_count,
    count(*) filter (where nodes.verdict = 'ok') as ok_count,
    count(*) filter (where nodes.verdict = 'not enough data') as not_enough_data_count,
    list(coalesce(names.node_name, nodes.node_id) order by nodes.rank, nodes.node_id)
        filter (where nodes.verdict = 'lemon') as lemon_names,
    any_value(nodes.fleet_rate) as fleet_rate,
    any_value(nodes.p_value) as p_value,
    max(nodes.false_discovery_ratio) filter (where nodes.verdict = 'lemon') as false_discovery_ratio,
    min(nodes.window_start_date) as window_start_date,
    max(nodes.window_end_date) as window_end_date,
    sum(nodes.event_count) as failure_count,
    sum(nodes.exposure) as node_days,
    any_value(nodes.confidence_level) as confidence_level,
    any_value(nodes.note) as refusal
from estimates.est_lemon_nodes as nodes
left join marts.dim_nodes as names using (cluster_id, node_id)
group by nodes.cluster_id
order by nodes.cluster_id
