-- Outages, planned ones apart; an open one counts until the end of the records. One row per cluster and kind.
with spans as (
    select
        outages.cluster_id,
        outages.node_id,
        outages.is_planned,
        outages.started_at,
        coalesce(outages.ended_at, greatest(clusters.last_at, outages.started_at)) as ended_at
    from marts.fct_node_outages as outages
    inner join marts.dim_clusters as clusters using (cluster_id)
)

select
    cluster_id,
    is_planned,
    count(*) as outage_count,
    count(distinct node_id) as node_count,
    sum(epoch(ended_at) - epoch(started_at)) / 3600 as outage_hours
from spans
group by cluster_id, is_planned
order by cluster_id, is_planned
