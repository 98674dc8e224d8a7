with stretches as (
    select
        cluster_id,
        gpu_size_bin,
        is_whole_node,
        seen_from_at,
        seen_to_at,
        cast(seen_from_at as date) as first_date,
        cast(seen_to_at as date) as last_date,
        exposure_seconds,
        node_days,
        gpu_hours,
        failure_probability > 0 as may_have_failed,
        not has_ended and node_days is null as is_unmeasured_running,
        state in ('FAILED', 'REQUEUED') and not is_paper_failure as is_unexplained,
        is_last as is_counted
    from {{ ref('inp_attempts_divided') }}
),

-- Most attempts touch one day and need no expansion.
days as (
    select
        * exclude (last_date),
        first_date as day_date,
        1 as share
    from stretches
    where coalesce(first_date >= last_date, true)
    union all
    select
        * exclude (last_date) replace (is_counted and day_date = first_date as is_counted),
        (
            epoch(least(seen_to_at, cast(day_date as timestamp) + interval 1 day))
            - epoch(greatest(seen_from_at, cast(day_date as timestamp)))
        )
        / (epoch(seen_to_at) - epoch(seen_from_at)) as share
    from (
        select
            *,
            cast(unnest(generate_series(first_date, last_date, interval 1 day)) as date) as day_date
        from stretches
        where first_date < last_date
    ) as longer_stretches
)

select
    cluster_id,
    day_date,
    gpu_size_bin,
    is_whole_node,
    count(*) filter (where is_counted) as attempt_count,
    count(*) filter (where is_counted and (exposure_seconds > 0 or may_have_failed)) as exposed_count,
    count(*) filter (where is_counted and (exposure_seconds > 0 or may_have_failed) and node_days is null)
        as exposed_without_nodes_count,
    count(*) filter (where is_counted and gpu_hours is null) as without_gpu_hours_count,
    count(*) filter (where is_counted and is_unmeasured_running) as unmeasured_running_count,
    count(*) filter (where is_counted and is_unexplained) as unexplained_count,
    sum(cast(share * exposure_seconds as decimal(38, 12))) as exposure_seconds,
    sum(cast(share * exposure_seconds as decimal(38, 12))) filter (where node_days is not null)
        as exposure_seconds_with_nodes,
    sum(cast(share * node_days as decimal(38, 12))) as node_days,
    sum(cast(share * gpu_hours as decimal(38, 12))) as gpu_hours
from days
group by cluster_id, day_date, gpu_size_bin, is_whole_node
