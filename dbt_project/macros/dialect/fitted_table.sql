{#- A table fitted by a model in Python. Spark runs no Python here: it reads the fits of a build on DuckDB, exported
    with the raw tables. -#}
{% macro fitted_table(name) -%}
    {{ adapter.dispatch('fitted_table', 'faultline')(name) }}
{%- endmacro %}

{% macro default__fitted_table(name) -%}
    {{ ref(name) }}
{%- endmacro %}

{% macro spark__fitted_table(name) -%}
    parquet.`{{ env_var('FAULTLINE_RAW') }}/intermediate/{{ name }}`
{%- endmacro %}
