-- Failures and node-days of each calendar month of the reference population, as far as the study period shows it, with
-- the month that is not over. The variance is that of the counts: other parameters of the posterior move all months alike.
select
    counts.cluster_id,
    counts.month_date,
    counts.population,
    counts.counted_as,
    counts.seen_days,
    counts.month_days,
    clusters.study_to_at >= cast(counts.month_date as timestamp) + interval 1 month as is_over,
    coalesce(counts.node_days, 0) as node_days,
    coalesce(counts.failure_count, 0) as failure_count,
    if(counts.failure_count > 0, counts.count_variance, 0) as failure_variance
from intermediate.failure_counts as counts
inner join estimates.est_failure_rates as reference using (cluster_id, population, counted_as)
inner join marts.dim_clusters as clusters using (cluster_id)
-- Where failures could not be seen, none is foretold.
where counts.month_date is not null and reference.is_reference and reference.failure_count is not null
order by counts.cluster_id, counts.month_date
