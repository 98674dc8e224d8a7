{# The texts of accounting records as typed rows, with the reason to quarantine a bad one.

`alone` has the expressions that take longest to set up, such as patterns. DuckDB sets up expressions after a join once
more per join, for rows that were spilled: after all joins this took 80 ms of every batch. -#}
{% import "sources/sacct/macros.sql" as m %}
with alone as (
    select
        * replace ({% for text, masked in free_texts %}{{ masked }} as {{ text }}{{ ", " if not loop.last }}{% endfor %}),
        {{ exclusions }} as exclusion_text,
        {% for name, text, is_dated, has_offset in moments %}
        case when not {{ is_dated }} then null
             when length({{ text }}) = 19 then try_cast({{ text }} as timestamp)
             when length({{ text }}) > 19 and not {{ has_offset }} then try_cast({{ text }} as timestamp)
        end as {{ name }}_local,
        case when length({{ text }}) between 9 and 11 and try_cast({{ text }} as bigint) is not null
             then make_timestamp(try_cast({{ text }} as bigint) * 1000000)
             when length({{ text }}) > 19 and {{ is_dated }} and {{ has_offset }}
             then try_cast({{ text }} as timestamptz)::timestamp
        end as {{ name }}_exact,
        case
            when {{ text }} is null or {{ name }}_local is not null or {{ name }}_exact is not null then null
            -- A list, as DuckDB turns IN with more than four constants into a join, and this statement has many joins.
            when contains(['', 'Unknown', 'None', 'N/A', '(null)', '0'], {{ text }}) then null
            when regexp_full_match({{ text }}, '\d\d:\d\d(:\d\d)?')
                or regexp_full_match({{ text }}, '(\d{1,2} )?[A-Z][a-z]+ \d\d:\d\d')
                then 'relative_timestamp'
            when regexp_full_match({{ text }}, '\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d.*') and not {{ is_dated }}
                then 'implausible_time'
            when regexp_full_match({{ text }}, '\d{4}-\d\d-[0-9T:.+-]*') then 'truncated_timestamp'
            else 'bad_timestamp'
        end as {{ name }}_problem,
        {% endfor %}
        coalesce(submit_problem, eligible_problem, start_problem, end_problem) as moment_problem
    from {{ texts }}
),

parsed as (
    select
        *,
        coalesce(try_cast(text_elapsedraw as bigint), elapsed.seconds) as printed_elapsed,
        case when printed_elapsed between -{{ max_seconds }} and {{ max_seconds }} then printed_elapsed
        end as usable_elapsed,
        case when suspended.seconds <= {{ max_seconds }} then suspended.seconds end as usable_suspended,
        (printed_elapsed is not null and usable_elapsed is null)
            or (suspended.seconds is not null and usable_suspended is null) as is_endless,
        coalesce(
            case when try_cast(text_timelimitraw as bigint) between 0 and {{ max_seconds // 60 }}
                then try_cast(text_timelimitraw as bigint) * 60 end,
            case when timelimit.seconds <= {{ max_seconds }} then timelimit.seconds end
        ) as time_limit_seconds
    from alone
    {{ m.join_lookup("elapsed" in empty, "sacct_durations", "elapsed", "text_elapsed", "null::bigint as seconds") }}
    {{ m.join_lookup("suspended" in empty, "sacct_durations", "suspended", "text_suspended", "null::bigint as seconds") }}
    {{ m.join_lookup("time_limits" in empty, "sacct_durations", "timelimit", "text_timelimit", "null::bigint as seconds") }}
),

{# A doubled Start or End is settled by End - Start = Elapsed + Suspended; if both passes fit, by the one that does not
start before Submit; else by Submit <= Eligible <= Start <= End; else the first pass is assumed and the row says so. -#}
{% if not may_be_doubled -%}
placed as (
    select
        *,
        {% for name, first, second, doubled, skipped in local %}
        coalesce({{ name }}_exact, {{ first }}) as {{ name }}_at,
        {% endfor %}
        false as is_ambiguous,
        false as is_nonexistent
    from parsed
),
{% else -%}
twice as (
    select
        *,
        {% for name, first, second, doubled, skipped in local %}
        coalesce({{ doubled }}, false) as {{ name }}_doubled,
        coalesce({{ skipped }}, false) as {{ name }}_skipped,
        coalesce({{ name }}_exact, {{ first }}) as {{ name }}_first,
        case when {{ name }}_doubled then {{ second }} else {{ name }}_first end as {{ name }}_second,
        {% endfor %}
        submit_skipped or eligible_skipped or start_skipped or end_skipped as is_nonexistent
    from parsed
),

{% macro fits(start, end) -%}
usable_elapsed + coalesce(usable_suspended, 0) - date_diff('second', {{ start }}, {{ end }}) between -1 and 1
{%- endmacro %}
{% macro ordered(name, earlier) -%}
case when {{ name }}_doubled and {{ name }}_first < {{ earlier }} then {{ name }}_second else {{ name }}_first end
{%- endmacro %}
fitted as (
    select
        *,
        case
            when not (start_doubled or end_doubled) then 1
            when start_first >= submit_first and {{ fits("start_first", "end_first") }} then 1
            when start_second >= submit_first and {{ fits("start_second", "end_second") }} then 2
            when start_first >= submit_first and {{ fits("start_first", "end_second") }} then 3
            when start_second >= submit_first and {{ fits("start_second", "end_first") }} then 4
            when {{ fits("start_first", "end_first") }} then 1
            when {{ fits("start_second", "end_second") }} then 2
            when {{ fits("start_first", "end_second") }} then 3
            when {{ fits("start_second", "end_first") }} then 4
            else 0
        end as fitting,
        submit_first as submit_at
    from twice
),

begun as (
    select
        *,
        {{ ordered("eligible", "submit_at") }} as eligible_at,
        case
            when fitting = 0 then {{ ordered("start", "submit_at") }}
            when fitting in (2, 4) then start_second
            else start_first
        end as start_at
    from fitted
),

placed as (
    select
        *,
        case
            when fitting = 0 then {{ ordered("end", "start_at") }}
            when fitting in (2, 3) then end_second
            else end_first
        end as end_at,
        submit_doubled or eligible_doubled or ((start_doubled or end_doubled) and fitting = 0) as is_ambiguous
    from begun
),
{% endif %}

judged as (
    select
        *,
        {% for name, text, is_dated, has_offset in moments %}
        case when {{ name }}_at >= timestamp '1970-01-03' then {{ name }}_at end as {{ name }}_utc,
        {% endfor %}
        {{ m.job_number("text_jobidraw", "text_jobid", largest_id) }} as job_number
    from placed
),

node_lists as (select *, len(node_names) > 0 as has_names from sacct_node_lists),

single_nodes as (
    select node_list as text, node_ids[1] as node_id from sacct_node_lists where len(node_ids) = 1
),

resolved as (
    select
        judged.*,
        states.state, states.is_open, states.cancelled_by_uid, states.was_cut, states.problem as state_problem,
        submit_utc as submitted_at,
        -- Older versions of Slurm print the end as the start if a job was cancelled while it waited.
        case
            when states.state = 'PENDING' then null
            when has_node_column and lists.has_names is not true and start_utc = end_utc then null
            else start_utc
        end as started_at,
        -- The End of a running job is that of the requested window (sacct -T, slurmrestd).
        case when states.state in ('PENDING', 'RUNNING', 'SUSPENDED') then null else end_utc end as ended_at,
        lists.node_ids, lists.problem as list_problem, lists.problem_detail as list_detail,
        case when lists.has_names then text_nodelist end as node_list,
        allocated.gpu_count as tres_gpu_count, allocated.gpu_count_source as tres_source,
        allocated.gpu_type as tres_gpu_type, allocated.cpu_count as tres_cpu_count,
        coalesce(allocated.problem, requested.problem) as tres_problem,
        coalesce(allocated.detail, requested.detail) as tres_detail,
        requested.gpu_count as requested_gpu_count, requested.cpu_count as requested_cpu_count,
        memory.mib, memory.per,
        coalesce(exclusions.node_ids, []::varchar[]) as excluded_node_ids,
        failed.node_id as failed_node_id,
        summaries.gpu_utilisation,
        summaries.is_unreadable as has_unreadable_summary
    from judged
    left join sacct_states as states on states.text = text_state
    left join node_lists as lists on lists.node_list = text_nodelist
    left join sacct_tres as allocated on allocated.text = text_alloctres
    left join sacct_tres as requested on requested.text = text_reqtres
    {{ m.join_lookup("memory" in empty, "sacct_memory", "memory", "text_reqmem", "null::double as mib, null as per") }}
    {{ m.join_lookup("exclusions" in empty, "sacct_exclusions", "exclusions", "exclusion_text", "null::varchar[] as node_ids") }}
    {{ m.join_lookup("failed_nodes" in empty, "single_nodes", "failed", "text_failednode", "null::varchar as node_id") }}
    {{ m.join_lookup("summaries" in empty, "sacct_summaries", "summaries", "text_admincomment", "null::double as gpu_utilisation, false as is_unreadable") }}
),

{% set is_too_large = "len(node_ids) > " ~ spare_names ~ " + " ~ spare_factor ~ " * "
    ~ m.count_of("text_nnodes") ~ "::bigint" -%}
reasoned as (
    select
        resolved.*,
        files.modified_at,
        case when has_node_column then node_list is not null else started_at is not null end as has_nodes,
        case
            when job_number is null then 'bad_job_id'
            when text_state is null or state_problem is not null then 'unknown_state'
            when moment_problem is not null then moment_problem
            when submitted_at is null then 'bad_timestamp'
            when is_nonexistent then 'nonexistent_local_time'
            when ended_at < started_at then 'end_before_start'
            when ended_at < submitted_at then 'end_before_submit'
            when least(submitted_at, started_at, ended_at) < {{ earliest }} then 'implausible_time'
            when is_endless then 'implausible_duration'
            when greatest(submitted_at, started_at, ended_at)
                > greatest(files.modified_at, get_current_timestamp()::timestamp) + interval 1 day
                then 'timestamp_in_future'
            when list_problem is not null then list_problem
            when {{ is_too_large }} then 'nodelist_too_large'
            when tres_problem is not null then tres_problem
        end as found_problem,
        case
            when job_number is null
                then 'JobIDRaw=' || coalesce(text_jobidraw, '') || ' JobID=' || coalesce(text_jobid, '')
            when text_state is null or state_problem is not null then 'State=' || coalesce(left(text_state, 80), '')
            when submit_problem is not null then 'Submit=' || left(text_submit, 80)
            when eligible_problem is not null then 'Eligible=' || left(text_eligible, 80)
            when start_problem is not null then 'Start=' || left(text_start, 80)
            when end_problem is not null then 'End=' || left(text_end, 80)
            when submitted_at is null then 'no Submit'
            when is_nonexistent then {{ ("skipped by a change to summer time in " ~ zone) | literal }}
            when ended_at < started_at then 'End ' || ended_at || ' before Start ' || started_at || ' (UTC)'
            when ended_at < submitted_at then 'End ' || ended_at || ' before Submit ' || submitted_at || ' (UTC)'
            when least(submitted_at, started_at, ended_at) < {{ earliest }}
                then least(submitted_at, started_at, ended_at) || ' (UTC)'
            when is_endless
                then concat('ElapsedRaw=', text_elapsedraw, ' Elapsed=', text_elapsed, ' Suspended=', text_suspended)
            when list_problem is not null then list_detail
            when {{ is_too_large }}
                then concat('it names ', len(node_ids), ' hosts where the job has ', text_nnodes, ' nodes')
            when tres_problem is not null then tres_detail
        end as found_detail
    from resolved inner join batch_files as files on files.file_id = resolved.file_id
)

select
    file_id,
    line_number,
    case when has_bad_bytes and found_problem in ('bad_job_id', 'unknown_state', 'bad_timestamp')
         then 'bad_encoding' else found_problem end as problem,
    found_detail as detail,
    coalesce(text_jobid, text_jobidraw) as job_id,
    job_number as job_id_raw,
    case when contains(text_jobid, '_') then try_cast(split_part(text_jobid, '_', 1) as bigint) end as array_job_id,
    case when contains(text_jobid, '_')
        then try_cast(split_part(split_part(text_jobid, '_', 2), '+', 1) as bigint) end as array_task_id,
    case when contains(text_jobid, '+')
        then try_cast(split_part(split_part(text_jobid, '+', 1), '_', 1) as bigint) end as het_job_id,
    case when contains(text_jobid, '+') then try_cast(split_part(text_jobid, '+', 2) as bigint) end as het_offset,
    coalesce(text_user, 'uid:' || text_uid) as user_name,
    submitted_at,
    eligible_utc as eligible_at,
    started_at,
    ended_at,
    case
        when is_ambiguous then 'ambiguous_dst'
        when coalesce(submit_local, eligible_local, start_local, end_local) is not null then 'local'
        when length(text_submit) > 11 then 'offset'
        else 'epoch'
    end as time_quality,
    case
        when usable_elapsed >= 0 then usable_elapsed
        when started_at is null and ended_at is not null then 0
        else date_diff('second', started_at, coalesce(ended_at, end_utc)) - coalesce(usable_suspended, 0)
    end as elapsed_seconds,
    usable_suspended as suspended_seconds,
    state,
    text_state as state_raw,
    cancelled_by_uid,
    {{ m.code_of("text_exitcode", 1) }} as exit_code,
    {{ m.code_of("text_exitcode", 2) }} as exit_signal,
    {{ m.code_of("text_derivedexitcode", 1) }} as derived_exit_code,
    {{ m.code_of("text_derivedexitcode", 2) }} as derived_exit_signal,
    node_list,
    coalesce(node_ids, []::varchar[]) as node_ids,
    coalesce(
        {{ m.node_count_of("text_nnodes", max_hosts) }},
        {{ m.node_count_of("text_reqnodes", max_hosts) }},
        {{ m.node_count_of("text_allocnodes", max_hosts) }}
    ) as requested_node_count,
    case
        when tres_source <> 'none' then tres_gpu_count
        when text_alloctres is null and not has_nodes then 0
    end as gpu_count,
    case
        when tres_source <> 'none' then tres_source
        when text_alloctres is null and not has_nodes then 'nothing_allocated'
        when text_alloctres is null then 'no_tres'
        else 'none'
    end as gpu_count_source,
    tres_gpu_type as gpu_type,
    requested_gpu_count,
    case
        when tres_cpu_count is not null then tres_cpu_count
        when has_nodes then coalesce({{ m.count_of("text_alloccpus") }}, {{ m.count_of("text_ncpus") }})
        else 0
    end as cpu_count,
    mib * case per
        when 'node' then coalesce(
            nullif(len(node_ids), 0),
            {{ m.node_count_of("text_nnodes", max_hosts) }},
            {{ m.node_count_of("text_reqnodes", max_hosts) }}
        )
        when 'cpu'
            then coalesce({{ m.count_of("text_ncpus") }}, {{ m.count_of("text_alloccpus") }}, requested_cpu_count)
        else 1
    end as requested_memory_mib,
    time_limit_seconds,
    failed_node_id,
    gpu_utilisation,
    {% for value, name in plain_columns %}
    {{ value }} as {{ name }},
    {% endfor %}
    excluded_node_ids,
    list_filter([
        case when was_cut then 'truncated_value' end,
        case when has_conflict then 'dup_column_conflict' end,
        case when has_bad_bytes then 'bad_encoding' end,
        case when has_unreadable_summary then 'unreadable_summary' end,
        case when ended_at is null and not is_open then 'end_missing' end,
        -- The elapsed time of a running job ends at its export, a time that a copied file no longer has.
        case when state = 'RUNNING' and coalesce(time_limit_seconds, 31536000) + 86400
            < coalesce(usable_elapsed, date_diff('second', started_at, modified_at))
            then 'runaway_suspect' end,
        -- Without Suspended, a longer wall-clock time may be due to suspension; a shorter one never is.
        case when submitted_at <= started_at and
            date_diff('second', started_at, ended_at) - usable_elapsed - coalesce(usable_suspended, 0)
                not between -1 and case when usable_suspended is null then 1e9 else 1 end
            then 'elapsed_mismatch' end
    ], lambda warning: warning is not null) as warnings
from reasoned
