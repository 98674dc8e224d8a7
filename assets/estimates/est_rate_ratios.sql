-- Failures and node-days of the two sides of every comparison: each pair of clusters, and of each cluster the two halves
-- of its study period, the days from and before each annotation, and the last 30 days and the 30 days before them. The
-- first side is divided by the second. What is added up is added as decimals: exactly, so that a sum does not depend on
-- the order in which threads deliver it.
with clusters as (
    select
        cluster_id,
        is_simulated,
        cast(study_from_at as date) as first_date,
        -- a study that ends at midnight does not reach the day that begins then
        cast(study_to_at - interval 1 microsecond as date) as last_date
    from marts.dim_clusters
),

rates as (
    select
        cluster_id,
        population,
        counted_as,
        failure_count,
        failure_variance,
        node_days,
        is_reference
    from estimates.est_failure_rates
    where population in ('all', 'gpus_gt_128') and counted_as in ('attempts', 'incidents')
),

-- the population to quote for two clusters is one that both have
reference_populations as (
    select
        cluster_id,
        bool_or(is_reference and population = 'gpus_gt_128') as is_above_128
    from rates
    group by cluster_id
),

pairs as (
    select
        'clusters' as comparison,
        one.cluster_id,
        other.cluster_id as other_cluster_id,
        cast(null as date) as boundary_date,
        cast(null as varchar) as annotation,
        one.population,
        one.counted_as,
        one.counted_as = 'attempts'
        and one.population
        = if(one_reference.is_above_128 and other_reference.is_above_128, 'gpus_gt_128', 'all') as is_reference,
        one.failure_count,
        one.failure_variance,
        one.node_days,
        other.failure_count as other_failure_count,
        other.failure_variance as other_failure_variance,
        other.node_days as other_node_days
    from rates as one
    inner join rates as other
        on
            one.cluster_id < other.cluster_id
            and one.population = other.population
            and one.counted_as = other.counted_as
    inner join reference_populations as one_reference on one.cluster_id = one_reference.cluster_id
    inner join reference_populations as other_reference on other.cluster_id = other_reference.cluster_id
),

exposure_days as (
    select
        cluster_id,
        day_date,
        sum(node_days) as node_days
    from intermediate.exposure_days
    group by cluster_id, day_date
),

-- An incident falls on the day of its first failure. w is the probability that it is real, w m what it is expected to
-- have taken. A failure whose node-days are unknown would raise the rate without its exposure.
incidents as (
    select
        cluster_id,
        coalesce(incident_id, attempt_id) as incident_id,
        cast(min(failed_at) as date) as day_date,
        max(failure_probability) as real_probability,
        cast(sum(cast(failure_probability as decimal(38, 15))) as double) as expected_count
    from intermediate.failed_exposures
    where failure_probability > 0 and node_days is not null
    group by cluster_id, coalesce(incident_id, attempt_id)
),

-- Variance as in est_failure_rates, without that of the parameters of the posterior: they move both sides alike.
incident_days as (
    select
        cluster_id,
        day_date,
        sum(cast(expected_count as decimal(38, 15))) as attempt_count,
        sum(cast(
            expected_count * expected_count / real_probability * (2 - real_probability) as decimal(38, 15)
        )) as attempt_variance,
        sum(cast(real_probability as decimal(38, 15))) as incident_count,
        sum(cast(real_probability * (2 - real_probability) as decimal(38, 15))) as incident_variance
    from incidents
    group by cluster_id, day_date
),

days as (
    select
        cluster_id,
        day_date,
        node_days,
        ways.counted_as,
        if(ways.counted_as = 'attempts', attempt_count, incident_count) as failure_count,
        if(ways.counted_as = 'attempts', attempt_variance, incident_variance) as failure_variance
    from exposure_days
    full outer join incident_days using (cluster_id, day_date)
    cross join (values ('attempts'), ('incidents')) as ways (counted_as)
),

boundaries as (
    select
        cluster_id,
        'halves' as comparison,
        cast(first_date + cast((last_date - first_date + 1) // 2 as integer) as date) as boundary_date,
        cast(null as varchar) as annotation,
        first_date as from_date
    from clusters
    union all
    select
        cluster_id,
        'months' as comparison,
        cast(last_date - 29 as date) as boundary_date,
        cast(null as varchar) as annotation,
        cast(last_date - 59 as date) as from_date
    from clusters
    union all
    select
        annotations.cluster_id,
        'annotation' as comparison,
        annotations.annotated_date as boundary_date,
        string_agg(annotations.annotation, '; ' order by annotations.annotation) as annotation,
        clusters.first_date as from_date
    from marts.dim_annotations as annotations
    inner join clusters on annotations.cluster_id = clusters.cluster_id
    group by annotations.cluster_id, annotations.annotated_date, clusters.first_date
),

periods as (
    select
        boundaries.comparison,
        boundaries.cluster_id,
        boundaries.cluster_id as other_cluster_id,
        boundaries.boundary_date,
        boundaries.annotation,
        'all' as population,
        ways.counted_as,
        ways.counted_as = 'attempts' as is_reference,
        sum(days.failure_count) filter (where days.day_date >= boundaries.boundary_date) as failure_count,
        sum(days.failure_variance) filter (where days.day_date >= boundaries.boundary_date) as failure_variance,
        sum(days.node_days) filter (where days.day_date >= boundaries.boundary_date) as node_days,
        sum(days.failure_count) filter (where days.day_date < boundaries.boundary_date) as other_failure_count,
        sum(days.failure_variance) filter (where days.day_date < boundaries.boundary_date) as other_failure_variance,
        sum(days.node_days) filter (where days.day_date < boundaries.boundary_date) as other_node_days
    from boundaries
    cross join (values ('attempts'), ('incidents')) as ways (counted_as)
    left join days
        on
            boundaries.cluster_id = days.cluster_id
            and ways.counted_as = days.counted_as
            and boundaries.from_date <= days.day_date
    group by all
),

compared as (
    select * from pairs
    union all
    select * replace (
        cast(coalesce(failure_count, 0) as double) as failure_count,
        cast(coalesce(failure_variance, 0) as double) as failure_variance,
        cast(coalesce(node_days, 0) as double) as node_days,
        cast(coalesce(other_failure_count, 0) as double) as other_failure_count,
        cast(coalesce(other_failure_variance, 0) as double) as other_failure_variance,
        cast(coalesce(other_node_days, 0) as double) as other_node_days
    )
    from periods
)

select
    compared.*,
    one.is_simulated,
    other.is_simulated as other_is_simulated,
    nullif(concat_ws(
        '; ',
        if(one.is_simulated != other.is_simulated, 'a simulated cluster against a real one', null),
        case
            when compared.failure_count is null or compared.other_failure_count is null
                then 'unknown for one of them, see est_failure_rates'
            when compared.node_days = 0 or compared.other_node_days = 0 then 'no node-days on one side'
            when compared.failure_count + compared.other_failure_count = 0 then 'no failure on either side'
            when compared.other_failure_count = 0 then 'no failure on the second side: the ratio has a lower limit only'
        end
    ), '') as note
from compared
inner join clusters as one on compared.cluster_id = one.cluster_id
inner join clusters as other on compared.other_cluster_id = other.cluster_id
order by
    compared.comparison, compared.cluster_id, compared.other_cluster_id, compared.boundary_date, compared.population,
    compared.counted_as
