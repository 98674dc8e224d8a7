-- Distribution of the signals over the nodes on the last day, and the nodes that stand out by each, as in figure 11 of
-- the paper. One row per cluster and signal; a signal without a source has no known node.
with latest as (
    select
        signals.* exclude (window_end_date),
        nodes.thresholds,
        nodes.signals_above
    from marts.agg_lemon_signals as signals
    inner join estimates.est_lemon_nodes as nodes using (cluster_id, node_id, window_end_date)
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

asked as (
    select cluster_id, unnest([
        'excl_jobid_count', 'xid_cnt', 'tickets', 'out_count', 'multi_node_node_fails', 'single_node_node_fails',
        'single_node_node_failure_rate'
    ]) as signal
    from (select distinct cluster_id from long)
)

select
    cluster_id, signal,
    signal like '%_rate' as is_share,
    count(value) as known_count,
    quantile_cont(value, 0.5) as median_value,
    quantile_cont(value, 0.9) as value_90,
    quantile_cont(value, 0.99) as value_99,
    max(value) as largest,
    if(known_count > 0, count(*) filter (where list_contains(signals_above, signal)), null) as above_count,
    any_value(try_cast(thresholds ->> signal as double)) as configured_limit
from asked
left join long using (cluster_id, signal)
group by cluster_id, signal
order by cluster_id, list_position([
    'excl_jobid_count', 'xid_cnt', 'tickets', 'out_count', 'multi_node_node_fails', 'single_node_node_fails',
    'single_node_node_failure_rate'
], signal)
