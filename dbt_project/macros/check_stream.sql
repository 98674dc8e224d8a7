{#- Node health check scripts report each failure under its own name and success under one: "nhc: Healthy". -#}
{% macro check_stream(check_key) -%}
    case when {{ check_key }} like 'check!_%' escape '!' then 'nhc' else {{ check_key }} end
{%- endmacro %}


{#- What a result of such a stream speaks of: the script's check, or what the check looked at. -#}
{% macro check_stream_subject(check_key, subject) -%}
    case when {{ check_key }} like 'check!_%' escape '!' then {{ check_key }} else {{ subject }} end
{%- endmacro %}
