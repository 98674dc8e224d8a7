with failures as (
    select
        cluster_id,
        failure_id,
        node_id,
        unit_name,
        started_at,
        ended_at,
        unnest(['all', coalesce(if(cause = 'all', 'all (as recorded)', cause), 'not recorded')]) as cause
    from {{ ref('fct_unit_failures') }}
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
    from {{ ref('dim_units_in_service') }}
    group by cluster_id
),

-- Stated periods may overlap, for instance when batches of units arrive in turn. Each moment counts once.
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
            from {{ ref('dim_units_in_service') }}
        ) as marked
    ) as numbered
    group by cluster_id, stretch
),

-- One event may have taken down all units that failed at the same time.
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

-- Time of a unit that is down for two reasons counts once. Units of different nodes may share a name.
down as (
    select
        failures.cluster_id,
        failures.cause,
        greatest(
            failures.started_at,
            in_service.from_at,
            max(failures.ended_at) over (
                partition by
                    failures.cluster_id, failures.cause, failures.node_id, failures.unit_name,
                    in_service.from_at
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
    where coalesce(failures.unit_name, failures.node_id) is not null
),

down_times as (
    select
        cluster_id,
        cause,
        sum(greatest(epoch(to_at - from_at), 0)) / 86400 as down_unit_days
    from down
    group by cluster_id, cause
),

-- Records inside the time in service, and records without a unit or a duration.
records_in_service as (
    select
        failures.cluster_id,
        failures.cause,
        count(distinct failures.failure_id) as record_count,
        count(distinct failures.failure_id) filter (
            failures.ended_at is null or coalesce(failures.unit_name, failures.node_id) is null
        ) as silent_count
    from failures
    inner join in_service
        on
            failures.cluster_id = in_service.cluster_id
            and failures.started_at < in_service.to_at
            and coalesce(failures.ended_at > in_service.from_at, true)
    group by failures.cluster_id, failures.cause
),

joined as (
    select
        recorded.cluster_id,
        recorded.cause,
        recorded.recorded_count,
        exposures.unit_days,
        counts.failure_count,
        counts.incident_count,
        counts.failure_variance,
        coalesce(down_times.down_unit_days, 0) as down_unit_days,
        records_in_service.record_count,
        coalesce(records_in_service.silent_count, 0) as silent_count,
        -- The sum of many units' times may differ in its last digits.
        coalesce(max(down_times.down_unit_days) over (partition by recorded.cluster_id), 0)
        > exposures.unit_days * (1 + 1e-9) as is_beyond_service
    from recorded
    left join exposures using (cluster_id)
    left join counts using (cluster_id, cause)
    left join down_times using (cluster_id, cause)
    left join records_in_service using (cluster_id, cause)
)

select
    cluster_id,
    cause,
    recorded_count,
    unit_days,
    if(unit_days is null, null, coalesce(failure_count, 0)) as failure_count,
    if(unit_days is null, null, coalesce(incident_count, 0)) as incident_count,
    if(unit_days is null, null, coalesce(failure_variance, 0)) as failure_variance,
    if(
        unit_days is null or is_beyond_service or silent_count = record_count, null, least(down_unit_days, unit_days)
    ) as down_unit_days,
    case
        when unit_days is null
            then
                'no accounting of the units: [[failures.in_service]] in cluster.toml says how many there were, '
                || 'and when'
        when is_beyond_service
            then
                'time down unknown: more units were down than [[failures.in_service]] says were in service: '
                || 'units counts what the records name'
        when silent_count = record_count then 'time down unknown: no record in service has an end and a unit'
        when silent_count = 1 then 'time down: 1 record without an end or a unit is left out'
        when silent_count > 1 then format('time down: {} records without an end or a unit are left out', silent_count)
    end as note
from joined
