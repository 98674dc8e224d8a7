{#- Node health check scripts report each failure under its own name, but success under one: "nhc: Healthy". -#}
{% macro check_stream(check_key) -%}
    case when {{ check_key }} like 'check!_%' escape '!' then 'nhc' else {{ check_key }} end
{%- endmacro %}


{#- Subject of a result in such a stream: the script's check, or the check's object. -#}
{% macro check_stream_subject(check_key, subject) -%}
    case when {{ check_key }} like 'check!_%' escape '!' then {{ check_key }} else {{ subject }} end
{%- endmacro %}


{#-
    Streams by the keys of their results: the stream's own key, and that of good results without a subject, which count
    for all subjects that ever failed. streams: a CTE.
-#}
{% macro listeners_of_streams(streams) -%}
    select
        stream_key as heard_key,
        false as is_hearing_good_only,
        stream_key,
        silence_seconds,
        is_sticky,
        is_message_telling
    from {{ streams }}
    union all
    select
        {{ stream_key() }} as heard_key,
        true as is_hearing_good_only,
        failed_stream_key as stream_key,
        silence_seconds,
        is_sticky,
        is_message_telling
    from (
        select
            cluster_id,
            node_id,
            check_stream,
            '' as subject,
            stream_key as failed_stream_key,
            silence_seconds,
            is_sticky,
            is_message_telling
        from {{ streams }}
        where
            subject != ''
            and (check_stream in ('nhc', {{ checks_with_subjects() }}) or subject = {{ subject_of_events() }})
    )
{%- endmacro %}
