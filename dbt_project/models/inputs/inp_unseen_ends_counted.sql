with ends as (
    select
        cluster_id,
        attempt_id,
        gpu_size_bin,
        is_whole_node,
        cast(seen_to_at as date) as day_date
    from {{ ref('fct_attempt_exposures') }}
    anti join (
        from {{ ref('fct_attempts') }}
        where end_reason is not null
    ) as planned
        using (cluster_id, attempt_id)
    where state in ('FAILED', 'REQUEUED') and not is_paper_failure
),

unseen as (
    select distinct
        ends.cluster_id,
        ends.attempt_id
    from ends
    left join {{ ref('fct_attempt_nodes') }} as attempt_nodes using (cluster_id, attempt_id)
    left join {{ ref('inp_node_days_seen') }} as sight
        on
            attempt_nodes.cluster_id = sight.cluster_id
            and attempt_nodes.node_id = sight.node_id
            and ends.day_date = sight.day_date
    where coalesce(sight.kinds, 0) = 0
)

select
    ends.cluster_id,
    ends.day_date,
    ends.gpu_size_bin,
    ends.is_whole_node,
    count(*) as attempt_count
from ends
semi join unseen using (cluster_id, attempt_id)
group by ends.cluster_id, ends.day_date, ends.gpu_size_bin, ends.is_whole_node
