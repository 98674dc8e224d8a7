with

spans as (

    select * from {{ ref('stg_ops__spans') }}
    where kind = 'sacct'

),

files as (

    select
        cluster_id,
        max(last_at) as last_at
    from {{ ref('stg_ops__files') }}
    where kind = 'sacct'
    group by cluster_id

),

attempts as (

    select * from {{ ref('int_attempts') }}
    where started_at is not null

),

covered as (

    select
        cluster_id,
        min(from_at) as from_at,
        max(case when known_by != 'log' then to_at end) as stated_to_at,
        max(to_at) as to_at
    from spans
    group by cluster_id

),

ended as (

    select
        cluster_id,
        started_at,
        ended_at,
        node_count,
        {{ seconds_between('started_at', 'ended_at') }} as duration_seconds
    from attempts
    where
        has_ended
        and started_at < ended_at
        and node_count > 0

),

last_moments as (

    select
        cluster_id,
        max(case when has_ended and started_at < ended_at and node_count > 0 then ended_at end) as last_ended_at,
        max(case
            when not has_ended and exposure_seconds > 0
                then started_at + {{ seconds_interval('exposure_seconds + coalesce(suspended_seconds, 0)') }}
        end) as seen_running_at
    from attempts
    group by cluster_id

),

-- If running jobs were exported with the last ended ones, or if a site states the end, nothing is unfinished.
open_ends as (

    select
        covered.cluster_id,
        covered.from_at,
        last_moments.last_ended_at,
        last_moments.seen_running_at
    from covered
    inner join last_moments on covered.cluster_id = last_moments.cluster_id
    where
        covered.stated_to_at is distinct from covered.to_at
        and coalesce(last_moments.seen_running_at, timestamp '0001-01-01')
        < last_moments.last_ended_at - interval 60 second

),

-- Durations in steps of a fifth: precise enough for the share of node time in longer ones.
lengths as (

    select
        cluster_id,
        sum(node_count) as node_count,
        sum(node_count * duration_seconds) as node_seconds
    from ended
    where cluster_id in (select open_ends.cluster_id from open_ends)
    group by cluster_id, floor(4 * log2(duration_seconds))

),

shares as (

    select {{ unnest_list(list_literal(['0.25', '0.5', '0.75', '1'])) }} as share

),

tried_delays as (

    select
        lengths.cluster_id,
        lengths.node_seconds / lengths.node_count * shares.share as delay_seconds
    from lengths
    cross join shares

),

-- Share of node time at a moment in jobs that end more than that many seconds later.
unfinished as (

    select
        tried_delays.cluster_id,
        tried_delays.delay_seconds,
        sum(greatest(longer.node_seconds - longer.node_count * tried_delays.delay_seconds, 0))
        / sum(longer.node_seconds) as unfinished_ratio
    from tried_delays
    inner join lengths as longer on tried_delays.cluster_id = longer.cluster_id
    group by tried_delays.cluster_id, tried_delays.delay_seconds

),

delays as (

    select
        cluster_id,
        min(case when unfinished_ratio <= 0.5 then delay_seconds end) as half_delay_seconds,
        min(case when unfinished_ratio <= 0.05 then delay_seconds end) as delay_seconds
    from unfinished
    group by cluster_id

),

-- The last stretch, with at least half of the node use unfinished, and the four before it.
stretches as (

    select
        open_ends.cluster_id,
        greatest(
            open_ends.last_ended_at - {{ seconds_interval(
                'least(delays.delay_seconds, '
                ~ seconds_between('open_ends.from_at', 'open_ends.last_ended_at') ~ ' / 4)'
            ) }},
            coalesce(open_ends.seen_running_at, open_ends.from_at)
        ) as complete_to_at,
        open_ends.last_ended_at - {{ seconds_interval('delays.half_delay_seconds') }} as last_from_at,
        greatest(
            open_ends.from_at, open_ends.last_ended_at - {{ seconds_interval('5 * delays.half_delay_seconds') }}
        ) as before_from_at,
        delays.half_delay_seconds
    from open_ends
    inner join delays on open_ends.cluster_id = delays.cluster_id

),

uses as (

    select
        stretches.cluster_id,
        stretches.complete_to_at,
        sum(ended.node_count * greatest(0, {{ seconds_between(
            'greatest(ended.started_at, stretches.last_from_at)', 'ended.ended_at'
        ) }})) / max(stretches.half_delay_seconds) as last_node_count,
        sum(ended.node_count * greatest(0, {{ seconds_between(
            'greatest(ended.started_at, stretches.before_from_at)', 'least(ended.ended_at, stretches.last_from_at)'
        ) }})) / nullif(max({{ seconds_between('stretches.before_from_at', 'stretches.last_from_at') }}), 0)
            as node_count_before
    from stretches
    inner join ended
        on
            stretches.cluster_id = ended.cluster_id
            and stretches.before_from_at < ended.ended_at
    group by stretches.cluster_id, stretches.complete_to_at

)

select
    covered.cluster_id,
    covered.from_at as study_from_at,
    -- Falling use towards the end means that the export left out running jobs.
    case
        when uses.last_node_count < 0.7 * uses.node_count_before then uses.complete_to_at
        else covered.to_at
    end as study_to_at,
    files.last_at as data_through_at
from covered
left join files on covered.cluster_id = files.cluster_id
left join uses on covered.cluster_id = uses.cluster_id
