{#- A sum that does not depend on the order in which threads deliver the rows, as a sum of floats would. -#}
{% macro exact_sum(value, decimals=6) -%}
    cast(sum(cast({{ value }} as decimal(28, {{ decimals }}))) as double)
{%- endmacro %}
