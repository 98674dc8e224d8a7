-- Long, because stated and inferred changes are numbered together, one level above the logs.
with

events as (

    select * from {{ ref('stg_slurmctld__events') }}
    where node_id is not null

),

node_events as (

    select * from {{ ref('stg_sacctmgr__node_events') }}
    where node_id is not null

),

records as (

    select * from {{ ref('stg_sacct__records') }}

),

snapshots as (

    select * from {{ ref('stg_inventory__snapshots') }}
    where state is not null

),

-- Lines of one command or one finding of Slurm are milliseconds apart.
withdrawal_lines as (

    select
        *,
        lag(logged_at) over (
            partition by cluster_id, node_id
            order by logged_at, source_path, source_line_number
        ) as previous_logged_at
    from events
    where
        kind in ('reason_set', 'drained_by_slurm', 'prolog_failure', 'epilog_failure', 'node_invalid')
        or (kind = 'state_set' and {{ regex_matches("coalesce(state, '')", "'^(DRAIN|DOWN|FAIL|MAINT)'") }})

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

-- A node that registers with less than configured is drained. If it is already out, this is only a finding.
requests as (

    select
        cluster_id,
        node_id,
        min(logged_at) as changed_at,
        case when bool_and(kind = 'node_invalid') then 'detection' else 'request' end as kind,
        coalesce(
            max(case when kind in ('state_set', 'drained_by_slurm') then state end),
            max(case when kind in ('prolog_failure', 'epilog_failure') and message like '%draining%' then 'DRAIN' end),
            max(case when kind = 'node_invalid' then state end)
        ) as state,
        coalesce(
            max(case when kind = 'reason_set' then reason end),
            max(case when kind in ('drained_by_slurm', 'node_invalid') then reason end),
            max(case kind when 'prolog_failure' then 'Prolog error' when 'epilog_failure' then 'Epilog error' end)
        ) as reason,
        max(job_id_raw) as job_id_raw,
        min(source_path) as source_path,
        min(source_line_number) as source_line_number
    from withdrawal_groups
    group by cluster_id, node_id, group_number

),

-- A node that misses one ping and answers the next never left service. A node that gets work and does not boot in time
-- leaves it.
detections as (

    select
        cluster_id,
        node_id,
        logged_at as changed_at,
        'detection' as kind,
        'DOWN' as state,
        case kind
            when 'node_rebooted' then 'Node unexpectedly rebooted'
            when 'node_not_resumed' then 'ResumeTimeout reached'
            else 'Not responding'
        end as reason,
        job_id_raw,
        source_path,
        source_line_number
    from events
    where
        (kind = 'node_not_responding' and {{ regex_matches("lower(message)", "'setting down'") }})
        or (kind = 'node_rebooted' and {{ regex_matches("lower(message)", "'unexpectedly'") }})
        or kind = 'node_not_resumed'

),

-- A machine keeps its fault when switched off; a cloud node does not. Without inventory, a node that Slurm switches off
-- by itself is a cloud node.
nodes_of_no_cloud as (

    select
        cluster_id,
        node_id
    from snapshots
    group by cluster_id, node_id
    having not bool_or({{ regex_matches('state', "'CLOUD'") }})

),

-- "Now responding" appears for drained nodes, too. Only "returned to service" and a new state end a withdrawal. The new
-- state depends on the node's jobs: idle, or allocated and mixed while they still run. A command that Slurm refuses,
-- because the node already has one of these states, shows a return, too.
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
        (kind = 'node_returned' and {{ regex_matches("lower(message)", "'returned to service'") }})
        or (
            kind in ('state_set', 'state_shown')
            and state in ('IDLE', 'RESUME', 'UNDRAIN', 'ALLOCATED', 'MIXED', 'PLANNED', 'RESERVED')
        )
        or (
            kind = 'node_powered_down'
            and not exists (
                select 1
                from nodes_of_no_cloud
                where
                    events.cluster_id = nodes_of_no_cloud.cluster_id
                    and events.node_id = nodes_of_no_cloud.node_id
            )
        )

),

stated_changes as (

    select * from requests
    union all
    select * from detections
    union all
    select * from returns

),

stated_stretches as (

    select
        *,
        lead(changed_at) over (
            partition by cluster_id, node_id
            order by changed_at, source_path, source_line_number
        ) as next_changed_at,
        {{ previous_return_count() }} as return_count
    from stated_changes

),

