with clusters as (
    select
        cluster_id,
        coalesce(gpus_per_node, 0) > 0 as has_gpus_per_node,
        has_accounting,
        has_health_checks or has_kernel_messages or has_node_events or has_slurmctld_log as has_evidence,
        coalesce(study_from_at >= study_to_at, false) as is_without_time
    from {{ ref('dim_clusters') }}
),

-- No failure was seen, but some ends could not be judged: the count is unknown.
judged as (
    select
        sums.* replace (sums.is_unknowable or not clusters.has_accounting as is_unknowable),
        sums.failure_count = 0 and sums.unseen_count > 0 as is_unseen,
        -- in a month, including what began before it
        sums.attempt_count > 0 or sums.node_days > 0 as has_run,
        clusters.has_gpus_per_node,
        clusters.has_evidence,
        clusters.is_without_time,
        periods.* exclude (cluster_id, period)
    from {{ ref('inp_failures_summed') }} as sums
    inner join {{ ref('inp_study_months_listed') }} as periods using (cluster_id, period)
    inner join clusters using (cluster_id)
),

-- Exposure alone decides which rate is quoted. If failures counted, a cluster whose large jobs never fail would be
-- quoted by jobs that do. Jobs on shared nodes each count all node-days, but a node's failure ends only one of them. So
-- quote large jobs if at least nine tenths of their node-days are not known to be shared.
quoted as (
    select
        cluster_id,
        case
            when
                max(node_days - shared_node_days) filter (where population = 'gpus_gt_128')
                >= greatest(300, 0.9 * max(node_days) filter (where population = 'gpus_gt_128'))
                then 'gpus_gt_128'
            when max(node_days) filter (where population = 'whole_nodes') >= 300 then 'whole_nodes'
            when max(node_days) filter (where population = 'nodes') > 0 then 'nodes'
            else 'all'
        end as population
    from judged
    where month_date is null and not is_unknowable
    group by cluster_id
)

select
    judged.cluster_id,
    judged.month_date,
    judged.population,
    judged.counted_as,
    judged.seen_days,
    judged.month_days,
    judged.begins_in_study,
    judged.is_over,
    judged.population = coalesce(quoted.population, 'all')
    and judged.counted_as = if(judged.population = 'nodes', 'incidents', 'attempts') as is_reference,
    if(judged.is_unknowable or judged.is_unseen, null, judged.failure_count) as failure_count,
    if(judged.is_unknowable or judged.is_unseen, null, judged.count_variance + judged.parameter_variance)
        as failure_variance,
    judged.count_variance,
    if(judged.is_unknowable, null, judged.node_days) as node_days,
    cast(if(judged.is_unknowable, null, judged.unexplained_count) as bigint) as unexplained_count,
    judged.unexplained_count > 0 or (judged.has_run and not judged.has_evidence) as is_lower_bound,
    nullif(concat_ws(
        '; ',
        if(
            judged.seen_days < judged.month_days - 1e-6,
            format('not a whole month: {:.4g} of its {} days were seen', judged.seen_days, judged.month_days),
            null
        ),
        case
            when judged.is_unknowable and judged.population = 'nodes' then 'no attempt names its nodes'
            when judged.is_unknowable and judged.population = 'whole_nodes' and not judged.has_gpus_per_node
                then 'GPUs per node unknown'
            when judged.is_unknowable then 'the GPU count of every attempt is unknown'
            when not judged.has_run
                then
                    'no attempt ran' || case judged.population
                        when 'gpus_gt_128' then ' with more than 128 GPUs' when
                            'whole_nodes'
                            then ' on whole nodes'
                        else ''
                    end
            when judged.node_days = 0 and judged.is_without_time
                then
                    'no time is studied yet: that begins with the first end of an attempt, or where [[spans]] in '
                    || 'cluster.toml says that accounting is complete'
            when judged.node_days = 0 then 'the attempts add up to no node-days'
            when judged.is_unseen
                then format(
                    'not observable: {} ended FAILED on nodes without an understood log',
                    if(
                        judged.unseen_count = 1,
                        '1 attempt',
                        format('{:d} attempts', cast(judged.unseen_count as bigint))
                    )
                )
            when judged.failure_count = 0
                then format('no failure in {:.4g} node-days: only the upper limit is known', judged.node_days)
        end,
        if(
            not judged.has_evidence and judged.has_run and not judged.is_unseen,
            'a lower bound, as only NODE_FAIL counts: no health checks, kernel messages or node events to judge the '
            || 'FAILED attempts by',
            null
        ),
        if(
            judged.has_evidence and judged.unseen_count > 0 and not judged.is_unseen and not judged.is_unknowable,
            format(
                'a lower bound, as no log was understood where FAILED attempts ended: {:d}',
                cast(judged.unseen_count as bigint)
            ),
            null
        ),
        if(judged.gap_days > 0, format('days left out, accounting is missing: {:.4g}', judged.gap_days), null),
        if(
            judged.unknown_count > 0 and not judged.is_unknowable,
            format(
                'attempts left out, {}: {}',
                if(judged.population = 'gpus_gt_128', 'GPU count unknown', 'unknown whether they had whole nodes'),
                judged.unknown_count
            ),
            null
        ),
        if(
            judged.unmeasured_running_count > 0 and not judged.is_unknowable,
            format('running attempts left out, time run so far unknown: {}', judged.unmeasured_running_count),
            null
        ),
        if(
            judged.unmeasured_failure_count > 0 and not judged.is_unknowable,
            format(
                'failures left out, {} unknown: {}',
                if(judged.population = 'nodes', 'nodes', 'node-days'),
                judged.unmeasured_failure_count
            ),
            null
        )
    ), '') as note
from judged
left join quoted using (cluster_id)
