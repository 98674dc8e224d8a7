with

checks as (

    select * from {{ ref('stg_health__checks') }}
    where
        node_id is not null
        and result_quality = 'ran'

),

good_checks as (

    select distinct
        cluster_id,
        check_key
    from checks
    where result = 'OK'

),

good_streams as (

    select distinct
        cluster_id,
        {{ check_stream('check_key') }} as check_stream
    from good_checks

),

failures as (

    select
        cluster_id,
        node_id,
        {{ check_stream('check_key') }} as check_stream,
        coalesce({{ check_stream_subject('check_key', 'subject') }}, '') as subject,
        observed_at,
        unchanged_since
    from checks
    where result in ('WARN', 'CRITICAL')

),

-- What also logs good results ends its episodes with them.
failures_alone as (

    select failures.*
    from failures
    left join good_streams
        on
            failures.cluster_id = good_streams.cluster_id
            and failures.check_stream = good_streams.check_stream
    where good_streams.cluster_id is null

),

sequenced as (

    select
        *,
        lag(observed_at) over (
            partition by cluster_id, node_id, check_stream, subject
            order by observed_at
        ) as previous_observed_at,
        min(observed_at) over (partition by cluster_id, check_stream) as first_failed_at
    from failures_alone

),

-- Of a stretch only the ends are kept; the results between them came every quarter of an hour at least.
gaps as (

    select
        cluster_id,
        check_stream,
        first_failed_at,
        case
            when unchanged_since = previous_observed_at
                then least({{ seconds_between('previous_observed_at', 'observed_at') }}, 900)
            else {{ seconds_between('previous_observed_at', 'observed_at') }}
        end as gap_seconds
    from sequenced
    where
        observed_at > previous_observed_at
        and observed_at <= previous_observed_at + interval 1 day

),

medians as (

    select
        cluster_id,
        check_stream,
        first_failed_at,
        gap_seconds
    from gaps
    qualify
        2 * row_number() over (partition by cluster_id, check_stream order by gap_seconds)
        between count(*) over (partition by cluster_id, check_stream)
        and count(*) over (partition by cluster_id, check_stream) + 1

)

select
    cluster_id,
    check_stream,
    first_failed_at,
    -- In steps of five minutes: what a night adds moves the median by seconds, and must not move it here.
    cast(least(greatest(6 * 300 * round(gap_seconds / 300), 1800), 86400) as integer) as silence_seconds
from medians
