-- The coverage of each kind of log, and its share of the study period of the cluster. One row per cluster and kind.
with spans as (
    select *, lag(to_at) over (partition by cluster_id, kind order by from_at) as previous_to_at
    from ops.spans
),

-- The share of the node-days in use on which the log could have shown a fault.
seen as (
    select
        node_days.cluster_id,
        kinds.kind,
        avg((sight.node_id is not null)::integer) as seen_node_days_ratio
    from marts.fct_node_days as node_days
    cross join (values ('health'), ('kernel'), ('events'), ('slurmctld')) as kinds (kind)
    left join ops.sight as sight
        on
            node_days.cluster_id = sight.cluster_id
            and node_days.node_id = sight.node_id
            and node_days.day_date = sight.day_date
            and kinds.kind = sight.kind
    where node_days.study_hours > 0
    group by node_days.cluster_id, kinds.kind
)

select
    spans.cluster_id, spans.kind,
    min(spans.from_at) as from_at,
    max(spans.to_at) as to_at,
    count(spans.previous_to_at) as gap_count,
    max_by(spans.previous_to_at, (spans.from_at - spans.previous_to_at, spans.from_at))
        filter (where spans.previous_to_at is not null) as longest_gap_from_at,
    max_by(spans.from_at, (spans.from_at - spans.previous_to_at, spans.from_at))
        filter (where spans.previous_to_at is not null) as longest_gap_to_at,
    string_agg(distinct spans.known_by, ', ' order by spans.known_by) as known_by,
    sum(greatest(
        0, epoch(least(spans.to_at, clusters.study_to_at) - greatest(spans.from_at, clusters.study_from_at))
    )) / nullif(any_value(epoch(clusters.study_to_at - clusters.study_from_at)), 0) as covered_ratio,
    epoch(any_value(clusters.study_to_at) - max(spans.to_at)) / 86400 as silent_days,
    any_value(seen.seen_node_days_ratio) as seen_node_days_ratio
from spans
inner join marts.dim_clusters as clusters using (cluster_id)
left join seen using (cluster_id, kind)
group by spans.cluster_id, spans.kind
order by spans.cluster_id, spans.kind
