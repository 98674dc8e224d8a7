{#-
    As-of join: each row with a value of the latest other row that is not later, or NULL.

    rows, others: CTEs that share the columns `keys`. at: expression on `rows`. others_at, value: columns of `others`.
-#}
{% macro asof_left_join(rows, others, keys, at, others_at, value) -%}
    {{ adapter.dispatch('asof_left_join', 'faultline')(rows, others, keys, at, others_at, value) }}
{%- endmacro %}

{% macro default__asof_left_join(rows, others, keys, at, others_at, value) -%}
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

{#- Spark has no as-of join, and turns a correlated one into a loop over all pairs of any keys. -#}
{% macro spark__asof_left_join(rows, others, keys, at, others_at, value) -%}
    select
        {{ rows }}.*,
        latest.{{ value }}
    from {{ rows }}
    left join (
        select
            {% for key in keys -%}
            moments.{{ key }}, {% endfor -%}
            moments.asof_at,
            max_by({{ others }}.{{ value }}, {{ others }}.{{ others_at }}) as {{ value }}
        from (
            select distinct
                {% for key in keys -%}
                {{ rows }}.{{ key }}, {% endfor -%}
                {{ at }} as asof_at
            from {{ rows }}
        ) as moments
        inner join {{ others }}
            on
                {% for key in keys -%}
                moments.{{ key }} = {{ others }}.{{ key }} and {% endfor -%}
                moments.asof_at >= {{ others }}.{{ others_at }}
        group by
            {% for key in keys -%}
            moments.{{ key }}, {% endfor -%}
            moments.asof_at
    ) as latest
        on
            {% for key in keys -%}
            {{ rows }}.{{ key }} = latest.{{ key }} and {% endfor -%}
            {{ at }} = latest.asof_at
{%- endmacro %}
