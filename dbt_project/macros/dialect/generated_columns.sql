{#- Columns that DuckDB works out when they are read and does not store: those of a model's config meta.generated, a
    dictionary of column and expression over stored columns. The model's SQL names them all the same, which is what other
    engines store and what unit tests see. -#}


{#- How the columns of a table under contract are created. -#}
{% macro duckdb__get_table_columns_and_constraints() -%}
    {%- set generated = config.meta_get('generated', {}) -%}
    (
    {% for name, column in model['columns'].items() -%}
        {%- if name in generated -%}
            {{ name }} {{ column['data_type'] }} generated always as ({{ generated[name] }}) virtual
        {%- else -%}
            {{ adapter.render_raw_columns_constraints(raw_columns={name: column})[0] }}
        {%- endif -%}
        {{ ", " if not loop.last }}
    {% endfor -%}
    )
{%- endmacro %}

{#- The columns an insert fills, and in their order those selected for it; dbt-duckdb asks for the one, dbt for the other. -#}
{% macro get_column_names() -%}
    ({{ duckdb__get_column_names() }})
{%- endmacro %}

{% macro duckdb__get_column_names() -%}
    {{ model['columns'] | reject('in', config.meta_get('generated', {})) | join(', ') }}
{%- endmacro %}
