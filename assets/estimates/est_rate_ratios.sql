-- Events and node-days of the two sides of every comparison: each pair of clusters, and of each cluster the two halves
-- of its days, the days from and before each annotation, and the last 30 days and the 30 days before them. The first side is divided by the second.
with clusters as (
    select
        cluster_id,
        is_simulated
    from marts.dim_clusters
),

rates as (
    select
        cluster_id,
        population,
        counted_as,
        failure_count,
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
        one.node_days,
        other.failure_count as other_failure_count,
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

attempt_days as (
    select
        cluster_id,
        day_date,
        sum(failure_count) as failure_count,
        max(node_days) as node_days
    from marts.agg_failure_rates_daily
    group by cluster_id, day_date
),

incident_days as (
    select
        cluster_id,
        cast(started_at as date) as day_date,
        count(*) as incident_count
    from marts.fct_incidents
    group by cluster_id, cast(started_at as date)
),

days as (
    select
        attempt_days.cluster_id,
        attempt_days.day_date,
        ways.counted_as,
        if(
            ways.counted_as = 'attempts', attempt_days.failure_count, coalesce(incident_days.incident_count, 0)
        ) as failure_count,
        cast(attempt_days.node_days as decimal(38, 9)) as node_days
    from attempt_days
    left join incident_days using (cluster_id, day_date)
    cross join (values ('attempts'), ('incidents')) as ways (counted_as)
    where attempt_days.node_days is not null
),

spans as (
    select
        cluster_id,
        min(day_date) as first_date,
        max(day_date) as last_date
    from days
    group by cluster_id
),

boundaries as (
    select
        clusters.cluster_id,
        'halves' as comparison,
        cast(spans.first_date + cast((spans.last_date - spans.first_date + 1) // 2 as integer) as date)
            as boundary_date,
        cast(null as varchar) as annotation,
        cast(null as date) as from_date
    from clusters
    left join spans using (cluster_id)
    union all
    select
        clusters.cluster_id,
        'months' as comparison,
        cast(spans.last_date - 29 as date) as boundary_date,
        cast(null as varchar) as annotation,
        cast(spans.last_date - 59 as date) as from_date
    from clusters
    left join spans using (cluster_id)
    union all
    select
        cluster_id,
        'annotation' as comparison,
        annotated_date as boundary_date,
        string_agg(annotation, '; ' order by annotation) as annotation,
        cast(null as date) as from_date
    from marts.dim_annotations
    group by cluster_id, annotated_date
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
        cast(sum(days.node_days) filter (where days.day_date >= boundaries.boundary_date) as double) as node_days,
        sum(days.failure_count) filter (where days.day_date < boundaries.boundary_date) as other_failure_count,
        cast(sum(days.node_days) filter (where days.day_date < boundaries.boundary_date) as double)
            as other_node_days
    from boundaries
    cross join (values ('attempts'), ('incidents')) as ways (counted_as)
    left join days
        on
            boundaries.cluster_id = days.cluster_id
            and ways.counted_as = days.counted_as
            and days.day_date >= coalesce(boundaries.from_date, days.day_date)
    group by all
),

compared as (
    select * from pairs
    union all
    select * from periods
),

incidents as (
    select
        * exclude (counted_as, failure_count, other_failure_count, is_reference),
        failure_count as incident_count,
        other_failure_count as other_incident_count
    from compared
    where counted_as = 'incidents'
)

select
    compared.* exclude (failure_count, other_failure_count),
    cast(compared.failure_count as bigint) as failure_count,
    cast(compared.other_failure_count as bigint) as other_failure_count,
    one.is_simulated,
    other.is_simulated as other_is_simulated,
    nullif(concat_ws(
        '; ',
        if(one.is_simulated != other.is_simulated, 'a simulated cluster against a real one', null),
        case
            when compared.comparison = 'clusters' and (compared.failure_count is null or compared.other_failure_count is null)
                then 'unknown for one of them, see est_failure_rates'
            when compared.comparison != 'clusters' and compared.node_days is null and compared.other_node_days is null
                then 'no failure to compare by day'
            when coalesce(compared.node_days, 0) = 0 or coalesce(compared.other_node_days, 0) = 0
                then 'no node-days on one side'
            when compared.failure_count + compared.other_failure_count = 0 then 'no failure on either side'
            when compared.other_failure_count = 0 then 'no failure on the second side: the ratio has a lower limit only'
        end,
        if(
            compared.counted_as = 'attempts'
            and compared.failure_count + compared.other_failure_count
            > incidents.incident_count + incidents.other_incident_count,
            format(
                '{:.4g} failed attempts were {:.4g} incidents: limits and p-value are too sure, see counted_as incidents',
                cast(compared.failure_count + compared.other_failure_count as double),
                cast(incidents.incident_count + incidents.other_incident_count as double)
            ),
            null
        )
    ), '') as note
from compared
left join incidents
    on
        compared.comparison = incidents.comparison
        and compared.cluster_id = incidents.cluster_id
        and compared.other_cluster_id = incidents.other_cluster_id
        and compared.population = incidents.population
        and compared.boundary_date is not distinct from incidents.boundary_date
inner join clusters as one on compared.cluster_id = one.cluster_id
inner join clusters as other on compared.other_cluster_id = other.cluster_id
order by
    compared.comparison, compared.cluster_id, compared.other_cluster_id, compared.boundary_date, compared.population,
    compared.counted_as
