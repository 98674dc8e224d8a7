-- How the signals spread over the nodes on the last day. One row per cluster, signal and value that occurs.
with latest as (
    select
        signals.* exclude (window_end_date),
        nodes.thresholds,
        nodes.verdict = 'lemon' as is_lemon,
        coalesce(names.node_name, node_id) as node_name,
        nodes.signals_above
    from marts.agg_lemon_signals as signals
    inner join estimates.est_lemon_nodes as nodes using (cluster_id, node_id, window_end_date)
    left join marts.dim_nodes as names using (cluster_id, node_id)
),

long as (
    select * replace (round(value, 3) as value)
    from (
        unpivot latest
        on columns([
            'excl_jobid_count', 'xid_cnt', 'tickets', 'out_count', 'multi_node_node_fails', 'single_node_node_fails',
            'single_node_node_failure_rate'
        ])::double
        into name signal value value
    )
),

fleets as (
    select
        cluster_id, signal,
        count(*) as known_count,
        quantile_cont(value, 0.5) as median_value,
        quantile_cont(value, 0.9) as value_90,
        quantile_cont(value, 0.99) as value_99,
        max(value) as largest,
        count(*) filter (where list_contains(signals_above, signal)) as above_count,
        any_value(try_cast(thresholds ->> signal as double)) as configured_limit
    from long
    group by cluster_id, signal
),

steps as (
    select
        cluster_id, signal, value,
        count(*) as node_count,
        count(*) filter (where is_lemon) as lemon_count,
        list(node_name order by node_name) filter (where is_lemon) as lemon_names,
        sum(count(*)) over (partition by cluster_id, signal order by value) as at_most_count
    from long
    group by cluster_id, signal, value
)

select
    steps.*,
    steps.at_most_count / fleets.known_count as at_most_ratio,
    fleets.* exclude (cluster_id, signal)
from steps
inner join fleets using (cluster_id, signal)
order by cluster_id, signal, steps.value
