-- How exact the times are, where that is not beyond doubt. One row per cluster, kind of record and quality.
with times as (
    select cluster_id, 'accounting' as kind, time_quality from marts.fct_attempts
    union all
    select cluster_id, 'kernel' as kind, time_quality from raw.kernel_messages where disposition = 'loaded'
)

select
    cluster_id,
    kind,
    time_quality,
    count(*) as row_count,
    count(*) / sum(count(*)) over (partition by cluster_id, kind) as row_ratio
from times
group by cluster_id, kind, time_quality
order by cluster_id, kind, row_count desc
