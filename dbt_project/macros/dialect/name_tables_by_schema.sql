{#- Post-hook of views among the marts: recreates the view with tables named by schema alone. They then refer to the
    view's own file under any name that a reader opens it. The model passes its tables and `by_schema`, which is
    undefined at first, to name_table(): dbt builds in two files and needs the database. -#}
{% macro name_tables_by_schema() -%}
    {{ return(adapter.dispatch('name_tables_by_schema', 'faultline')()) }}
{%- endmacro %}

{% macro default__name_tables_by_schema() -%}
{%- endmacro %}

{% macro duckdb__name_tables_by_schema() -%}
    {%- if execute -%}
        {%- do run_query(
            'create or replace view ' ~ this ~ ' as (' ~ render('{% set by_schema = true %}' ~ model.raw_code) ~ ')'
        ) -%}
        {%- do persist_docs(this.incorporate(type='view'), model) -%}
    {%- endif -%}
{%- endmacro %}


{#- Name of a table as in dbt, or with its schema alone. -#}
{% macro name_table(relation, by_schema) -%}
    {{ relation.include(database=false) if by_schema else relation }}
{%- endmacro %}
