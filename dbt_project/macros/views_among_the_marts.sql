{#- As dbt-duckdb creates a view, but one among the marts names tables by their schema alone: so it means the tables of its
    own file, under whatever name somebody opens that. -#}
{% macro duckdb__create_view_as(relation, sql) -%}
    {%- if config.get('contract').enforced -%}
        {{ get_assert_columns_equivalent(sql) }}
    {%- endif %}
    create view {{ relation }} as (
        {{ sql if relation.database == target.database else sql | replace(adapter.quote(relation.database) ~ '.', '') }}
    );
{%- endmacro %}
