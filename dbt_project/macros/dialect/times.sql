{#- Times. Every timestamp is UTC without a zone. Spark converts to seconds only with a zone, which is UTC, too. -#}


{#- Seconds from one timestamp to another, to the microsecond. Negative: the second comes first. -#}
{% macro seconds_between(from_at, to_at) -%}
    {{ adapter.dispatch('seconds_between', 'faultline')(from_at, to_at) }}
{%- endmacro %}

{% macro default__seconds_between(from_at, to_at) -%}
    ((epoch_us({{ to_at }}) - epoch_us({{ from_at }})) / 1000000)
{%- endmacro %}

{% macro spark__seconds_between(from_at, to_at) -%}
    (
        (unix_micros(cast({{ to_at }} as timestamp_ltz)) - unix_micros(cast({{ from_at }} as timestamp_ltz)))
        / 1000000
    )
{%- endmacro %}


{#- Days from one date to another. -#}
{% macro days_between(from_date, to_date) -%}
    {{ adapter.dispatch('days_between', 'faultline')(from_date, to_date) }}
{%- endmacro %}

{% macro default__days_between(from_date, to_date) -%}
    ({{ to_date }} - {{ from_date }})
{%- endmacro %}

{% macro spark__days_between(from_date, to_date) -%}
    datediff({{ to_date }}, {{ from_date }})
{%- endmacro %}


{#- A number of seconds as an interval. -#}
{% macro seconds_interval(count) -%}
    {{ adapter.dispatch('seconds_interval', 'faultline')(count) }}
{%- endmacro %}

{% macro default__seconds_interval(count) -%}
    to_seconds({{ count }})
{%- endmacro %}

{% macro spark__seconds_interval(count) -%}
    make_dt_interval(0, 0, 0, {{ count }})
{%- endmacro %}


{#- Whole seconds since 1970. -#}
{% macro epoch_seconds(at) -%}
    {{ adapter.dispatch('epoch_seconds', 'faultline')(at) }}
{%- endmacro %}

{% macro default__epoch_seconds(at) -%}
    cast(epoch({{ at }}) as bigint)
{%- endmacro %}

{% macro spark__epoch_seconds(at) -%}
    unix_seconds(cast({{ at }} as timestamp_ltz))
{%- endmacro %}


{#- Number of the time slot of that many seconds since 1970: an equality that narrows a join before its range check. -#}
{% macro time_slot(at, slot_seconds) -%}
    {{ adapter.dispatch('time_slot', 'faultline')(at, slot_seconds) }}
{%- endmacro %}

{% macro default__time_slot(at, slot_seconds) -%}
    cast(floor(epoch({{ at }}) / {{ slot_seconds }}) as bigint)
{%- endmacro %}

{% macro spark__time_slot(at, slot_seconds) -%}
    floor(unix_seconds(cast({{ at }} as timestamp_ltz)) / {{ slot_seconds }})
{%- endmacro %}


{#- The timestamp that many seconds after 1970. -#}
{% macro timestamp_of_epoch(seconds) -%}
    {{ adapter.dispatch('timestamp_of_epoch', 'faultline')(seconds) }}
{%- endmacro %}

{% macro default__timestamp_of_epoch(seconds) -%}
    make_timestamp({{ seconds }} * 1000000)
{%- endmacro %}

{% macro spark__timestamp_of_epoch(seconds) -%}
    cast(timestamp_seconds({{ seconds }}) as timestamp)
{%- endmacro %}


{#- A time in whole seconds, as in accounting. Stored as such, it takes half the space. -#}
{% macro cast_whole_seconds(at) -%}
    {{ adapter.dispatch('cast_whole_seconds', 'faultline')(at) }}
{%- endmacro %}

{% macro default__cast_whole_seconds(at) -%}
    cast({{ at }} as timestamp_s)
{%- endmacro %}

{% macro spark__cast_whole_seconds(at) -%}
    {{ at }}
{%- endmacro %}


{#- The second of a time of any precision. -#}
{% macro truncate_to_second(at) -%}
    {{ adapter.dispatch('truncate_to_second', 'faultline')(at) }}
{%- endmacro %}

{% macro default__truncate_to_second(at) -%}
    cast(date_trunc('second', {{ at }}) as timestamp_s)
{%- endmacro %}

{#- Spark's date_trunc returns a timestamp with a zone, which is UTC. -#}
{% macro spark__truncate_to_second(at) -%}
    cast(date_trunc('second', {{ at }}) as timestamp_ntz)
{%- endmacro %}
