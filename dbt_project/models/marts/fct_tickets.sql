with

repairs as (

    select * from {{ ref('stg_tickets__repairs') }}

),

components as (

    select * from {{ ref('ticket_components') }}

)

select
    repairs.cluster_id,
    repairs.ticket_id,
    repairs.node_id,
    repairs.opened_at,
    repairs.closed_at,
    repairs.component,
    coalesce(components.failure_category, 'unmapped') as failure_category,
    repairs.component_raw,
    repairs.action,
    repairs.status,
    repairs.summary,
    repairs.source_path,
    repairs.source_line_number
from repairs
left join components on repairs.component = components.component
