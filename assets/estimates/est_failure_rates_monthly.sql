-- Failures and node-days of each cluster, month, population and way of counting.
select
    counts.* exclude (is_lower_bound),
    counts.is_lower_bound and coalesce(evidence.low < 0.9, true) as is_lower_bound,
    counts.seen_days >= counts.month_days - 1e-6 as is_whole_month,
    rates.is_reference
from intermediate.failure_counts as counts
inner join estimates.est_failure_rates as rates using (cluster_id, population, counted_as)
inner join marts.dim_clusters as clusters using (cluster_id)
left join estimates.est_evidence_reach as evidence
    on counts.cluster_id = evidence.cluster_id and counts.month_date = evidence.month_date
where counts.month_date < clusters.study_to_at
order by counts.cluster_id, counts.month_date, counts.population, counts.counted_as
