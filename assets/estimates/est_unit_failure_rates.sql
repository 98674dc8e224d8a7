-- Recorded failures of each cluster by cause, and of all causes together, and the time in service that they are counted
-- over, where a site tells it.
with failures as (
    select
        cluster_id,
        failure_id,
        coalesce(unit_name, node_id) as unit_id,
        started_at,
        ended_at,
        unnest(['all', coalesce(nullif(cause, 'all'), 'not recorded')]) as cause
    from marts.fct_unit_failures
),

recorded as (
    select
        cluster_id,
        cause,
        count(*) as recorded_count
    from failures
    group by cluster_id, cause
),

exposures as (
    select
        cluster_id,
        sum(unit_count * epoch(to_at - from_at)) / 86400 as unit_days
    from marts.dim_units_in_service
    group by cluster_id
),

-- Stated times may overlap, as where batches of units came one after the other: each moment counts once.
in_service as (
    select
        cluster_id,
        min(from_at) as from_at,
        max(to_at) as to_at
    from (
        select
            *,
            count(*) filter (is_first) over (partition by cluster_id order by from_at, to_at) as stretch
        from (
            select
                *,
                coalesce(
                    from_at > max(to_at) over (
                        partition by cluster_id order by from_at, to_at
                        rows between unbounded preceding and 1 preceding
                    ),
                    true
                ) as is_first
            from marts.dim_units_in_service
        ) as marked
    ) as numbered
    group by cluster_id, stretch
),

-- One event may have taken down all that failed at the same moment.
incidents as (
    select
        failures.cluster_id,
        failures.cause,
        failures.started_at,
        count(*) as failure_count
    from failures
    inner join in_service
        on
            failures.cluster_id = in_service.cluster_id
            and failures.started_at >= in_service.from_at
            and failures.started_at < in_service.to_at
    group by failures.cluster_id, failures.cause, failures.started_at
),

counts as (
    select
        cluster_id,
        cause,
        sum(failure_count) as failure_count,
        count(*) as incident_count,
        sum(failure_count * failure_count) as failure_variance
    from incidents
    group by cluster_id, cause
),

-- Of a unit that is down for two reasons at once, the time counts once.
down as (
    select
        failures.cluster_id,
        failures.cause,
        greatest(
            failures.started_at,
            in_service.from_at,
            max(failures.ended_at) over (
                partition by failures.cluster_id, failures.cause, failures.unit_id, in_service.from_at
                order by failures.started_at, failures.failure_id
                rows between unbounded preceding and 1 preceding
            )
        ) as from_at,
        least(failures.ended_at, in_service.to_at) as to_at
    from failures
    inner join in_service
        on
            failures.cluster_id = in_service.cluster_id
            and failures.started_at < in_service.to_at
            and failures.ended_at > in_service.from_at
    where failures.unit_id is not null
),

down_times as (
    select
        cluster_id,
        cause,
        sum(greatest(epoch(to_at - from_at), 0)) / 86400 as down_unit_days
    from down
    group by cluster_id, cause
)

select
    recorded.cluster_id,
    recorded.cause,
    recorded.recorded_count,
    exposures.unit_days,
    if(exposures.unit_days is null, null, coalesce(counts.failure_count, 0)) as failure_count,
    if(exposures.unit_days is null, null, coalesce(counts.incident_count, 0)) as incident_count,
    if(exposures.unit_days is null, null, coalesce(counts.failure_variance, 0)) as failure_variance,
    if(exposures.unit_days is null, null, coalesce(down_times.down_unit_days, 0)) as down_unit_days,
    case
        when exposures.unit_days is null
            then 'no accounting of the units: [[failures.in_service]] in cluster.toml tells how many there were, and when'
    end as note
from recorded
left join exposures using (cluster_id)
left join counts using (cluster_id, cause)
left join down_times using (cluster_id, cause)
order by recorded.cluster_id, recorded.cause != 'all', recorded.recorded_count desc, recorded.cause
