-- What incidents of known nodes cost, each as far as it is one. One row per cluster and cause.
select
    suspects.cluster_id,
    incidents.failure_category,
    sum(suspects.incident_probability) as incident_count,
    sum(suspects.lost_gpu_hours * suspects.incident_probability) as lost_gpu_hours
from marts.fct_incident_suspects as suspects
inner join marts.fct_incidents as incidents using (cluster_id, incident_id)
where suspects.is_known
group by suspects.cluster_id, incidents.failure_category
