-- Causes whose rate was higher after its last change than before it, without doubt. One row per cluster and cause.
with last_changes as (
    select *
    from estimates.est_rate_changes
    where changed_at is not null
    qualify row_number() over (partition by cluster_id, failure_category order by changed_at desc) = 1
),

losses as (
    select
        suspects.cluster_id,
        incidents.failure_category,
        sum(suspects.lost_gpu_hours * suspects.incident_probability) / nullif(sum(suspects.incident_probability), 0)
            as lost_gpu_hours_per_incident
    from marts.fct_incident_suspects as suspects
    inner join marts.fct_incidents as incidents using (cluster_id, incident_id)
    where suspects.is_known
    group by suspects.cluster_id, incidents.failure_category
)

select
    cluster_id,
    last_changes.failure_category,
    coalesce(categories.label, last_changes.failure_category) as label,
    last_changes.changed_at,
    last_changes.rate_before,
    last_changes.rate_after,
    last_changes.ratio,
    last_changes.ratio_low,
    last_changes.ratio_high,
    last_changes.annotation,
    last_changes.event_count,
    last_changes.exposure,
    last_changes.confidence_level,
    losses.lost_gpu_hours_per_incident,
    epoch(clusters.study_to_at - last_changes.changed_at) / 86400 as days_since_change,
    epoch(clusters.study_to_at - clusters.study_from_at) / 86400 as study_days
from last_changes
inner join marts.dim_clusters as clusters using (cluster_id)
left join losses using (cluster_id, failure_category)
left join marts.dim_failure_categories as categories using (failure_category)
where last_changes.ratio_low > 1
order by cluster_id, last_changes.failure_category = 'all', last_changes.ratio desc
