{#- A source: a table of the working file, or on Spark the folder of Parquet files that `faultline export-raw` wrote. -#}
{% macro source_table(schema, table) -%}
    {{ adapter.dispatch('source_table', 'faultline')(schema, table) }}
{%- endmacro %}

{% macro default__source_table(schema, table) -%}
    {{ source(schema, table) }}
{%- endmacro %}

{#- Asking for the source all the same puts it into the lineage. -#}
{% macro spark__source_table(schema, table) -%}
    {%- do source(schema, table) -%}
    parquet.`{{ env_var('FAULTLINE_RAW') }}/{{ schema }}/{{ table }}`
{%- endmacro %}
