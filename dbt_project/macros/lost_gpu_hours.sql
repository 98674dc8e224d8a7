{#- Work lost at an interruption: half an hour, the mean loss with a checkpoint every hour, or the whole of a shorter run. -#}
{% macro lost_gpu_hours(runtime_seconds, gpu_count) -%}
    least({{ runtime_seconds }}, 1800) / 3600 * {{ gpu_count }}
{%- endmacro %}
