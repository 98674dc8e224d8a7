{{ config(
    materialized=incremental_on_duckdb(),
    meta={'lookups': [touched_checks('intermediate.int_node_boots')]}
) }}

with

checks as (

    select * from {{ ref('stg_health__checks') }}

),

boots as (

    select * from {{ ref('int_node_boots') }}

),

repeats as (

    select * from {{ ref('int_check_repeats') }}

),

-- One number for a line is what makes millions of them quick to sort and to find again. Of this table it is known how
-- small it is: where all results are of one file, they must not be what the join holds in memory under one key.
files as (

    select
        path as source_path,
        row_number() over (order by path) * 100000000000 as lines_before
    from {{ ref('stg_ops__files') }}
    where kind = 'health'

),

message_rules as (

    select distinct check_key from {{ ref('health_check_rules') }}

),

site_rules as (

    select * from {{ ref('int_health_checks_matched') }}

),

-- Most checks of most nodes never fail: there is nothing to follow. Good results are tested against what failed only.
failed_subjects as (

    select distinct
        cluster_id,
        node_id,
        {{ check_stream('check_key') }} as check_stream,
        coalesce({{ check_stream_subject('check_key', 'subject') }}, '') as subject
    from {{ ref('stg_health__checks') }}
    where
        node_id is not null
        and result_quality = 'ran'
        and result in ('WARN', 'CRITICAL')
        and {{ is_touched_check('observed_at', ref('int_node_boots')) }}
    {{ union_failed_before(this) }}

),

streams as (

    select
        failed_subjects.*,
        -- A check that also logs good results is followed over a day of silence.
        coalesce(repeats.silence_seconds, 86400) as silence_seconds,
        row_number() over (
            order by
                failed_subjects.cluster_id, failed_subjects.node_id, failed_subjects.check_stream,
                failed_subjects.subject
        ) as stream_number
    from failed_subjects
    left join repeats
        on
            failed_subjects.cluster_id = repeats.cluster_id
            and failed_subjects.check_stream = repeats.check_stream

),

-- A check that was switched off, crashed or could not tell says neither that a fault is there nor that it went.
-- What says the same as before is left out by numbers alone: a sort of millions of texts is what this would cost.
answered as {{ not_materialized_hint() }} (

    select
        cluster_id,
        node_id,
        check_key,
        {{ check_stream('check_key') }} as check_stream,
        {{ check_stream_subject('check_key', 'subject') }} as subject,
        observed_at,
        source_path,
        source_line_number,
        result = 'OK' as is_good,
        coalesce(check_type = 'event', false) as is_of_a_moment,
        {{ hash_columns(['result', 'xid_codes']) }} as finding_key,
        {{ hash_columns(['message']) }} as message_key,
        unchanged_since
    from {{ ref('stg_health__checks') }}
    where
        node_id is not null
        and result_quality = 'ran'
        and result in ('OK', 'WARN', 'CRITICAL')

),

followed as (

    {{ touched_checks_with_previous('answered', 'streams', ref('int_node_boots')) | indent(4) }}

),

-- A good result that names no subject speaks for all of them that ever failed.
spoken_for as (

    select
        streams.stream_number,
        files.lines_before + followed.source_line_number as line_place,
        followed.observed_at,
        followed.unchanged_since,
        followed.is_good,
        followed.finding_key,
        case when message_rules.check_key is not null then followed.message_key end as telling_message_key,
        -- An entry of a log tells what happened; GCM's check of that log fails until somebody clears it.
        coalesce(site_rules.is_sticky, true) and not followed.is_of_a_moment as is_sticky,
        followed.message_key
    from followed
    inner join streams
        on
            followed.cluster_id = streams.cluster_id
            and followed.node_id = streams.node_id
            and followed.check_stream = streams.check_stream
    inner join files on followed.source_path = files.source_path
    left join message_rules on followed.check_stream = message_rules.check_key
    left join site_rules
        on
            followed.cluster_id = site_rules.cluster_id
            and followed.check_key = site_rules.check_key
    where {{ result_concerns_subject('followed', 'streams') }}

),

