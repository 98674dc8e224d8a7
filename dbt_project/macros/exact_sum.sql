{#- A sum that does not depend on the order in which threads deliver the rows, as a sum of floats would. -#}
{% macro exact_sum(value) -%}
    cast(sum(cast({{ value }} as decimal(28, 12))) as double)
{%- endmacro %}
