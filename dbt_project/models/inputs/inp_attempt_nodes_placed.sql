select
    cluster_id,
    attempt_id,
    node_id
from {{ ref('fct_attempt_nodes') }}
semi join (
    select
        cluster_id,
        attempt_id
    from {{ ref('inp_incident_nodes_found') }}
    group by cluster_id, attempt_id
    having count(*) > 1
) as several using (cluster_id, attempt_id)
