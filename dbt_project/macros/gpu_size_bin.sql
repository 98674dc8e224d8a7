{#- GPUs rounded up to a power of two: 1, 2, 4, 8, ...; 0 without GPUs, NULL when the count is unknown. -#}
{% macro gpu_size_bin(gpu_count) -%}
    case
        when {{ gpu_count }} <= 0 then 0
        else cast(pow(2, ceil(log2({{ gpu_count }}))) as integer)
    end
{%- endmacro %}
