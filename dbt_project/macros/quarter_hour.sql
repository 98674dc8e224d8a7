{#- Number of the quarter of an hour since 1970: an equality that narrows a join on time before its range is checked. -#}
{% macro quarter_hour(at) -%}
    cast(floor(epoch({{ at }}) / 900) as bigint)
{%- endmacro %}
