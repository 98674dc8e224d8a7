-- Long, because every comparison needs the previous result, and all share one sort.
with

site_rules as (

    select * from {{ ref('int_health_checks_matched') }}

),

streams as (

    select
        streams.*,
        coalesce(site_rules.is_sticky, true) as is_sticky
    from {{ ref('int_health_streams') }} as streams
    left join site_rules
        on
            streams.cluster_id = site_rules.cluster_id
            and streams.check_key = site_rules.check_key

),

-- File keys are integers, which sort fast. The join holds this small table in memory: if all results come from one
-- file, the other side would have only one key.
files as (

    select
        path as source_path,
        {{ file_key('path') }} as file_key,
        row_number() over (order by path) * 100000000000 as lines_before
    from {{ ref('stg_ops__files') }}
    where kind = 'health'

),

-- Most checks of most nodes never fail and need no stream.
listeners as (

    {{ listeners_of_streams('streams') | indent(4) }}

),

-- A check that was off, crashed or undecided shows neither a fault nor its end.
answered as (

    select
        {{ exclude_columns('subject') }},
        {{ check_stream('check_key') }} as check_stream,
        coalesce({{ check_stream_subject('check_key', 'subject') }}, '') as subject,
        result = 'OK' as is_good
    from {{ ref('stg_health__checks') }}
    where
        node_id is not null
        and result_quality = 'ran'
        and result in ('OK', 'WARN', 'CRITICAL')

),

keyed as (

    select
        *,
        {{ stream_key() }} as heard_key
    from answered

),

heard as (

    select
        keyed.*,
        listeners.stream_key,
        listeners.silence_seconds,
        -- A log entry reports an event. GCM's check of that log fails until somebody clears the log.
        listeners.is_sticky and coalesce(keyed.check_type != 'event', true) as is_sticky,
        case when listeners.is_message_telling then keyed.message end as telling_message
    from keyed
    inner join listeners
        on
            keyed.heard_key = listeners.heard_key
            and (keyed.is_good or not listeners.is_hearing_good_only)

),

-- Drop unchanged results by comparing hashes: comparing the texts would sort millions of them.
numbered as (

    select
        heard.stream_key,
        heard.observed_at,
        files.lines_before + heard.source_line_number as line_place,
        heard.is_good,
        {{ hash_columns(['result', 'xid_codes', 'telling_message']) }} as meaning_key,
        case when not heard.is_good then {{ finding_key() }} end as finding_key,
        case when not heard.is_good then {{ message_key('message') }} end as message_key,
        heard.job_id_raw,
        heard.unchanged_since,
        heard.silence_seconds,
        heard.is_sticky
    from heard
    inner join files on heard.source_path = files.source_path

),

sequenced as (

    select
        *,
        lag(observed_at) over stream as previous_observed_at,
        lag(is_good) over stream as was_good,
        lag(meaning_key) over stream as previous_meaning_key
    from numbered
    window stream as (
        partition by stream_key
        order by observed_at, line_place
    )

),

-- Good results after good results, by far the most, end here.
failing_or_healed as (

    select * from sequenced
    where
        not is_good
        or not was_good

),

boots_of_streams as (

    select
        streams.stream_key,
        boots.booted_at
    from {{ ref('int_node_boots') }} as boots
    inner join streams
        on
            boots.cluster_id = streams.cluster_id
            and boots.node_id = streams.node_id

),

with_last_boots as (

    {{ asof_left_join(
        'failing_or_healed', 'boots_of_streams', ['stream_key'],
        'failing_or_healed.observed_at', 'booted_at', 'booted_at'
    ) | indent(4) }}

),

placed_after_boot as (

    select
        stream_key,
        line_place,
        finding_key,
        message_key,
        job_id_raw,
        previous_observed_at,
        -- A failure that continues after a boot inside a stretch begins again at the boot.
        case
            when not is_good and booted_at > unchanged_since and unchanged_since = previous_observed_at
                then booted_at
            else observed_at
        end as observed_at,
        coalesce(meaning_key != previous_meaning_key, true) as is_new_meaning,
        coalesce(
            not is_good
            and not was_good
            and (
                -- One fault may be reported several times within seconds, for instance in several kernel lines.
                (not is_sticky and observed_at > previous_observed_at + interval 5 second)
                or observed_at > previous_observed_at + {{ seconds_interval('silence_seconds') }}
                or booted_at > previous_observed_at
            ),
            false
        ) as is_new_episode
    from with_last_boots

),

changed as (

    select
        stream_key,
        row_number() over (partition by stream_key order by observed_at, line_place) as change_number,
        count(case when is_new_episode then 1 end) over (
            partition by stream_key order by observed_at, line_place
            rows between unbounded preceding and current row
        ) as episode_number,
        is_new_episode,
        observed_at,
        case when not is_new_episode then previous_observed_at end as previous_observed_at,
        finding_key,
        message_key,
        job_id_raw,
        files.file_key,
        line_place - files.lines_before as source_line_number
    from placed_after_boot
    inner join files on line_place - line_place % 100000000000 = files.lines_before
    where
        is_new_episode or is_new_meaning

)

select * from changed
