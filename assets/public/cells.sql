-- Whether enough users are behind each cell of the public tables. A cell is a cluster, or one part of a split of it.
-- Every cell that may hold anything is listed, with the number of users of the rows behind its numbers.
-- A cell of fewer than five users is hidden. A total would reveal it, so the smallest of the others is hidden too.
create temp table public_cells as
with exposed as (
    select
        exposures.cluster_id,
        exposures.gpu_size_bin,
        exposures.exposure_seconds,
        exposures.failure_probability,
        exposures.gap_seconds,
        exposures.node_days is null as is_unmeasured,
        if(exposures.node_days is null, null, nullif(attempts.user_name, '')) as user_name,
        date_trunc('month', exposures.seen_from_at) as first_month,
        date_trunc('month', exposures.seen_to_at - interval 1 microsecond) as last_month,
        clusters.study_from_at,
        clusters.study_to_at,
        exposures.failure_probability > 0 or exposures.is_paper_failure as may_have_failed,
        coalesce(exposures.incident_id, exposures.attempt_id) as incident_id,
        coalesce(exposures.failed_at, exposures.seen_to_at) as failed_at
    from marts.fct_attempt_exposures as exposures
    inner join marts.fct_attempts as attempts
        on exposures.cluster_id = attempts.cluster_id and exposures.attempt_id = attempts.attempt_id
    inner join marts.dim_clusters as clusters on exposures.cluster_id = clusters.cluster_id
),

-- An incident belongs to the month of its first failure, as in est_failure_rates_monthly.
failed as (
    select
        *,
        date_trunc(
            'month',
            least(
                greatest(
                    min(failed_at) over (partition by cluster_id, incident_id) - interval 1 microsecond, study_from_at
                ),
                study_to_at
            )
        ) as month_at
    from exposed
    where may_have_failed
),

members as (
    select distinct
        'ended' as kind,
        cluster_id,
        gpu_size_bin,
        state,
        nullif(user_name, '') as user_name
    from marts.fct_attempts
    where is_terminal
    union all by name
    -- Attempts across a gap of accounting were seen in their first and last month, but perhaps not between.
    select distinct
        'started' as kind,
        cluster_id,
        gpu_size_bin,
        is_unmeasured,
        user_name,
        if(
            gap_seconds > 0,
            [first_month, last_month],
            generate_series(first_month, last_month, interval 1 month)
        ) as months
    from exposed
    where exposure_seconds > 0
    union all by name
    select distinct
        'started' as kind,
        cluster_id,
        gpu_size_bin,
        generate_series(first_month, last_month, interval 1 month) as months
    from exposed
    where exposure_seconds > 0 and gap_seconds > 0
    union all by name
    select distinct
        'failures' as kind,
        cluster_id,
        gpu_size_bin,
        is_unmeasured,
        user_name,
        [month_at] as months
    from failed
    where failure_probability > 0 and exposure_seconds is not null
    union all by name
    select distinct
        'losses' as kind,
        cluster_id,
        gpu_size_bin,
        account,
        nullif(user_name, '') as user_name
    from marts.fct_failures
    where lost_gpu_hours > 0
    union all by name
    select distinct
        'runs' as kind,
        cluster_id,
        gpu_size_bin,
        if(ettr is null or progress_ratio is null, null, nullif(user_name, '')) as user_name
    from marts.fct_job_runs
    where scheduled_hours >= 24
),

parts as (
    select
        kind,
        cluster_id,
        user_name,
        is_unmeasured,
        unnest(
            [
                {'split': 'cluster', 'part': ''},
                {'split': 'account', 'part': account},
                {'split': 'gpu_size_bin', 'part': cast(gpu_size_bin as varchar)},
                {'split': 'population', 'part': 'all'},
                {'split': 'population', 'part': if(gpu_size_bin > 128, 'gpus_gt_128', 'gpus_le_128')},
                {'split': 'state', 'part': state}
            ]
            || list_transform(
                coalesce(months, []),
                lambda month_at: {'split': 'month_date', 'part': cast(cast(month_at as date) as varchar)}
            ),
            recursive := true
        )
    from members
),

-- Unknown accounts and sizes are a part of their own; an unknown value of another split has no part.
-- Sizes are also summed above and below 128 GPUs.
counted as (
    select
        kind,
        cluster_id,
        split,
        part,
        count(distinct user_name) as user_count,
        coalesce(bool_or(is_unmeasured), false) as has_unmeasured,
        case split
            when 'gpu_size_bin' then coalesce(cast(part as bigint) > 128, false)
            when 'population' then part = 'all'
            else false
        end as subtotal,
        split = 'population' and part = 'all' as total
    from parts
    where part is not null or split = 'gpu_size_bin' or (split = 'account' and kind = 'losses')
    group by kind, cluster_id, split, part
),

-- Attempts without known nodes are in the hours by size but not in all node-days: the difference would reveal them.
judged as (
    select
        *,
        user_count >= 5
        and not (split = 'gpu_size_bin' and bool_or(has_unmeasured) over (partition by kind, cluster_id))
        and not (
            min(user_count) over (partition by kind, cluster_id, split, subtotal) < 5
            and 1 = row_number() over (
                partition by kind, cluster_id, split, subtotal, user_count >= 5
                order by user_count, part
            )
        )
        and not (
            min(user_count) over (partition by kind, cluster_id, split, total) < 5
            and 1 = row_number() over (
                partition by kind, cluster_id, split, total, user_count >= 5
                order by user_count, part
            )
        ) as has_enough
    from counted
)

-- If hours are hidden, rates computed from failures and hours would reveal them.
select
    kind,
    cluster_id,
    split,
    part,
    user_count,
    has_enough
    and (
        kind != 'failures'
        or bool_and(has_enough) filter (where kind = 'started') over (partition by cluster_id, split, part)
    ) as is_shown
from judged