sequenced as (

    select
        *,
        lag(observed_at) over stream as previous_observed_at,
        lag(is_good) over stream as was_good,
        lag(finding_key) over stream as previous_finding_key,
        lag(message_key) over stream as previous_message_key
    from spoken_for
    window stream as (
        partition by stream_number
        order by observed_at, line_place
    )

),

-- Good results that follow good results, by far the most, end here.
failing_or_healed as (

    select * from sequenced
    where
        not is_good
        or not was_good

),

boots_of_streams as (

    select
        streams.stream_number,
        boots.booted_at
    from boots
    inner join streams
        on
            boots.cluster_id = streams.cluster_id
            and boots.node_id = streams.node_id

),

with_last_boots as (

    {{ asof_left_join(
        'failing_or_healed', 'boots_of_streams', ['stream_number'],
        'failing_or_healed.observed_at', 'booted_at', 'booted_at'
    ) | indent(4) }}

),

with_silences as (

    select
        with_last_boots.*,
        streams.silence_seconds
    from with_last_boots
    inner join streams on with_last_boots.stream_number = streams.stream_number

),

placed_after_boot as (

    select
        {{ exclude_columns('observed_at') }},
        observed_at as reported_at,
        -- A failure that goes on after a boot, within a stretch of which only the ends are kept, begins again there.
        case
            when not is_good and booted_at > unchanged_since and unchanged_since = previous_observed_at
                then booted_at
            else observed_at
        end as observed_at,
        coalesce(
            not is_good
            and not was_good
            and (
                -- One fault is reported several times within seconds, as by a kernel in several lines.
                (not is_sticky and observed_at > previous_observed_at + interval 5 second)
                or observed_at > previous_observed_at + {{ seconds_interval('silence_seconds') }}
                or booted_at > previous_observed_at
            ),
            false
        ) as is_new_episode
    from with_silences

),

changed as (

    select *
    from placed_after_boot
    where
        is_new_episode
        or previous_finding_key is null
        or finding_key != previous_finding_key
        or telling_message_key != previous_message_key

),

placed_checks as (

    select
        checks.*,
        files.lines_before + checks.source_line_number as line_place
    from checks
    inner join files on checks.source_path = files.source_path
    where {{ is_touched_check('checks.observed_at', ref('int_node_boots')) }}

),

-- A line may hold many results, of one node or of many. To tell them apart takes texts, so all other lines go first.
lines_that_changed as (

    select * from placed_checks
    where line_place in (select changed.line_place from changed)

),

described as (

    select
        streams.cluster_id,
        streams.node_id,
        streams.check_stream,
        checks.check_key,
        checks.check_name,
        streams.subject,
        changed.is_new_episode,
        changed.observed_at,
        changed.previous_observed_at,
        checks.check_type,
        checks.result,
        checks.xid_codes,
        case when checks.result != 'OK' then checks.message end as message,
        checks.job_id_raw,
        checks.source_path,
        checks.source_line_number
    from changed
    inner join streams on changed.stream_number = streams.stream_number
    inner join lines_that_changed as checks
        on
            changed.line_place = checks.line_place
            and streams.node_id = checks.node_id
            and streams.check_stream = {{ check_stream('checks.check_key') }}
            and changed.reported_at = checks.observed_at
            and changed.finding_key = {{ hash_columns(['checks.result', 'checks.xid_codes']) }}
            and changed.message_key = {{ hash_columns(['checks.message']) }}

),

numbered as (

    select
        cluster_id,
        node_id,
        check_stream,
        check_key,
        check_name,
        subject,
        row_number() over (
            partition by cluster_id, node_id, check_stream, subject
            order by observed_at, source_path, source_line_number
        ) as change_number,
        sum(case when is_new_episode then 1 else 0 end) over (
            partition by cluster_id, node_id, check_stream, subject
            order by observed_at, source_path, source_line_number
            rows between unbounded preceding and current row
        ) as episode_number,
        is_new_episode,
        observed_at,
        case when not is_new_episode then previous_observed_at end as previous_observed_at,
        check_type,
        result,
        xid_codes,
        message,
        job_id_raw,
        source_path,
        source_line_number
    from described

)

{{ continue_numbering('numbered', this, ref('int_node_boots')) }}
