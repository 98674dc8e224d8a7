-- Incidents, each counted with its probability, their expected losses, and the loss per incident of known GPU count.
-- One row per cluster and cause, and one for all causes together.
select
    cluster_id,
    coalesce(failure_category, 'all') as failure_category,
    sum(incident_probability) as incident_count,
    sum(incident_probability) filter (where attempt_count > 1) as shared_incident_count,
    max(attempt_count) as largest_attempt_count,
    sum(expected_lost_gpu_hours) as lost_gpu_hours,
    sum(expected_lost_gpu_hours)
    / nullif(sum(incident_probability) filter (where expected_lost_gpu_hours is not null), 0) as incident_loss_gpu_hours
from marts.fct_incidents
group by cluster_id, rollup (failure_category)
