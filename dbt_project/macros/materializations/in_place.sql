{#- Create tables and views under their own names, in one statement. dbt-duckdb creates them under another name, renames
    the old and the new one, and drops the old one. These four statements more take a tenth of dbt's time if there are
    few rows. Nobody reads these files during the build. Hooks, grants, indexes and comments are dbt's. dbt-duckdb's
    parts for DuckLake and for foreign keys are left out. -#}
{% materialization table, adapter='duckdb', supported_languages=['sql', 'python'] %}
    {%- set target_relation = this.incorporate(type='table') -%}
    {%- set language = model['language'] -%}
    {%- set drop_old = make_way(target_relation, language) -%}
    {%- call statement('main', language=language) -%}
        {{- drop_old -}}
        {{- create_table_as(False, target_relation, compiled_code, language) -}}
    {%- endcall -%}
    {%- do create_indexes(target_relation) -%}
    {{- finish(target_relation) -}}
    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{% materialization view, adapter='duckdb' %}
    {%- set target_relation = this.incorporate(type='view') -%}
    {%- set drop_old = make_way(target_relation) -%}
    {%- call statement('main') -%}
        {{- drop_old -}}
        {{- get_create_view_as_sql(target_relation, sql) -}}
    {%- endcall -%}
    {{- finish(target_relation) -}}
    {{ return({'relations': [target_relation]}) }}
{% endmaterialization %}


{#- Statement that drops the current relation of that name. Relations that it cannot drop, or not from Python, are
    dropped first. -#}
{% macro make_way(target_relation, language='sql') %}
    {%- set existing_relation = load_cached_relation(this) -%}
    {{- run_hooks(pre_hooks, inside_transaction=False) -}}
    {{- run_hooks(pre_hooks, inside_transaction=True) -}}
    {%- if language == 'sql' and existing_relation.type == target_relation.type -%}
        {{ return('drop ' ~ target_relation.type ~ ' ' ~ target_relation ~ ';\n') }}
    {%- endif -%}
    {{- drop_relation_if_exists(existing_relation) -}}
    {{ return('') }}
{% endmacro %}


{% macro finish(target_relation) %}
    {%- do apply_grants(target_relation, config.get('grants'), should_revoke=False) -%}
    {%- do persist_docs(target_relation, model) -%}
    {{- run_hooks(post_hooks, inside_transaction=True) -}}
    {%- do adapter.commit() -%}
    {{- run_hooks(post_hooks, inside_transaction=False) -}}
{% endmacro %}


{#- dbt-duckdb queries the columns of each relation first. A contract already has them. -#}
{% macro duckdb__alter_column_comment(relation, column_dict) %}
    {%- for column in column_dict.values() %}
    comment on column {{ relation }}.{{ adapter.quote(column['name']) }} is
        {{ duckdb_escape_comment(column['description']) }};
    {%- endfor %}
{% endmacro %}
