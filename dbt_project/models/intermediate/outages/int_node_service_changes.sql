with

events as (

    select * from {{ ref('stg_slurmctld__events') }}
    where node_id is not null

),

-- One command or one finding of Slurm prints its lines within milliseconds of each other.
withdrawal_lines as (

    select
        *,
        lag(logged_at) over (
            partition by cluster_id, node_id
            order by logged_at, source_path, source_line_number
        ) as previous_logged_at
    from events
    where
        kind in ('reason_set', 'drained_by_slurm', 'prolog_failure', 'epilog_failure')
        or (kind = 'state_set' and {{ matches("coalesce(state, '')", "'^(DRAIN|DOWN|FAIL|MAINT)'") }})

),

withdrawal_groups as (

    select
        *,
        sum(case
            when previous_logged_at is null or logged_at > previous_logged_at + interval 1 second then 1
            else 0
        end) over (
            partition by cluster_id, node_id
            order by logged_at, source_path, source_line_number
            rows between unbounded preceding and current row
        ) as group_number
    from withdrawal_lines

),

requests as (

    select
        cluster_id,
        node_id,
        min(logged_at) as changed_at,
        'request' as kind,
        coalesce(
            max(case when kind in ('state_set', 'drained_by_slurm') then state end),
            max(case when kind in ('prolog_failure', 'epilog_failure') and message like '%draining%' then 'DRAIN' end)
        ) as state,
        coalesce(
            max(case when kind = 'reason_set' then reason end),
            max(case when kind = 'drained_by_slurm' then reason end),
            max(case kind when 'prolog_failure' then 'Prolog error' when 'epilog_failure' then 'Epilog error' end)
        ) as reason,
        max(job_id_raw) as job_id_raw,
        min(source_path) as source_path,
        min(source_line_number) as source_line_number
    from withdrawal_groups
    group by cluster_id, node_id, group_number

),

-- A node that misses a beat and answers the next one never left service.
detections as (

    select
        cluster_id,
        node_id,
        logged_at as changed_at,
        'detection' as kind,
        'DOWN' as state,
        case kind when 'node_rebooted' then 'Node unexpectedly rebooted' else 'Not responding' end as reason,
        job_id_raw,
        source_path,
        source_line_number
    from events
    where
        (kind = 'node_not_responding' and {{ matches("lower(message)", "'setting down'") }})
        or (kind = 'node_rebooted' and {{ matches("lower(message)", "'unexpectedly'") }})

),

-- "Now responding" is said of drained nodes too: only "returned to service" and a new state end a withdrawal.
returns as (

    select
        cluster_id,
        node_id,
        logged_at as changed_at,
        'return' as kind,
        state,
        cast(null as string) as reason,
        cast(null as bigint) as job_id_raw,
        source_path,
        source_line_number
    from events
    where
        (kind = 'node_returned' and {{ matches("lower(message)", "'returned to service'") }})
        or (kind = 'state_set' and state in ('IDLE', 'RESUME', 'UNDRAIN'))

),

changes as (

    select * from requests
    union all
    select * from detections
    union all
    select * from returns

)

select
    *,
    -- How often the node had come back before: one number for everything between two returns.
    coalesce(
        sum(case when kind = 'return' then 1 else 0 end) over (
            partition by cluster_id, node_id
            order by changed_at, source_path, source_line_number
            rows between unbounded preceding and 1 preceding
        ),
        0
    ) as return_count
from changes
