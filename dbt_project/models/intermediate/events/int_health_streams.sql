with

checks as (

    select * from {{ ref('stg_health__checks') }}
    where
        node_id is not null
        and result_quality = 'ran'

),

message_rules as (

    select distinct check_key from {{ ref('health_check_rules') }}

),

bad_results as (

    select
        cluster_id,
        node_id,
        check_key,
        {{ check_stream('check_key') }} as check_stream,
        coalesce({{ check_stream_subject('check_key', 'subject') }}, '') as subject,
        observed_at,
        unchanged_since
    from checks
    where result in ('WARN', 'CRITICAL')

),

failures as (

    select
        *,
        {{ stream_key() }} as stream_key
    from bad_results

),

streams as (

    select
        stream_key,
        any_value(cluster_id) as cluster_id,
        any_value(node_id) as node_id,
        any_value(check_key) as check_key,
        any_value(check_stream) as check_stream,
        any_value(subject) as subject,
        min(observed_at) as first_failed_at
    from failures
    group by stream_key

),

good_checks as (

    select distinct
        cluster_id,
        {{ check_stream('check_key') }} as check_stream
    from checks
    where result = 'OK'

),

-- A check that also logs good results ends its episodes with them.
streams_of_failures_alone as (

    select streams.*
    from streams
    left join good_checks
        on
            streams.cluster_id = good_checks.cluster_id
            and streams.check_stream = good_checks.check_stream
    where good_checks.cluster_id is null

),

sequenced as (

    select
        streams.cluster_id,
        streams.check_stream,
        failures.observed_at,
        failures.unchanged_since,
        lag(failures.observed_at) over (
            partition by failures.stream_key order by failures.observed_at
        ) as previous_observed_at
    from failures
    inner join streams_of_failures_alone as streams on failures.stream_key = streams.stream_key

),

-- Only the ends of a stretch are kept. Its results came at least every quarter of an hour.
gaps as (

    select
        cluster_id,
        check_stream,
        case
            when unchanged_since = previous_observed_at
                then least({{ seconds_between('previous_observed_at', 'observed_at') }}, 900)
            else {{ seconds_between('previous_observed_at', 'observed_at') }}
        end as gap_seconds,
        count(*) as gap_count
    from sequenced
    where
        observed_at > previous_observed_at
        and observed_at <= previous_observed_at + interval 1 day
    group by cluster_id, check_stream, gap_seconds

),

counted as (

    select
        *,
        sum(gap_count) over (partition by cluster_id, check_stream order by gap_seconds) as count_up_to,
        sum(gap_count) over (partition by cluster_id, check_stream) as count_of_all
    from gaps

),

medians as (

    select * from counted
    where
        2 * count_up_to >= count_of_all
        and 2 * (count_up_to - gap_count) < count_of_all

)

select
    streams.stream_key,
    streams.cluster_id,
    streams.node_id,
    streams.check_key,
    streams.check_stream,
    streams.subject,
    min(streams.first_failed_at) over (
        partition by streams.cluster_id, streams.check_stream
    ) as check_first_failed_at,
    -- In steps of five minutes, because one night's results shift the median by seconds and must not change it here.
    cast(
        least(greatest(6 * 300 * round(coalesce(medians.gap_seconds, 86400) / 300), 1800), 86400) as integer
    ) as silence_seconds,
    message_rules.check_key is not null as is_message_telling
from streams
left join medians
    on
        streams.cluster_id = medians.cluster_id
        and streams.check_stream = medians.check_stream
left join message_rules on streams.check_stream = message_rules.check_key