-- A reason alone takes no node out of service.
withdrawn_stretches as (

    select
        *,
        max(state) over stretches_so_far as state_so_far,
        max(state) over stretches_before as state_before,
        lag(changed_at) over stretches as previous_changed_at
    from stated_stretches
    where kind != 'return'
    window
        stretches as (
            partition by cluster_id, node_id, return_count
            order by changed_at, source_path, source_line_number
        ),
        stretches_so_far as (
            partition by cluster_id, node_id, return_count
            order by changed_at, source_path, source_line_number
            rows between unbounded preceding and current row
        ),
        stretches_before as (
            partition by cluster_id, node_id, return_count
            order by changed_at, source_path, source_line_number
            rows between unbounded preceding and 1 preceding
        )

),

-- Slurm sets a node down only if it is not down: a node set down a second time was back in between. A drain outlasts
-- this.
set_down_again as (

    select
        *,
        -- Its last answer came this long before Slurm gave it up: the default of SlurmdTimeout.
        greatest(previous_changed_at + interval 1 second, changed_at - interval 300 second) as last_known_at
    from withdrawn_stretches
    where
        kind = 'detection'
        and reason in ('Not responding', 'ResumeTimeout reached')
        and state_before = 'DOWN'
        and changed_at > previous_changed_at + interval 60 second

),

-- Only for clusters without node events.
job_starts as (

    select
        cluster_id,
        started_at,
        {{ unnest_list('node_ids') }} as node_id
    from records
    where
        started_at is not null
        and cluster_id in (select withdrawn_stretches.cluster_id from withdrawn_stretches)
        and cluster_id not in (select node_events.cluster_id from node_events)

),

unstated_returns as (

    -- The node was back when it answered again, if the log shows it, and at the latest at its last answer.
    select
        set_down_again.cluster_id,
        set_down_again.node_id,
        least(set_down_again.last_known_at, min(answers.logged_at)) as changed_at,
        set_down_again.source_path,
        set_down_again.source_line_number
    from set_down_again
    left join events as answers
        on
            set_down_again.cluster_id = answers.cluster_id
            and set_down_again.node_id = answers.node_id
            and answers.kind = 'node_returned'
            and set_down_again.previous_changed_at < answers.logged_at
            and set_down_again.changed_at > answers.logged_at
    group by
        set_down_again.cluster_id,
        set_down_again.node_id,
        set_down_again.changed_at,
        set_down_again.last_known_at,
        set_down_again.source_path,
        set_down_again.source_line_number

    union all

    -- Slurm starts no job on a node that drains or is down, although running jobs continue. So a start shows that the
    -- node is back. A job that starts within a minute may have got the node before and waited for its boot.
    select
        withdrawn_stretches.cluster_id,
        withdrawn_stretches.node_id,
        min(job_starts.started_at) as changed_at,
        withdrawn_stretches.source_path,
        withdrawn_stretches.source_line_number
    from withdrawn_stretches
    inner join job_starts
        on
            withdrawn_stretches.cluster_id = job_starts.cluster_id
            and withdrawn_stretches.node_id = job_starts.node_id
            and job_starts.started_at > withdrawn_stretches.changed_at + interval 60 second
            and job_starts.started_at < coalesce(withdrawn_stretches.next_changed_at, {{ last_time() }})
    where withdrawn_stretches.state_so_far is not null
    group by
        withdrawn_stretches.cluster_id,
        withdrawn_stretches.node_id,
        withdrawn_stretches.changed_at,
        withdrawn_stretches.source_path,
        withdrawn_stretches.source_line_number

),

changes as (

    select * from stated_changes
    union all
    select
        cluster_id,
        node_id,
        changed_at,
        'return' as kind,
        cast(null as string) as state,
        cast(null as string) as reason,
        cast(null as bigint) as job_id_raw,
        source_path,
        source_line_number
    from unstated_returns

),

-- One number for all changes between two returns, and for the second return.
counted as (

    select
        *,
        {{ previous_return_count() }} as return_count,
        max(case when kind = 'return' then changed_at end) over (
            partition by cluster_id, node_id
            order by changed_at, source_path, source_line_number
            rows between unbounded preceding and 1 preceding
        ) as last_returned_at
    from changes

)

select
    *,
    min(case when kind = 'return' then changed_at end) over (
        partition by cluster_id, node_id, return_count
    ) as returned_at,
    -- A health check that sets the same reason every few minutes makes one request.
    kind != 'return' and row_number() over (
        partition by cluster_id, node_id, return_count, kind = 'return', lower(reason)
        order by changed_at, source_path, source_line_number
    ) = 1 as is_withdrawal,
    max(state) over (
        partition by cluster_id, node_id, return_count, kind = 'return', lower(reason)
    ) as state_of_reason
from counted
