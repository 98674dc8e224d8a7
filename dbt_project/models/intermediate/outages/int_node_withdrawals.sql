with

changes as (

    select * from {{ ref('int_node_service_changes') }}
    where kind in ('request', 'detection')

),

-- A health check that sets the same reason every few minutes has asked once.
asked_once as (

    select
        *,
        max(state) over (
            partition by cluster_id, node_id, return_count, lower(reason)
        ) as state_of_reason
    from changes
    qualify
        row_number() over (
            partition by cluster_id, node_id, return_count, lower(reason)
            order by changed_at, source_path, source_line_number
        ) = 1

)

select
    cluster_id,
    node_id,
    changed_at as withdrawn_at,
    kind,
    state_of_reason as state,
    reason,
    job_id_raw,
    return_count,
    source_path,
    source_line_number
from asked_once
