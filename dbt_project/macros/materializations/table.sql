{#- dbt's own builds a second table beside the first and renames both, for readers that must not miss it, and asks for
    the columns before it describes them. Nobody reads the files that a refresh builds in, DuckDB undoes a statement
    that fails, and the contract knows the columns: one statement does it all. Hooks and grants, which no model here has,
    are not run. -#}
{% materialization table, adapter='duckdb', supported_languages=['sql', 'python'] %}
    {%- if model.language != 'python' -%}
        {{ return(build_in_one_statement('table')) }}
    {%- endif -%}
    {%- set relation = this.incorporate(type='table') -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- if existing is not none -%}
        {%- do adapter.drop_relation(existing) -%}
    {%- endif -%}
    {#- dbt runs Python only from the materialization itself. -#}
    {% call statement('main', language='python') -%}
        {{ create_table_as(False, relation, compiled_code, 'python') }}
    {%- endcall %}
    {{ adapter.commit() }}
    {{ return({'relations': [relation]}) }}
{% endmaterialization %}


{% materialization view, adapter='duckdb' %}
    {{ return(build_in_one_statement('view')) }}
{% endmaterialization %}


{% macro build_in_one_statement(type) %}
    {%- set relation = this.incorporate(type=type) -%}
    {%- set existing = load_cached_relation(this) -%}
    {%- set described = model.columns.values() | selectattr('description') if config.persist_column_docs() else [] -%}
    {% call statement('main') -%}
        {% if existing is not none -%}
            drop {{ existing.type }} {{ existing }} cascade;
        {%- endif %}
        {{ create_table_as(False, relation, compiled_code) if type == 'table' else create_view_as(relation, compiled_code) }};
        {% if config.persist_relation_docs() and model.description -%}
            {{ alter_relation_comment(relation, model.description) }}
        {%- endif %}
        {%- for column in described %}
            comment on column {{ relation }}.{{ column.name }} is {{ duckdb_escape_comment(column.description) }};
        {%- endfor %}
    {%- endcall %}
    {{ adapter.commit() }}
    {{ return({'relations': [relation]}) }}
{% endmacro %}
