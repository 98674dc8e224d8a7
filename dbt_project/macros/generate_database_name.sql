{#- A refresh builds marts in the file that readers get; every other target has one place for all. -#}
{% macro generate_database_name(custom_database_name=none, node=none) -%}
    {{ custom_database_name if custom_database_name and target.name == 'local' else target.database }}
{%- endmacro %}
