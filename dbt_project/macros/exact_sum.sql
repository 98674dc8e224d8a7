{#- A sum of decimals: it does not depend on the order in which threads deliver the rows, as one of floats would. -#}
{% macro exact_sum(value, scale=12) -%}
    cast(sum(cast({{ value }} as decimal({{ 28 if scale == 12 else 38 }}, {{ scale }}))) as double)
{%- endmacro %}
