with placed as (
    select
        nodes.cluster_id,
        nodes.node_id,
        nodes.rack,
        nodes.switch,
        nodes.nvlink_domain,
        nodes.position,
        if(nodes.is_gpu_node, nodes.gpu_model, null) as gpu_model
    from {{ ref('dim_nodes') }} as nodes
),

clusters as (
    select cluster_id
    from placed
    group by cluster_id
    having
        greatest(
            count(distinct rack), count(distinct switch), count(distinct nvlink_domain), count(distinct position),
            count(distinct gpu_model)
        ) > 1
),

days as (
    select
        cluster_id,
        node_id,
        study_hours / 24 as days,
        kinds > 0 as is_seen,
        max(kinds) over (partition by cluster_id) = 0 as is_blind
    from {{ ref('inp_node_days_seen') }}
    semi join clusters using (cluster_id)
)

select
    placed.*,
    coalesce({{ exact_sum('if(days.is_seen or days.is_blind, days.days, null)') }}, 0) as node_days
from placed
semi join clusters using (cluster_id)
left join days using (cluster_id, node_id)
group by all
