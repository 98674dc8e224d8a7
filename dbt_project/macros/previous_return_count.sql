{#- Number of a node's returns before a change of its service: the same for all changes between two returns. -#}
{% macro previous_return_count() -%}
    coalesce(
            sum(case when kind = 'return' then 1 else 0 end) over (
                partition by cluster_id, node_id
                order by changed_at, source_path, source_line_number
                rows between unbounded preceding and 1 preceding
            ),
            0
        )
{%- endmacro %}
