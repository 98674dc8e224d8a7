with

attempts as (

    select * from {{ ref('int_attempts') }}
    where
        started_at is not null
        and runtime_seconds is not null

),

suspects as (

    select * from {{ ref('int_attempts') }}
    where
        is_terminal
        and {{ may_be_failed('state') }}

),

named as (

    select distinct
        cluster_id,
        attempt_id
    from {{ ref('int_culprits_named') }}

),

stratified as (

    select
        suspects.cluster_id,
        suspects.state,
        {{ node_class('suspects.node_count') }} as node_class,
        {{ runtime_class('suspects.runtime_seconds') }} as runtime_class,
        {{ attribution_stratum('suspects.state', 'suspects.node_count', 'suspects.runtime_seconds') }} as stratum
    from suspects
    left join named
        on
            suspects.cluster_id = named.cluster_id
            and suspects.attempt_id = named.attempt_id
    where named.attempt_id is null

),

sizes as (

    select
        cluster_id,
        stratum,
        state,
        node_class,
        runtime_class,
        count(*) as attempt_count
    from stratified
    group by cluster_id, stratum, state, node_class, runtime_class

),

runtimes as (

    select
        cluster_id,
        {{ node_class('node_count') }} as node_class,
        cast(sum(node_count * least(runtime_seconds, 600)) as bigint) as minutes_seconds,
        cast(sum(node_count * greatest(least(runtime_seconds, 7200) - 600, 0)) as bigint) as hours_seconds,
        cast(sum(node_count * greatest(runtime_seconds - 7200, 0)) as bigint) as longer_seconds
    from attempts
    group by cluster_id, {{ node_class('node_count') }}

)

select
    sizes.cluster_id,
    sizes.stratum,
    sizes.state,
    sizes.attempt_count,
    coalesce(
        case sizes.runtime_class
            when 'minutes' then runtimes.minutes_seconds
            when 'hours' then runtimes.hours_seconds
            else runtimes.longer_seconds
        end,
        0
    ) as node_seconds
from sizes
left join runtimes
    on
        sizes.cluster_id = runtimes.cluster_id
        and sizes.node_class = runtimes.node_class
