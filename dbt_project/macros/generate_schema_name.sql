{#- The schema is the stage's name, without dbt's target prefix: marts.fct_failures is called so everywhere. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ custom_schema_name or target.schema }}
{%- endmacro %}
