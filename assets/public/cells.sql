-- Whether enough users stand behind each cell of the public tables: a cluster, or what one split of it holds.
-- A cell is there if anything may be in it, and counts the users of what is in it for certain: of `ended` all, of
-- `started` and `failures` what ran inside the study and of which end, GPUs and nodes are known.
-- A cell of fewer than five users is hidden. A total would give it away, so the smallest of the others is hidden too.
create temp table public_cells as
with attempts as (
    select distinct
        attempts.cluster_id,
        attempts.gpu_size_bin,
        attempts.failure_category,
        attempts.account,
        attempts.is_infrastructure_failure,
        nullif(attempts.user_name, '') as user_name,
        attempts.is_terminal,
        if(attempts.is_terminal, attempts.state, null) as state,
        attempts.started_at is not null as has_started,
        attempts.is_infrastructure_failure or attempts.state = 'NODE_FAIL' as may_have_failed,
        date_trunc('month', greatest(attempts.started_at, clusters.study_from_at)) as first_month,
        date_trunc('month', least(attempts.ended_at, clusters.study_to_at)) as last_month,
        coalesce(
            attempts.is_terminal
            and attempts.started_at >= clusters.study_from_at
            and attempts.ended_at <= clusters.study_to_at
            and attempts.runtime_seconds > 0
            and attempts.gpu_count is not null
            and attempts.node_count is not null,
            false
        ) as is_counted
    from marts.fct_attempts as attempts
    inner join marts.dim_clusters as clusters on attempts.cluster_id = clusters.cluster_id
),

members as (
    select
        *,
        'ended' as kind
    from attempts
    where is_terminal
    union all
    select
        * replace (if(is_counted, user_name, null) as user_name),
        'started' as kind
    from attempts
    where has_started
    union all
    select
        * replace (last_month as first_month, if(is_counted and is_infrastructure_failure, user_name, null) as user_name),
        'failures' as kind
    from attempts
    where may_have_failed
),

runs as (
    select distinct
        'runs' as kind,
        cluster_id,
        if(ettr is not null and progress_ratio is not null, nullif(user_name, ''), null) as user_name,
        'gpu_size_bin' as split,
        cast(gpu_size_bin as varchar) as part
    from marts.fct_job_runs
    where scheduled_hours >= 24
),

parts as (
    select
        kind,
        cluster_id,
        user_name,
        unnest(
            [
                {'split': 'cluster', 'part': ''},
                {'split': 'account', 'part': account},
                {'split': 'failure_category', 'part': failure_category},
                {'split': 'gpu_size_bin', 'part': cast(gpu_size_bin as varchar)},
                {'split': 'population', 'part': 'all'},
                {'split': 'population', 'part': if(gpu_size_bin > 128, 'gpus_gt_128', 'gpus_le_128')},
                {'split': 'state', 'part': state}
            ]
            || coalesce(
                [
                    {'split': 'month_date', 'part': cast(cast(month_at as date) as varchar)}
                    for month_at in generate_series(first_month, last_month, interval 1 month)
                ],
                []
            ),
            recursive := true
        )
    from members
    union all
    select * from runs
),

-- Accounts and sizes may be unknown, and that is a part; the others have no part where they say nothing.
-- Sizes are added up above and below 128 GPUs as well.
counted as (
    select
        kind,
        cluster_id,
        split,
        part,
        count(distinct user_name) as user_count,
        case split
            when 'gpu_size_bin' then coalesce(cast(part as bigint) > 128, false)
            when 'population' then part = 'all'
            else false
        end as subtotal,
        split = 'population' and part = 'all' as total
    from parts
    where part is not null or split in ('account', 'gpu_size_bin')
    group by kind, cluster_id, split, part
),

judged as (
    select
        *,
        user_count >= 5
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

-- Where hours are hidden, what is computed of failures and hours would tell of them.
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
