{#- As dbt-duckdb creates a view, with the columns in the order of their descriptions, as those of tables under contract
    are. One among the marts names tables by their schema alone: so it means those of its own file, under whatever name
    somebody opens that. -#}
{% macro duckdb__create_view_as(relation, sql) -%}
    {%- if config.get('contract').enforced -%}
        {{ get_assert_columns_equivalent(sql) }}
        {%- set sql = get_select_subquery(sql) -%}
    {%- endif %}
    create view {{ relation }} as (
        {{ sql if relation.database == target.database else sql | replace(adapter.quote(relation.database) ~ '.', '') }}
    );
{%- endmacro %}
