-- Recorded failures: all, by cause, by month, and by node or other unit. One row per cluster, kind and name.
with failures as (
    select
        failures.cluster_id,
        coalesce(if(failures.cause = 'all', 'all (as recorded)', failures.cause), 'not recorded') as cause,
        failures.unit_name,
        coalesce(nodes.node_name, failures.node_id) as node_name,
        failures.started_at,
        date_trunc('month', failures.started_at) as month_at,
        failures.down_minutes / 60 as hours,
        epoch(failures.started_at - lag(failures.started_at) over of_all) / 3600 as gap_of_all,
        epoch(failures.started_at - lag(failures.started_at) over of_cause) / 3600 as gap_of_cause,
        epoch(failures.started_at - lag(failures.started_at) over of_unit) / 3600 as gap_of_unit
    from marts.fct_unit_failures as failures
    left join marts.dim_nodes as nodes using (cluster_id, node_id)
    window
        of_all as (partition by failures.cluster_id order by failures.started_at, failures.failure_id),
        of_cause as (partition by failures.cluster_id, cause order by failures.started_at, failures.failure_id),
        of_unit as (
            partition by failures.cluster_id, node_id, failures.unit_name
            order by failures.started_at, failures.failure_id
        )
),

grouped as (
    select
        cluster_id,
        case
            when grouping(cause) = 0 then 'cause'
            when grouping(month_at) = 0 then 'month'
            when grouping(node_name) = 0 then 'unit'
            else 'all'
        end as kind,
        cause,
        month_at,
        node_name,
        unit_name,
        count(*) as recorded_count,
        -- Units of different nodes may share a name.
        count(distinct (node_name, unit_name)) filter (coalesce(unit_name, node_name) is not null) as unit_count,
        count(unit_name) = 0 as are_nodes,
        count(hours) as repaired_count,
        avg(hours) as repair_hours_mean,
        median(hours) as repair_hours_median,
        avg(gap_of_all) as gap_of_all_mean,
        median(gap_of_all) as gap_of_all_median,
        avg(gap_of_cause) as gap_of_cause_mean,
        median(gap_of_cause) as gap_of_cause_median,
        avg(gap_of_unit) as gap_of_unit_mean,
        median(gap_of_unit) as gap_of_unit_median,
        min(started_at) as first_at,
        max(started_at) as last_at,
        arg_max(cause, started_at) as last_cause
    from failures
    group by
        grouping sets ((cluster_id), (cluster_id, cause), (cluster_id, month_at), (cluster_id, node_name, unit_name))
)

select
    grouped.* exclude (
        gap_of_all_mean, gap_of_all_median, gap_of_cause_mean, gap_of_cause_median, gap_of_unit_mean,
        gap_of_unit_median
    ) replace (if(kind = 'all', 'all', cause) as cause),
    case kind when 'all' then gap_of_all_mean when 'cause' then gap_of_cause_mean when 'unit' then gap_of_unit_mean end
        as gap_hours_mean,
    case kind
        when 'all' then gap_of_all_median when 'cause' then gap_of_cause_median when 'unit' then gap_of_unit_median
    end as gap_hours_median,
    recorded_count / sum(recorded_count) over (partition by cluster_id, kind) as ratio
from grouped
where kind != 'unit' or coalesce(node_name, unit_name) is not null
order by cluster_id, kind, month_at, recorded_count desc, cause, node_name, unit_name
