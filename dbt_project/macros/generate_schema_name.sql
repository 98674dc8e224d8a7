{#- The schema is the stage's name without dbt's target prefix, so that marts.fct_failures has one name everywhere. -#}
{% macro generate_schema_name(custom_schema_name, node) -%}
    {{ custom_schema_name or target.schema }}
{%- endmacro %}
