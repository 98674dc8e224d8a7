-- The quality of the times of kernel messages, if the file has the messages. One row per cluster and quality.
select
    cluster_id, 'kernel' as kind, time_quality, count(*) as row_count,
    count(*) / sum(count(*)) over (partition by cluster_id) as row_ratio
from raw.kernel_messages
where disposition = 'loaded'
group by cluster_id, time_quality
order by cluster_id, row_count desc
