{#- More GPUs, or slices of GPUs, than any machine has, by a factor of ten. The reader of the inventory has it too. -#}
{% macro max_gpus_of_a_node() -%}
    1024
{%- endmacro %}
