-- How the signals spread over the nodes on the last day. One row per cluster, signal and value that occurs.
with latest as (
    select
        signals.cluster_id,
        signals.node_id,
        windows.thresholds,
        coalesce(nodes.verdict = 'lemon', false) as is_lemon,
        coalesce(names.node_name, node_id) as node_name,
        nodes.signals_above,
        signals.excl_jobid_count,
        signals.xid_cnt,
        signals.tickets,
        signals.out_count,
        signals.multi_node_node_fails,
        signals.single_node_node_fails,
        signals.single_node_node_failure_rate
    from marts.agg_lemon_signals as signals
    inner join marts.agg_lemon_windows as windows using (cluster_id, window_end_date)
    left join estimates.est_lemon_nodes as nodes using (cluster_id, node_id)
    left join marts.dim_nodes as names using (cluster_id, node_id)
),

long as (
    unpivot (
        select
            * exclude (
                excl_jobid_count, xid_cnt, tickets, out_count, multi_node_node_fails, single_node_node_fails,
                single_node_node_failure_rate
            ),
            cast(excl_jobid_count as double) as excl_jobid_count,
            cast(xid_cnt as double) as xid_cnt,
            cast(tickets as double) as tickets,
            cast(out_count as double) as out_count,
            cast(multi_node_node_fails as double) as multi_node_node_fails,
            cast(single_node_node_fails as double) as single_node_node_fails,
            round(single_node_node_failure_rate, 3) as single_node_node_failure_rate
        from latest
    ) on
        excl_jobid_count, xid_cnt, tickets, out_count, multi_node_node_fails, single_node_node_fails,
        single_node_node_failure_rate
    into name signal value value
),

fleets as (
    select
        cluster_id,
        signal,
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
        cluster_id,
        signal,
        value,
        count(*) as node_count,
        count(*) filter (where is_lemon) as lemon_count,
        list(node_name order by node_name) filter (where is_lemon) as lemon_names,
        sum(count(*)) over (partition by cluster_id, signal order by value) as at_most_count
    from long
    group by cluster_id, signal, value
)

select
    cluster_id,
    signal,
    steps.value,
    steps.node_count,
    steps.lemon_count,
    steps.lemon_names,
    steps.at_most_count / fleets.known_count as at_most_ratio,
    fleets.known_count,
    fleets.median_value,
    fleets.value_90,
    fleets.value_99,
    fleets.largest,
    fleets.above_count,
    fleets.configured_limit
from steps
inner join fleets using (cluster_id, signal)
order by cluster_id, signal, steps.value
