-- What an incident of a known node costs. One row per cluster and cause, and one of the cause `all`.
select
    suspects.cluster_id,
    coalesce(incidents.failure_category, 'all') as failure_category,
    sum(suspects.lost_gpu_hours * suspects.incident_probability) / nullif(sum(suspects.incident_probability), 0)
        as lost_gpu_hours_per_incident
from marts.fct_incident_suspects as suspects
inner join marts.fct_incidents as incidents using (cluster_id, incident_id)
where suspects.is_known
group by grouping sets ((suspects.cluster_id, incidents.failure_category), (suspects.cluster_id))
