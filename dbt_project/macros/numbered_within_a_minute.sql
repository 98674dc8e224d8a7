{#- Rows with the number of their group: each row of a group overlaps an earlier row of the same keys, or begins within
    a minute after it. -#}
{% macro numbered_within_a_minute(intervals, keys, number) -%}
    select
        *,
        sum(case when started_at <= latest_previous_ended_at + interval 60 second then 0 else 1 end) over (
            partition by {{ keys | join(', ') }}
            order by started_at, source_path, source_line_number
            rows between unbounded preceding and current row
        ) as {{ number }}
    from (
        select
            *,
            max(coalesce(ended_at, {{ last_time() }})) over (
                partition by {{ keys | join(', ') }}
                order by started_at, source_path, source_line_number
                rows between unbounded preceding and 1 preceding
            ) as latest_previous_ended_at
        from {{ intervals }}
    ) as neighbours
{%- endmacro %}
