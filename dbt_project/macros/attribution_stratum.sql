{#- Class of failed attempts with a similar share of infrastructure failures: state, nodes, runtime. -#}
{% macro attribution_stratum(state, node_count, runtime_seconds) -%}
    {{ state }} || ' ' || {{ node_class(node_count) }} || ' ' || {{ runtime_class(runtime_seconds) }}
{%- endmacro %}


{% macro node_class(node_count) -%}
    case
        when {{ node_count }} is null then 'unknown'
        when {{ node_count }} <= 1 then '1'
        when {{ node_count }} <= 4 then '4'
        when {{ node_count }} <= 16 then '16'
        when {{ node_count }} <= 64 then '64'
        else 'more'
    end
{%- endmacro %}


{% macro runtime_class(runtime_seconds) -%}
    case
        when {{ runtime_seconds }} <= 600 then 'minutes'
        when {{ runtime_seconds }} <= 7200 then 'hours'
        else 'longer'
    end
{%- endmacro %}
