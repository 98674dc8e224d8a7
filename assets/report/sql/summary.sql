-- The few numbers of a cluster that fit into a message. One row per cluster.
with rates as (
    select *
    from estimates.est_failure_rates
    where is_reference
    qualify row_number() over (partition by cluster_id order by counted_as) = 1
),

spread as (
    select
        cluster_id,
        max(greatest(1.0, failure_variance / nullif(failure_count, 0))) as dispersion
    from estimates.est_failure_rates
    where population = 'all' and counted_as = 'attempts'
    group by cluster_id
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

days as (
    select
        cluster_id,
        day_date,
        sum(failure_count) as failure_count,
        max(node_days) as node_days,
        max(day_date) over (partition by cluster_id) as last_date
    from marts.agg_failure_rates_daily
    group by cluster_id, day_date
),

months as (
    select
        cluster_id,
        sum(failure_count) filter (where day_date > last_date - 30) as failure_count,
        sum(node_days) filter (where day_date > last_date - 30) as node_days,
        sum(failure_count) filter (where day_date <= last_date - 30) as earlier_failure_count,
        sum(node_days) filter (where day_date <= last_date - 30) as earlier_node_days,
        count(*) filter (where day_date <= last_date - 30) as earlier_day_count
    from days
    where day_date > last_date - 60
    group by cluster_id
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
    spread.dispersion,
    months.failure_count as month_failure_count,
    months.node_days as month_node_days,
    months.earlier_failure_count,
    months.earlier_node_days,
    months.earlier_day_count
from marts.dim_clusters as clusters
left join rates using (cluster_id)
left join spread using (cluster_id)
left join losses using (cluster_id)
left join costly_causes using (cluster_id)
left join months using (cluster_id)
left join estimates.est_mttf_projections as projections
    on clusters.cluster_id = projections.cluster_id and projections.is_cluster_size
order by clusters.is_simulated, cluster_id
