select
    failures.*,
    epoch(failures.failed_at) as seconds
from {{ ref('inp_incident_nodes_found') }} as failures
left join {{ ref('inp_node_days_seen') }} as sight
    on
        failures.cluster_id = sight.cluster_id
        and failures.node_id = sight.node_id
        and cast(failures.failed_at - interval 1 microsecond as date) = sight.day_date
where
    sight.kinds > 0
    or failures.cluster_id not in (
        select seen.cluster_id from {{ ref('inp_node_days_seen') }} as seen
        where seen.kinds > 0
    )
