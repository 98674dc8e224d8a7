with

spans as (

    select * from {{ ref('stg_ops__spans') }}
    where kind = 'sacct'

),

records as (

    select * from {{ ref('int_attempts') }}
    where started_at is not null

),

ended as (

    select
        cluster_id,
        started_at,
        ended_at,
        node_count,
        {{ seconds_between('started_at', 'ended_at') }} as duration_seconds
    from records
    where
        has_ended
        and started_at < ended_at
        and node_count > 0

),

last_spans as (

    select
        cluster_id,
        min(from_at) as from_at,
        max(case when known_by != 'log' then to_at end) as stated_to_at,
        max(to_at) as to_at
    from spans
    group by cluster_id

),

last_ends as (

    select
        cluster_id,
        max(ended_at) as last_ended_at
    from ended
    group by cluster_id

),

last_sights as (

    select
        cluster_id,
        max(started_at + {{ seconds_interval('exposure_seconds + coalesce(suspended_seconds, 0)') }}) as seen_running_at
    from records
    where
        not has_ended
        and exposure_seconds > 0
    group by cluster_id

),

-- Where running jobs were exported with the last that ended, and where a site says until when, nothing is unfinished.
open_ends as (

    select
        last_spans.cluster_id,
        last_spans.from_at,
        last_ends.last_ended_at,
        last_sights.seen_running_at
    from last_spans
    inner join last_ends on last_spans.cluster_id = last_ends.cluster_id
    left join last_sights on last_spans.cluster_id = last_sights.cluster_id
    where
        last_spans.stated_to_at is distinct from last_spans.to_at
        and coalesce(last_sights.seen_running_at, timestamp '0001-01-01') < last_ends.last_ended_at - interval 60 second

),

-- Durations in steps of a fifth: enough to tell how much node time is in longer ones.
lengths as (

    select
        ended.cluster_id,
        sum(ended.node_count) as node_count,
        sum(ended.node_count * ended.duration_seconds) as node_seconds
    from ended
    inner join open_ends on ended.cluster_id = open_ends.cluster_id
    group by ended.cluster_id, floor(4 * log2(ended.duration_seconds))

),

mean_lengths as (

    select
        *,
        node_seconds / node_count as delay_seconds
    from lengths

),

shares as (

    select 0.25 as share
    union all
    select 0.5 as share
    union all
    select 0.75 as share
    union all
    select 1 as share

),

tried_delays as (

    select
        mean_lengths.cluster_id,
        mean_lengths.delay_seconds * shares.share as delay_seconds
    from mean_lengths
    cross join shares

),

-- Of the node time of a moment, the share that is in jobs which end later than that many seconds after it.
unfinished as (

    select
        delays.cluster_id,
        delays.delay_seconds,
        sum(greatest(longer.node_seconds - longer.node_count * delays.delay_seconds, 0)) / sum(longer.node_seconds)
            as unfinished_ratio
    from tried_delays as delays
    inner join mean_lengths as longer on delays.cluster_id = longer.cluster_id
    group by delays.cluster_id, delays.delay_seconds

),

delays as (

    select
        cluster_id,
        min(case when unfinished_ratio <= 0.5 then delay_seconds end) as half_delay_seconds,
        min(case when unfinished_ratio <= 0.05 then delay_seconds end) as delay_seconds
    from unfinished
    group by cluster_id

),

bounded as (

    select
        open_ends.*,
        delays.half_delay_seconds,
        least(
            delays.delay_seconds, {{ seconds_between('open_ends.from_at', 'open_ends.last_ended_at') }} / 4
        ) as delay_seconds
    from open_ends
    inner join delays on open_ends.cluster_id = delays.cluster_id

),

-- Node use of the last stretch, in which half of it or more would be unfinished, and of the four before it.
stretches as (

    select
        *,
        last_ended_at - {{ seconds_interval('half_delay_seconds') }} as last_from_at,
        greatest(from_at, last_ended_at - {{ seconds_interval('5 * half_delay_seconds') }}) as before_from_at
    from bounded

),

uses as (

    select
        ended.cluster_id,
        sum(ended.node_count * greatest(0, {{ seconds_between(
            'greatest(ended.started_at, stretches.last_from_at)', 'ended.ended_at'
        ) }})) as last_node_seconds,
        sum(ended.node_count * greatest(0, {{ seconds_between(
            'greatest(ended.started_at, stretches.before_from_at)', 'least(ended.ended_at, stretches.last_from_at)'
        ) }})) as before_node_seconds
    from ended
    inner join stretches
        on
            ended.cluster_id = stretches.cluster_id
            and ended.ended_at > stretches.before_from_at
    group by ended.cluster_id

)

select
    stretches.cluster_id,
    stretches.last_ended_at,
    stretches.seen_running_at,
    stretches.delay_seconds,
    uses.last_node_seconds / stretches.half_delay_seconds as last_node_count,
    uses.before_node_seconds
    / nullif({{ seconds_between('stretches.before_from_at', 'stretches.last_from_at') }}, 0) as node_count_before
from stretches
inner join uses on stretches.cluster_id = uses.cluster_id
