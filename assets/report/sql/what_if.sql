-- What the sliders start from: the reference rate with what it rests on, the machine, its settings. One row per cluster.
with rates as (
    select *
    from estimates.est_failure_rates
    where is_reference
    qualify row_number() over (partition by cluster_id order by counted_as) = 1
),

plans as (
    select
        cluster_id,
        max(restart_minutes) as restart_minutes,
        max(write_minutes) as write_minutes,
        max(planned_days) as planned_days,
        max(ettr_target) as ettr_target
    from estimates.est_checkpoint_plans
    group by cluster_id
),

repairs as (
    select
        cluster_id,
        count(*) as repair_count,
        avg(epoch(ended_at) - epoch(started_at)) / 3600 as repair_hours
    from marts.fct_node_outages
    where not is_planned and ended_at is not null
    group by cluster_id
)

select
    cluster_id,
    rates.population,
    rates.failure_count,
    rates.failure_variance,
    rates.node_days,
    rates.note,
    clusters.is_simulated,
    clusters.gpus_per_node,
    clusters.gpu_count,
    clusters.checkpoint_minutes,
    plans.restart_minutes,
    plans.write_minutes,
    plans.planned_days,
    plans.ettr_target,
    repairs.repair_count,
    repairs.repair_hours
from marts.dim_clusters as clusters
left join rates using (cluster_id)
left join plans using (cluster_id)
left join repairs using (cluster_id)
order by cluster_id
