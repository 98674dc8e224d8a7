{#- Upper limit for the GPUs of a machine: sixteen of seven slices each are 112. -#}
{% macro max_gpus_of_a_node() -%}
    128
{%- endmacro %}
