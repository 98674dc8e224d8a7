-- The quality of the times of accounting. One row per cluster and quality.
select
    cluster_id, 'accounting' as kind, time_quality, count(*) as row_count,
    count(*) / sum(count(*)) over (partition by cluster_id) as row_ratio
from marts.fct_attempts
group by cluster_id, time_quality
order by cluster_id, row_count desc
