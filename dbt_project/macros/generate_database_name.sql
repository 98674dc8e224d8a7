{#- Marts are built in the file that readers get; other engines than DuckDB have one place for all. -#}
{% macro generate_database_name(custom_database_name=none, node=none) -%}
    {{ custom_database_name if custom_database_name and target.type == 'duckdb' else target.database }}
{%- endmacro %}
