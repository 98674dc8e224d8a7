{#- Start of a stay's unshared time: when all earlier stays of its group have ended. -#}
{% macro start_of_unshared_time(group) -%}
    greatest(started_at, coalesce(max(ended_at) over (
        partition by {{ group }}
        order by started_at, ended_at
        rows between unbounded preceding and 1 preceding
    ), started_at))
{%- endmacro %}
