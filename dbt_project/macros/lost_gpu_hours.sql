{#- Work lost at an interruption: half the checkpoint interval (the mean loss), or the whole of a shorter run. -#}
{% macro lost_gpu_hours(runtime_seconds, gpu_count, checkpoint_minutes) -%}
    least({{ runtime_seconds }}, 30 * {{ checkpoint_minutes }}) / 3600 * {{ gpu_count }}
{%- endmacro %}
