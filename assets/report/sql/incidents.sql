-- How failures came together. One row per cluster.
select
    cluster_id,
    count(*) as incident_count,
    count(*) filter (where attempt_count > 1) as shared_incident_count,
    max(attempt_count) as largest_attempt_count
from marts.fct_incidents
group by cluster_id
