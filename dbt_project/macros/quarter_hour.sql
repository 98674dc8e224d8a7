{#- Number of the quarter of an hour since 1970. -#}
{% macro quarter_hour(at) -%}
    {{ time_slot(at, 900) }}
{%- endmacro %}
