-- Suspects of hidden failures, surest first, GPUs held without use, and of each cluster how many nodes were compared.
-- One row per suspect, one of idle GPUs, and one per cluster without a suspect.
select
    hidden.*,
    nodes.node_name,
    count(distinct hidden.node_id) filter (where hidden.method <> 'not_compared')
        over (partition by hidden.cluster_id) as compared_count
from estimates.est_hidden_failures as hidden
left join marts.dim_nodes as nodes using (cluster_id, node_id)
qualify
    hidden.is_suspect
    or hidden.kind = 'idle_gpus'
    or row_number() over (partition by hidden.cluster_id order by hidden.is_suspect desc, hidden.kind) = 1
order by hidden.is_suspect desc, hidden.q_value nulls last, hidden.low desc, hidden.kind, hidden.node_id
