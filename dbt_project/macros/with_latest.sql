{#-
    Every row with one value of the latest of some other rows that are not later: an as-of join, NULL where none is.

    rows, others: CTEs that share the columns `keys`. at: expression on `rows`. others_at, value: columns of `others`.
-#}
{% macro with_latest(rows, others, keys, at, others_at, value) -%}
    {{ adapter.dispatch('with_latest', 'faultline')(rows, others, keys, at, others_at, value) }}
{%- endmacro %}

{% macro default__with_latest(rows, others, keys, at, others_at, value) -%}
    select
        {{ rows }}.*,
        {{ others }}.{{ value }}
    from {{ rows }}
    asof left join {{ others }}
        on
            {% for key in keys -%}
            {{ rows }}.{{ key }} = {{ others }}.{{ key }} and {% endfor -%}
            {{ at }} >= {{ others }}.{{ others_at }}
{%- endmacro %}

{% macro spark__with_latest(rows, others, keys, at, others_at, value) -%}
    select
        {{ rows }}.*,
        latest.{{ value }}
    from {{ rows }}
    left join lateral (
        select max_by({{ others }}.{{ value }}, {{ others }}.{{ others_at }}) as {{ value }}
        from {{ others }}
        where
            {% for key in keys -%}
            {{ rows }}.{{ key }} = {{ others }}.{{ key }} and {% endfor -%}
            {{ at }} >= {{ others }}.{{ others_at }}
    ) as latest
{%- endmacro %}
