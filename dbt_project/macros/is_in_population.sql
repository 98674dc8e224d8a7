{#- Whether attempts of a size belong to a population of est_failure_rates. Sizes are powers of two: jobs of more than
    128 GPUs have sizes above 128. -#}
{% macro is_in_population(population, attempts) -%}
    case {{ population }}
        when 'gpus_gt_128' then {{ attempts }}.gpu_size_bin > 128
        when 'whole_nodes' then {{ attempts }}.is_whole_node
        else {{ population }} = 'all'
    end
{%- endmacro %}
