{#- Whole seconds from eligible to start. NULL: never started, or a time is unknown. -#}
{% macro queue_seconds(eligible_at, started_at) -%}
    case
        when {{ started_at }} is not null and {{ eligible_at }} is not null
            then {{ round_to_integer('greatest(0, ' ~ seconds_between(eligible_at, started_at) ~ ')') }}
    end
{%- endmacro %}
