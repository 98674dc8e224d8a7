{#- A table that a model in Python fits. Spark runs no Python here: it reads what a build on DuckDB fitted, exported
    beside the raw tables. -#}
{% macro fitted_table(name) -%}
    {{ adapter.dispatch('fitted_table', 'faultline')(name) }}
{%- endmacro %}

{% macro default__fitted_table(name) -%}
    {{ ref(name) }}
{%- endmacro %}

{% macro spark__fitted_table(name) -%}
    parquet.`{{ env_var('FAULTLINE_RAW') }}/intermediate/{{ name }}`
{%- endmacro %}
