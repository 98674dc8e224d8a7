-- Up to when each kind of log of a cluster tells something. One row per cluster and kind.
select
    spans.cluster_id,
    spans.kind,
    max(spans.to_at) as to_at,
    any_value(clusters.study_to_at) as study_to_at,
    epoch(any_value(clusters.study_to_at) - max(spans.to_at)) / 86400 as silent_days
from ops.spans as spans
inner join marts.dim_clusters as clusters using (cluster_id)
group by spans.cluster_id, spans.kind
order by spans.cluster_id, spans.kind
