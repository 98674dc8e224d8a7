create or replace temp table event_rows as
with named as (
    select
        file_id,
        line_number,
        fields,
        len(names) as column_count,
        field_count,
        {% for name, field in fields %}
        {{ field }} as {{ name }}{{ "," if not loop.last }}
        {% endfor %}
    from event_fields
),
parsed as (
    select
        *,
        end_text is null
            or lower(end_text) in ('unknown', 'none', '0', 'n/a')
            or coalesce(try_cast(end_text as timestamp) = {{ epoch_zero }}, false) as is_open,
        case
            when {{ has_start }} then nullif(try_cast(start_text as timestamp), {{ epoch_zero }})
        end as start_text_local,
        case when {{ has_end }} then try_cast(end_text as timestamp) end as end_text_local
    from named
),
placed as (
    select
        *,
        {{ started_at }} as started_at,
        case when not is_open then {{ first_ended_at }} end as first_ended_at,
        case when not is_open then {{ last_ended_at }} end as last_ended_at
    from parsed
),
-- In a doubled hour an end before the start is of the second pass.
timed as (
    select
        *,
        case when first_ended_at < started_at then last_ended_at else first_ended_at end as ended_at
    from placed
)
select
    timed.file_id,
    line_number,
    cluster_name,
    case when node_name is null then 'cluster' else 'node' end as event_kind,
    node_name,
    started_at,
    ended_at,
    nullif(upper(regexp_extract(state_text, '^([A-Za-z_+]+)', 1)), '') as state,
    nullif(regexp_extract(state_text, '([*#~!%$@^-]+)$', 1), '') as state_flags,
    reason,
    nullif(regexp_extract(user_text, '^([^(]*)', 1), '') as reason_user,
    try_cast(nullif(regexp_extract(user_text, '\((\d+)\)$', 1), '') as bigint) as reason_uid,
    case
        when fields is null then 'field_count'
        when started_at is null or (ended_at is null and not is_open) then 'bad_timestamp'
        when ended_at < started_at then 'end_before_start'
        when {{ is_start_implausible }} or {{ is_end_implausible }} then 'implausible_time'
    end as problem,
    case
        when fields is null then field_count::varchar || ' fields, ' || coalesce(column_count, 0)::varchar || ' columns'
        when started_at is null then 'start ' || coalesce(start_text, 'missing')
        when ended_at is null and not is_open then 'end ' || end_text
        else concat(start_text, ' to ', end_text)
    end as problem_detail
from timed
inner join batch_files on batch_files.file_id = timed.file_id
