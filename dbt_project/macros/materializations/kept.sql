{#- A table like any other, or the kept one with the touched rows replaced; generated columns are not stored. -#}
{% materialization kept, adapter='duckdb' %}
    {%- if not keeps_rows() -%}
        {{ return(materialization_table_duckdb()) }}
    {%- endif -%}
    {%- set relation = this.incorporate(type='table') -%}
    {%- set generated = config.meta_get('generated', {}) | list -%}
    {% call statement('main') -%}
        create or replace temp table incoming_rows as ({{ compiled_code }});
        delete from {{ relation }} where {{ config.meta_get('replaced') }};
        insert into {{ relation }} by name
        select * {{ 'exclude (' ~ generated | join(', ') ~ ')' if generated }} from incoming_rows;
        drop table incoming_rows;
    {%- endcall %}
    {{ adapter.commit() }}
    {{ return({'relations': [relation]}) }}
{% endmaterialization %}


{#- Other engines than DuckDB keep nothing. -#}
{% materialization kept, adapter='spark' %}
    {{ return(materialization_table_spark()) }}
{% endmaterialization %}
