with

snapshots as (

    select
        *,
        coalesce(
            {{ regex_matches('state', "'DOWN|DRAINED|FAIL|MAINT'") }}
            or (
                {{ regex_matches('state', "'DRAIN'") }}
                and not {{ regex_matches('state', "'DRAINING|ALLOC|MIX|COMP'") }}
            ),
            false
        ) as is_out,
        coalesce(
            not {{ regex_matches('state', "'DOWN|DRAIN|DRNG|FAIL|MAINT|UNK'") }}, false
        ) as is_in_service
    from {{ ref('stg_inventory__snapshots') }}

),

returns as (

    select * from {{ ref('int_node_service_changes') }}
    where kind = 'return'

),

-- Slurm keeps reason and time until the node comes back: all snapshots that show them are one withdrawal.
withdrawals as (

    select
        cluster_id,
        node_id,
        reason_at,
        {{ last_by('reason', '(captured_at, source_path, source_line_number)') }} as reason,
        {{ last_by('reason_user', '(captured_at, source_path, source_line_number)') }} as reason_user,
        {{ first_by(
            'case when is_out then state end', '(captured_at, source_path, source_line_number)'
        ) }} as out_state,
        greatest(reason_at, max(case when not is_in_service then captured_at end)) as last_shown_at,
        {{ first_by('source_path', '(captured_at, source_path, source_line_number)') }} as source_path,
        {{ first_by('source_line_number', '(captured_at, source_path, source_line_number)') }} as source_line_number
    from snapshots
    where
        reason is not null
        and reason_at is not null
    group by cluster_id, node_id, reason_at

),

back_in_service as (

    select
        cluster_id,
        node_id,
        captured_at as returned_at
    from snapshots
    where is_in_service
    union all
    select
        cluster_id,
        node_id,
        changed_at as returned_at
    from returns

),

returned as (

    select
        withdrawals.cluster_id,
        withdrawals.node_id,
        withdrawals.reason_at,
        min(back_in_service.returned_at) as returned_at
    from withdrawals
    inner join back_in_service
        on
            withdrawals.cluster_id = back_in_service.cluster_id
            and withdrawals.node_id = back_in_service.node_id
            and withdrawals.last_shown_at < back_in_service.returned_at
    group by withdrawals.cluster_id, withdrawals.node_id, withdrawals.reason_at

)

-- A node has one reason at a time: the next reason ends the previous withdrawal.
select
    withdrawals.cluster_id,
    withdrawals.node_id,
    withdrawals.reason_at,
    withdrawals.reason,
    withdrawals.reason_user,
    withdrawals.out_state,
    least(
        returned.returned_at,
        lead(withdrawals.reason_at) over (
            partition by withdrawals.cluster_id, withdrawals.node_id
            order by withdrawals.reason_at
        )
    ) as ended_at,
    withdrawals.source_path,
    withdrawals.source_line_number
from withdrawals
left join returned
    on
        withdrawals.cluster_id = returned.cluster_id
        and withdrawals.node_id = returned.node_id
        and withdrawals.reason_at = returned.reason_at
