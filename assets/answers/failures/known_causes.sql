-- Failed attempts and their losses by whether the cause is known; each counts with the probability that infrastructure
-- ended it. One row per cluster and kind, and one for all kinds.
with failures as (
    select
        cluster_id,
        case when is_attributed then 'Attributed' when has_coverage then 'Unexplained' else 'No coverage' end as kind,
        posterior_probability,
        posterior_probability * lost_gpu_hours as lost_gpu_hours
    from marts.fct_failures
),

kinds as (
    from (select distinct cluster_id from failures)
    cross join (values (1, 'Attributed'), (2, 'Unexplained'), (3, 'No coverage'), (4, 'all')) as kinds (place, kind)
)

select
    kinds.cluster_id,
    kinds.kind,
    count(failures.cluster_id) as attempt_count,
    coalesce(sum(failures.posterior_probability), 0) as expected_count,
    expected_count / max(expected_count) over (partition by kinds.cluster_id) as ratio,
    if(attempt_count = 0, 0, sum(failures.lost_gpu_hours)) as lost_gpu_hours
from kinds
left join failures
    on kinds.cluster_id = failures.cluster_id and (kinds.kind = failures.kind or kinds.kind = 'all')
group by kinds.cluster_id, kinds.place, kinds.kind
order by kinds.cluster_id, kinds.place
