{#- A refresh builds marts in the published file. Every other target has one database. -#}
{% macro generate_database_name(custom_database_name=none, node=none) -%}
    {{ custom_database_name if custom_database_name and target.name == 'local' else target.database }}
{%- endmacro %}
