with sight as (
    select
        cluster_id,
        node_id,
        day_date,
        bit_or(case kind when 'kernel' then 1 when 'health' then 2 else 4 end) as kinds
    from {{ source('ops', 'sight') }}
    group by cluster_id, node_id, day_date
)

select
    node_days.cluster_id,
    node_days.node_id,
    node_days.day_date,
    coalesce(nodes.gpu_vendor, 'nvidia') as gpu_vendor,
    coalesce(sight.kinds, 0) as kinds,
    cast(coalesce(node_days.allocated_gpu_hours, 0) as decimal(38, 9)) as allocated_gpu_hours,
    cast(coalesce(node_days.in_use_hours, 0) as decimal(38, 9)) as in_use_hours,
    cast(coalesce(node_days.study_hours, 0) as decimal(38, 9)) as study_hours
from {{ ref('fct_node_days') }} as node_days
left join {{ ref('dim_nodes') }} as nodes using (cluster_id, node_id)
left join sight using (cluster_id, node_id, day_date)
