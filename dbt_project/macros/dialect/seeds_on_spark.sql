{#-
    Seeds on Spark. dbt-spark quotes values without escaping: a quote in a text ends it, a backslash of a pattern
    becomes an escape, and an empty cell becomes the text None.
-#}
{% macro spark__load_csv_rows(model, agate_table) -%}
    {%- set types = model['config']['column_types'] -%}
    {%- set statement_sql -%}
        insert into {{ this.render() }} values
        {% for row in agate_table.rows -%}
            (
            {%- for name in agate_table.column_names -%}
                {%- set value = row[name] -%}
                {%- if value is none -%}
                    null
                {%- else -%}
                    cast('{{ (value | string).replace('\\', '\\\\').replace("'", "\\'") }}' as {{ types[name] }})
                {%- endif -%}
                {{ ', ' if not loop.last }}
            {%- endfor -%}
            ){{ ',' if not loop.last }}
        {% endfor %}
    {%- endset -%}
    {%- do adapter.add_query(statement_sql, abridge_sql_log=True) -%}
    {{ return(statement_sql) }}
{%- endmacro %}
