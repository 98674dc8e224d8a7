{#- The incremental strategy `replace_by_key`: rows make place for those that the model's query gives; all others stay.
    A model declares in meta.lookups which rows these are, as a list of sets of keys:
        {'columns': [...], 'in': query}              rows whose columns are among the rows of the query
        {'columns': [one], 'from': query, 'to': query}   rows from one value on, up to another; `to` may be missing -#}
{% macro get_incremental_replace_by_key_sql(arguments) %}
    {{ return(adapter.dispatch('get_incremental_replace_by_key_sql', 'faultline')(arguments)) }}
{% endmacro %}


{% macro default__get_incremental_replace_by_key_sql(arguments) %}
    {%- set columns = get_quoted_csv(arguments['dest_columns'] | map(attribute='name')) -%}
    {%- for lookup in config.meta_get('lookups', []) %}
    delete from {{ arguments['target_relation'] }}
    where {{ is_in_lookup(lookup) }};
    {%- endfor %}
    insert into {{ arguments['target_relation'] }} ({{ columns }})
    select {{ columns }} from {{ arguments['temp_relation'] }}
{% endmacro %}


{#- Whether a row is under the keys of a lookup. -#}
{% macro is_in_lookup(lookup) -%}
    {%- set columns = lookup['columns'] | join(', ') -%}
    {%- if 'in' in lookup -%}
        ({{ columns }}) in ({{ lookup['in'] }})
    {%- else -%}
        {{ columns }} >= ({{ lookup['from'] }})
        {%- if 'to' in lookup %} and {{ columns }} <= ({{ lookup['to'] }}){% endif -%}
    {%- endif -%}
{%- endmacro %}


{#- What tables that can keep rows are on each engine. Spark builds all tables whole. -#}
{% macro incremental_on_duckdb() -%}
    {{ return('incremental' if target.type == 'duckdb' else 'table') }}
{%- endmacro %}
