{#- How fast an error budget burned over the newest days: the share of failed hours over the share that may fail. NULL where
    fewer days are known. What nobody knows of counts as in service: the budget burned at least so fast. -#}
{% macro burn_rate(day_count) -%}
    case
        when count(case when days_before < {{ day_count }} then 1 end) = {{ day_count }}
            then
                {{ exact_sum('case when days_before < ' ~ day_count ~ ' then failed_hours end') }}
                / nullif({{ exact_sum('case when days_before < ' ~ day_count ~ ' then countable_hours end') }}, 0)
                / (1 - max(objective))
    end
{%- endmacro %}
