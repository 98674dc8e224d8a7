-- The few numbers of a cluster that fit into a message. One row per cluster.
with rates as (
    select *
    from estimates.est_failure_rates
    where is_reference
    qualify row_number() over (partition by cluster_id order by counted_as) = 1
),

losses as (
    select
        cluster_id,
        sum(lost_gpu_hours) as lost_gpu_hours,
        sum(lost_cost) as lost_cost,
        any_value(currency) as currency
    from marts.agg_lost_hours_by_account
    group by cluster_id
),

costly_causes as (
    select
        failures.cluster_id,
        coalesce(categories.label, failures.failure_category) as label,
        sum(failures.lost_gpu_hours) as lost_gpu_hours,
        sum(failures.lost_gpu_hours) / nullif(sum(sum(failures.lost_gpu_hours)) over (
            partition by failures.cluster_id
        ), 0) as lost_ratio
    from marts.fct_failures as failures
    left join marts.dim_failure_categories as categories using (failure_category)
    group by failures.cluster_id, coalesce(categories.label, failures.failure_category)
    qualify row_number() over (partition by failures.cluster_id order by sum(failures.lost_gpu_hours) desc) = 1
),

months as (
    select
        cluster_id,
        ratio,
        ratio_low,
        ratio_high
    from estimates.est_rate_ratios
    where comparison = 'months' and counted_as = 'incidents'
)

select
    cluster_id,
    clusters.is_simulated,
    clusters.is_stale,
    clusters.node_count,
    clusters.gpu_count,
    clusters.last_at,
    epoch(clusters.study_to_at - clusters.study_from_at) / 86400 as study_days,
    rates.population,
    rates.failure_count,
    rates.node_days,
    rates.failures_per_1000_node_days,
    rates.failures_per_1000_node_days_low,
    rates.failures_per_1000_node_days_high,
    rates.confidence_level,
    projections.mttf_hours,
    projections.mttf_hours_low,
    projections.mttf_hours_high,
    losses.lost_gpu_hours,
    losses.lost_cost,
    losses.currency,
    costly_causes.label as costly_label,
    costly_causes.lost_ratio as costly_ratio,
    months.ratio as month_ratio,
    months.ratio_low as month_ratio_low,
    months.ratio_high as month_ratio_high
from marts.dim_clusters as clusters
left join rates using (cluster_id)
left join losses using (cluster_id)
left join costly_causes using (cluster_id)
left join months using (cluster_id)
left join estimates.est_mttf_projections as projections
    on clusters.cluster_id = projections.cluster_id and projections.is_cluster_size
order by clusters.is_simulated, cluster_id
