-- Failures and node-days of each cluster, population and way of counting.
-- Node-days are summed as decimals: exactly, so that the sum does not depend on the order in which threads deliver it.
with clusters as (
    select
        cluster_id,
        has_health_checks or has_kernel_messages or has_node_events or has_slurmctld_log as has_evidence
    from marts.dim_clusters
),

attempts as (
    select
        cluster_id,
        attempt_id,
        incident_id,
        gpu_count,
        cast(node_days as decimal(38, 9)) as node_days,
        coalesce(is_infrastructure_failure, false) as is_failure
    from marts.fct_attempts
    where is_terminal
),

cells as (
    select
        clusters.cluster_id,
        clusters.has_evidence,
        populations.population,
        ways.counted_as
    from clusters
    cross join (values ('gpus_gt_128'), ('all')) as populations (population)
    cross join (values ('attempts'), ('incidents')) as ways (counted_as)
),

members as (
    select *, 'gpus_gt_128' as population from attempts where gpu_count > 128
    union all
    select *, 'all' as population from attempts
),

-- a failure whose node-days are unknown would raise the rate without its exposure
counts as (
    select
        cluster_id,
        population,
        count(*) as attempt_count,
        count(*) filter (where is_failure and node_days is not null) as failed_attempt_count,
        count(distinct coalesce(incident_id, attempt_id))
            filter (where is_failure and node_days is not null) as incident_count,
        count(*) filter (where is_failure and node_days is null) as unmeasured_failure_count,
        coalesce(cast(sum(node_days) as double), 0) as node_days
    from members
    group by cluster_id, population
),

sizes as (
    select
        cluster_id,
        count(*) filter (where gpu_count is null) as unknown_size_count,
        count(gpu_count) = 0 as is_every_size_unknown
    from attempts
    group by cluster_id
),

joined as (
    select
        cells.cluster_id,
        cells.population,
        cells.counted_as,
        cells.has_evidence,
        cells.population = 'gpus_gt_128' and coalesce(sizes.is_every_size_unknown, false) as is_unknowable,
        if(cells.population = 'gpus_gt_128', coalesce(sizes.unknown_size_count, 0), 0) as unknown_size_count,
        coalesce(counts.attempt_count, 0) as attempt_count,
        coalesce(counts.unmeasured_failure_count, 0) as unmeasured_failure_count,
        coalesce(
            if(cells.counted_as = 'attempts', counts.failed_attempt_count, counts.incident_count), 0
        ) as failure_count,
        coalesce(counts.node_days, 0) as node_days
    from cells
    left join counts using (cluster_id, population)
    left join sizes using (cluster_id)
),

reference as (
    select
        cluster_id,
        if(bool_or(population = 'gpus_gt_128' and failure_count > 0 and node_days > 0), 'gpus_gt_128', 'all')
            as population
    from joined
    group by cluster_id
)

select
    joined.cluster_id,
    joined.population,
    joined.counted_as,
    if(joined.is_unknowable, null, joined.failure_count) as failure_count,
    if(joined.is_unknowable, null, joined.node_days) as node_days,
    joined.counted_as = 'attempts' and joined.population = reference.population as is_reference,
    nullif(concat_ws(
        '; ',
        case
            when joined.is_unknowable then 'the GPU count of every attempt is unknown'
            when joined.attempt_count = 0 and joined.population = 'all' then 'no finished attempt'
            when joined.attempt_count = 0 then 'no finished attempt with more than 128 GPUs'
            when joined.node_days = 0 then 'the finished attempts add up to no node-days'
            when joined.failure_count = 0
                then format('no failure in {:.4g} node-days: only the upper limit is known', joined.node_days)
        end,
        if(
            not joined.has_evidence and joined.attempt_count > 0,
            'a lower bound, as only NODE_FAIL counts: no health checks, kernel messages or node events to judge the '
            || 'FAILED attempts by',
            null
        ),
        if(
            joined.unknown_size_count > 0 and not joined.is_unknowable,
            format('finished attempts left out, GPU count unknown: {}', joined.unknown_size_count),
            null
        ),
        if(
            joined.unmeasured_failure_count > 0,
            format('failures left out, node-days unknown: {}', joined.unmeasured_failure_count),
            null
        )
    ), '') as note
from joined
inner join reference using (cluster_id)
order by joined.cluster_id, joined.population, joined.counted_as
