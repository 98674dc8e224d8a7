with clusters as (
    select
        cluster_id,
        cast(study_from_at as date) as first_date,
        -- a study that ends at midnight does not include the next day
        cast(study_to_at - interval 1 microsecond as date) as last_date
    from {{ ref('dim_clusters') }}
),

halves as (
    select
        cluster_id,
        first_date,
        cast(first_date + cast((last_date - first_date + 1) // 2 as integer) as date) as boundary_date
    from clusters
),

exposures as (
    select
        days.cluster_id,
        sum(days.node_days) filter (where days.day_date >= halves.boundary_date) as node_days,
        sum(days.node_days) filter (where days.day_date < halves.boundary_date) as other_node_days
    from {{ ref('inp_exposure_days_summed') }} as days
    inner join halves on days.cluster_id = halves.cluster_id and days.day_date >= halves.first_date
    group by days.cluster_id
),

-- An incident belongs to the day of its first failure. A failure with unknown node-days would raise the rate without
-- its exposure.
failure_days as (
    select
        cluster_id,
        coalesce(incident_id, attempt_id) as incident_id,
        failure_probability,
        cast(min(failed_at) over (partition by cluster_id, coalesce(incident_id, attempt_id)) as date) as day_date
    from {{ ref('inp_exposures_failed') }}
    where failure_probability > 0 and node_days is not null
),

failures as (
    select
        days.*,
        days.day_date >= halves.boundary_date as is_later
    from failure_days as days
    inner join halves on days.cluster_id = halves.cluster_id and days.day_date >= halves.first_date
),

-- Without the variance of the posterior's parameters, which move both sides alike.
counts as (
    {{ incident_counts('failures', ['cluster_id', 'is_later']) }}
),

sides as (
    select
        counts.cluster_id,
        counts.is_later,
        ways.counted_as,
        if(ways.counted_as = 'attempts', counts.failure_count, counts.incident_count) as failure_count,
        if(ways.counted_as = 'attempts', counts.failure_variance, counts.incident_variance) as failure_variance
    from counts
    cross join (values ('attempts'), ('incidents')) as ways (counted_as)
)

select
    halves.cluster_id,
    halves.boundary_date,
    ways.counted_as,
    coalesce(later.failure_count, 0) as failure_count,
    coalesce(later.failure_variance, 0) as failure_variance,
    cast(coalesce(exposures.node_days, 0) as double) as node_days,
    coalesce(earlier.failure_count, 0) as other_failure_count,
    coalesce(earlier.failure_variance, 0) as other_failure_variance,
    cast(coalesce(exposures.other_node_days, 0) as double) as other_node_days
from halves
cross join (values ('attempts'), ('incidents')) as ways (counted_as)
left join exposures using (cluster_id)
left join sides as later
    on halves.cluster_id = later.cluster_id and ways.counted_as = later.counted_as and later.is_later
left join sides as earlier
    on halves.cluster_id = earlier.cluster_id and ways.counted_as = earlier.counted_as and not earlier.is_later
