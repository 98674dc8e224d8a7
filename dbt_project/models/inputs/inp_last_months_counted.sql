with
{{ seen_periods() }},

clusters as (
    select
        cluster_id,
        any_value(to_at) filter (where period = '30_days_before') as boundary_at,
        any_value(seen_days) filter (where period = 'last_30_days') as seen_days,
        any_value(seen_days) filter (where period = '30_days_before') as other_seen_days
    from seen_periods
    group by cluster_id
),

populations as (
    select unnest(['gpus_gt_128', 'whole_nodes', 'all', 'nodes']) as population
),

used_days as (
    select
        cluster_id,
        day_date,
        cast(study_hours as decimal(38, 9)) / 24 as node_days
    from {{ ref('fct_node_days') }}
    where study_hours > 0
),

-- Count all incidents over the nodes in use, shared or not; if no attempt names its nodes, over those of the attempts.
days as (
    select
        days.cluster_id,
        populations.population,
        days.day_date,
        days.node_days
    from {{ ref('inp_exposure_days_summed') }} as days
    inner join populations on {{ is_in_population('populations.population', 'days') }}
    where populations.population != 'all' or days.cluster_id not in (select used_days.cluster_id from used_days)
    union all
    select
        used_days.cluster_id,
        populations.population,
        used_days.day_date,
        used_days.node_days
    from used_days
    inner join populations on populations.population in ('all', 'nodes')
),

exposures as (
    select
        days.cluster_id,
        days.population,
        {{ exact_sum("if(period_days.period = 'last_30_days', days.node_days * period_days.share, null)") }}
            as node_days,
        {{ exact_sum("if(period_days.period = '30_days_before', days.node_days * period_days.share, null)") }}
            as other_node_days
    from days
    inner join period_days using (cluster_id, day_date)
    where not period_days.is_blind
    group by days.cluster_id, days.population
),

-- An incident belongs to its first failure.
failures as (
    select
        failed.cluster_id,
        populations.population,
        coalesce(failed.incident_id, failed.attempt_id) as incident_id,
        failed.failure_probability,
        min(failed.failed_at) over (
            partition by failed.cluster_id, populations.population, coalesce(failed.incident_id, failed.attempt_id)
        ) as failed_at
    from {{ ref('inp_exposures_failed') }} as failed
    inner join populations on {{ is_in_population('populations.population', 'failed') }}
    where failed.failure_probability > 0 and failed.node_days is not null
),

incidents as (
    select
        cluster_id,
        population,
        any_value(failed_at) as failed_at,
        max(failure_probability) as expected_count,
        max(failure_probability) * (2 - max(failure_probability)) as variance
    from failures
    group by cluster_id, population, incident_id
    union all
    select
        cluster_id,
        'nodes' as population,
        failed_at,
        expected_count,
        {{ incident_variance('expected_count', 'incident_probability') }} as variance
    from {{ ref('inp_node_incidents_counted') }}
    where has_nodes
),

-- An attempt that failed at midnight ran on the day before.
seen_incidents as (
    select
        incidents.*,
        period_days.period = 'last_30_days' as is_later
    from incidents
    inner join period_days
        on
            incidents.cluster_id = period_days.cluster_id
            and cast(incidents.failed_at - interval 1 microsecond as date) = period_days.day_date
            and incidents.failed_at > period_days.from_at
            and incidents.failed_at <= period_days.to_at
    where period_days.period != 'study' and not period_days.is_blind
),

counts as (
    select
        cluster_id,
        population,
        {{ exact_sum('if(is_later, expected_count, null)', 15) }} as failure_count,
        {{ exact_sum('if(is_later, variance, null)', 15) }} as failure_variance,
        {{ exact_sum('if(is_later, null, expected_count)', 15) }} as other_failure_count,
        {{ exact_sum('if(is_later, null, variance)', 15) }} as other_failure_variance
    from seen_incidents
    group by cluster_id, population
),

left_out as (
    select
        cluster_id,
        count(distinct day_date) as day_count
    from period_days
    where period != 'study' and is_blind
    group by cluster_id
)

select
    clusters.cluster_id,
    populations.population,
    cast(clusters.boundary_at as date) as boundary_date,
    clusters.seen_days,
    clusters.other_seen_days,
    coalesce(counts.failure_count, 0) as failure_count,
    coalesce(counts.failure_variance, 0) as failure_variance,
    coalesce(exposures.node_days, 0) as node_days,
    coalesce(counts.other_failure_count, 0) as other_failure_count,
    coalesce(counts.other_failure_variance, 0) as other_failure_variance,
    coalesce(exposures.other_node_days, 0) as other_node_days,
    coalesce(left_out.day_count, 0) as left_out_day_count
from clusters
cross join populations
left join counts using (cluster_id, population)
left join exposures using (cluster_id, population)
left join left_out using (cluster_id)
