{#- Burn rate of an error budget over the newest days: share of failed hours / share that may fail. NULL: fewer days are
    known. Unknown hours count as in service, so the rate is a lower limit. -#}
{% macro burn_rate(day_count) -%}
    case
        when count(case when days_before < {{ day_count }} then 1 end) = {{ day_count }}
            then
                {{ exact_sum('case when days_before < ' ~ day_count ~ ' then failed_hours end') }}
                / nullif({{ exact_sum('case when days_before < ' ~ day_count ~ ' then countable_hours end') }}, 0)
                / (1 - max(objective))
    end
{%- endmacro %}
