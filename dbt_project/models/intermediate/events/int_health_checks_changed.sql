with

checks as (

    select * from {{ ref('stg_health__checks') }}

),

boots as (

    select * from {{ ref('int_node_boots') }}

),

message_rules as (

    select distinct check_key from {{ ref('health_check_rules') }}

),

-- A check that was switched off, crashed or could not tell says neither that a fault is there nor that it went.
answered as (

    select
        cluster_id,
        node_id,
        check_key,
        check_name,
        {{ check_stream('check_key') }} as check_stream,
        {{ check_stream_subject('check_key', 'subject') }} as subject,
        observed_at,
        source_path,
        source_line_number,
        check_type,
        result,
        xid_codes,
        job_id_raw,
        unchanged_since,
        case when result != 'OK' then message end as message
    from checks
    where
        node_id is not null
        and result_quality = 'ran'
        and result in ('OK', 'WARN', 'CRITICAL')

),

-- Most checks of most nodes never fail: there is nothing to follow. Good results are tested against what failed only;
-- a CTE of all results that is read three times would be written out three times as wide as it is needed.
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

),

-- A good result that names no subject speaks for all of them that ever failed.
spoken_for as (

    select
        answered.cluster_id,
        answered.node_id,
        answered.check_key,
        answered.check_name,
        answered.check_stream,
        failed_subjects.subject,
        answered.observed_at,
        answered.source_path,
        answered.source_line_number,
        answered.check_type,
        answered.result,
        answered.xid_codes,
        answered.job_id_raw,
        answered.unchanged_since,
        answered.message
    from answered
    inner join failed_subjects
        on
            answered.cluster_id = failed_subjects.cluster_id
            and answered.node_id = failed_subjects.node_id
            and answered.check_stream = failed_subjects.check_stream
    where
        coalesce(answered.subject, '') = failed_subjects.subject
        or (
            answered.subject is null
            and answered.result = 'OK'
            and answered.check_stream in ('nhc', {{ checks_with_subjects() }})
        )

),

sequenced as (

    select
        *,
        lag(observed_at) over check_stream as previous_observed_at,
        lag(result) over check_stream as previous_result,
        lag(xid_codes) over check_stream as previous_xid_codes,
        lag(message) over check_stream as previous_message
    from spoken_for
    window check_stream as (
        partition by cluster_id, node_id, check_stream, subject
        order by observed_at, source_path, source_line_number
    )

),

-- Good results that follow good results, by far the most, end here.
failing_or_healed as (

    select * from sequenced
    where
        result != 'OK'
        or previous_result != 'OK'

),

with_last_boots as (

    {{ with_latest(
        'failing_or_healed', 'boots', ['cluster_id', 'node_id'],
        'failing_or_healed.observed_at', 'booted_at', 'booted_at'
    ) | indent(4) }}

),

placed_after_boot as (

    select
        {{ all_but('observed_at') }},
        -- A failure that goes on after a boot, within a stretch of which only the ends are kept, begins again there.
        case
            when result != 'OK' and booted_at > unchanged_since and unchanged_since = previous_observed_at
                then booted_at
            else observed_at
        end as observed_at,
        coalesce(
            result != 'OK'
            and previous_result != 'OK'
            and (
                observed_at > previous_observed_at + interval 1 day
                or booted_at > previous_observed_at
            ),
            false
        ) as is_new_episode
    from with_last_boots

),

changed as (

    select placed_after_boot.*
    from placed_after_boot
    left join message_rules on placed_after_boot.check_key = message_rules.check_key
    where
        placed_after_boot.is_new_episode
        or placed_after_boot.previous_result is null
        or placed_after_boot.result != placed_after_boot.previous_result
        or placed_after_boot.xid_codes != placed_after_boot.previous_xid_codes
        or (
            message_rules.check_key is not null
            and placed_after_boot.message is distinct from placed_after_boot.previous_message
        )

)

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
from changed
