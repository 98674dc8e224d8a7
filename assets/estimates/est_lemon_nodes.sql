-- Every node with its time in use inside the study period, over the days that rates are compared on, and its signals
-- on the last day.
with windows as (
    select
        cluster_id,
        window_end_date,
        rate_start_date,
        rate_days,
        thresholds
    from marts.agg_lemon_windows
),

nodes as (
    select
        cluster_id,
        node_id
    from marts.dim_nodes
),

uses as (
    select
        node_days.cluster_id,
        node_days.node_id,
        cast(sum(cast(3600 * node_days.study_hours as decimal(28, 6))) as double) / 86400 as in_use_node_days,
        cast(sum(cast(3600 * node_days.study_hours as decimal(28, 6))) filter (where sight.kinds > 0) as double) / 86400
            as seen_node_days
    from marts.fct_node_days as node_days
    inner join windows using (cluster_id)
    left join intermediate.node_day_sight as sight using (cluster_id, node_id, day_date)
    where node_days.day_date between windows.rate_start_date and windows.window_end_date
    group by node_days.cluster_id, node_days.node_id
)

select
    nodes.cluster_id,
    nodes.node_id,
    windows.window_end_date,
    windows.rate_start_date as window_start_date,
    windows.rate_days,
    windows.thresholds,
    coalesce(uses.in_use_node_days, 0) as in_use_node_days,
    -- Where no log of any node was understood, all nodes are judged alike by what accounting shows.
    if(
        coalesce(max(uses.seen_node_days) over (partition by nodes.cluster_id), 0) = 0,
        coalesce(uses.in_use_node_days, 0),
        coalesce(uses.seen_node_days, 0)
    ) as seen_node_days,
    signals.excl_jobid_count,
    signals.xid_cnt,
    signals.tickets,
    signals.out_count,
    signals.multi_node_node_fails,
    signals.single_node_node_fails,
    signals.single_node_node_failure_rate
from nodes
inner join windows using (cluster_id)
left join uses using (cluster_id, node_id)
left join marts.agg_lemon_signals as signals using (cluster_id, node_id, window_end_date)
order by nodes.cluster_id, nodes.node_id;

-- The incidents of the study period on these days, each with the nodes that may have caused it.
select
    suspects.cluster_id,
    suspects.incident_id,
    suspects.node_id,
    suspects.is_known,
    suspects.incident_probability,
    suspects.failed_at
from marts.fct_incident_suspects as suspects
inner join marts.agg_lemon_windows as windows using (cluster_id)
inner join marts.dim_clusters as clusters using (cluster_id)
anti join marts.dim_study_gaps as gaps
    on
        suspects.cluster_id = gaps.cluster_id
        and suspects.failed_at > gaps.from_at
        and suspects.failed_at <= gaps.to_at
where
    cast(suspects.failed_at as date) between windows.rate_start_date and windows.window_end_date
    and suspects.failed_at > clusters.study_from_at
    and suspects.failed_at <= clusters.study_to_at
order by suspects.cluster_id, suspects.incident_id, suspects.node_id
