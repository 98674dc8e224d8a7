-- GPU-hours that an incident of a known node costs on average, each as far as it is one; NULL where no loss is known.
-- One row per cluster and cause, and one for all causes together.
select
    suspects.cluster_id,
    coalesce(incidents.failure_category, 'all') as failure_category,
    sum(suspects.lost_gpu_hours * suspects.incident_probability) / nullif(sum(suspects.incident_probability), 0)
        as lost_gpu_hours
from marts.fct_incident_suspects as suspects
inner join marts.fct_incidents as incidents using (cluster_id, incident_id)
where suspects.is_known
group by suspects.cluster_id, rollup (incidents.failure_category)
