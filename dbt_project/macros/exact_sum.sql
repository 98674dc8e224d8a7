{#- Sum of decimals. Unlike a sum of floats, it does not depend on the order in which threads deliver the rows. -#}
{% macro exact_sum(value, scale=12) -%}
    cast(sum(cast({{ value }} as decimal({{ 28 if scale == 12 else 38 }}, {{ scale }}))) as double)
{%- endmacro %}
