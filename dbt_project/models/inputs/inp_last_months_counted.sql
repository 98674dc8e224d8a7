with clusters as (
    select
        cluster_id,
        study_from_at,
        study_to_at as to_at,
        study_to_at - interval 30 day as boundary_at,
        study_to_at - interval 60 day as from_at
    from {{ ref('dim_clusters') }}
),

populations as (
    select unnest(['gpus_gt_128', 'whole_nodes', 'all', 'nodes']) as population
),

-- A day on which less than half of the nodes in use had a log that was understood shows no failure of most of them: it
-- is left out, unless no day has such a log.
sight as (
    select
        cluster_id,
        day_date,
        coalesce(sum(in_use_hours) filter (where kinds > 0), 0) >= 0.5 * sum(in_use_hours) as is_seen
    from {{ ref('inp_node_days_seen') }}
    group by cluster_id, day_date
),

blind_days as (
    select
        cluster_id,
        day_date
    from sight
    qualify not is_seen and bool_or(is_seen) over (partition by cluster_id)
),

days as (
    select
        days.cluster_id,
        populations.population,
        days.day_date,
        days.node_days
    from {{ ref('inp_exposure_days_summed') }} as days
    inner join populations on {{ is_in_population('populations.population', 'days') }}
    union all
    select
        cluster_id,
        'nodes' as population,
        day_date,
        cast(study_hours as decimal(38, 9)) / 24 as node_days
    from {{ ref('fct_node_days') }}
),

-- A day counts as far as it lies in the 30 days, of the hours that it has within the study period.
shares as (
    select
        days.cluster_id,
        days.population,
        days.node_days,
        epoch(
            least(days.day_date + interval 1 day, clusters.to_at)
            - greatest(cast(days.day_date as timestamp), clusters.study_from_at)
        ) as day_seconds,
        epoch(
            least(days.day_date + interval 1 day, clusters.to_at)
            - greatest(cast(days.day_date as timestamp), clusters.boundary_at, clusters.study_from_at)
        ) as later_seconds,
        epoch(
            least(days.day_date + interval 1 day, clusters.boundary_at)
            - greatest(cast(days.day_date as timestamp), clusters.from_at, clusters.study_from_at)
        ) as earlier_seconds
    from days
    inner join clusters using (cluster_id)
    anti join blind_days on days.cluster_id = blind_days.cluster_id and days.day_date = blind_days.day_date
),

exposures as (
    select
        cluster_id,
        population,
        {{ exact_sum('node_days * greatest(later_seconds, 0) / day_seconds') }} as node_days,
        {{ exact_sum('node_days * greatest(earlier_seconds, 0) / day_seconds') }} as other_node_days
    from shares
    where day_seconds > 0
    group by cluster_id, population
),

-- An incident falls on its first failure. What failed at midnight ran on the day before.
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

seen_incidents as (
    select
        incidents.*,
        incidents.failed_at > clusters.boundary_at as is_later
    from incidents
    inner join clusters
        on
            incidents.cluster_id = clusters.cluster_id
            and incidents.failed_at > clusters.from_at
            and incidents.failed_at <= clusters.to_at
    anti join blind_days
        on
            incidents.cluster_id = blind_days.cluster_id
            and cast(incidents.failed_at - interval 1 microsecond as date) = blind_days.day_date
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
        clusters.cluster_id,
        count(*) as day_count
    from clusters
    inner join blind_days
        on
            clusters.cluster_id = blind_days.cluster_id
            and clusters.to_at > blind_days.day_date
            and blind_days.day_date + interval 1 day > clusters.from_at
    group by clusters.cluster_id
)

select
    clusters.cluster_id,
    populations.population,
    cast(clusters.boundary_at as date) as boundary_date,
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
