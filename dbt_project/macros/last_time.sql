{#- Stands for the end of what has not ended: later than every time of a log. Python's name for it is LAST_TIME. -#}
{% macro last_time() -%}
    timestamp '9999-12-31'
{%- endmacro %}
