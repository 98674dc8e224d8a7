-- Time out of service by cause, or by the text of a reason that no rule knows. One row per cause or text.
select
    outages.cluster_id,
    outages.failure_category,
    if(outages.failure_category = 'unmapped', lower(outages.reason), null) as unmapped_reason,
    outages.is_planned,
    count(*) as outage_count,
    count(distinct outages.node_id) as node_count,
    arg_max(outages.reason, outages.started_at) as last_reason,
    sum(epoch(coalesce(outages.ended_at, greatest(clusters.last_at, outages.started_at))) - epoch(outages.started_at))
    / 3600 as node_hours
from marts.fct_node_outages as outages
inner join marts.dim_clusters as clusters using (cluster_id)
group by all
order by node_hours desc, failure_category, unmapped_reason
