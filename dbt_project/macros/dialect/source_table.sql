{#- A source: a table of the working file, or on Spark the folder of Parquet files that `orchestration.spark export-raw` wrote. -#}
{% macro source_table(schema, table) -%}
    {{ adapter.dispatch('source_table', 'faultline')(schema, table) }}
{%- endmacro %}

{#- Only this macro leaves out clusters that cannot be built, as if they were not present. -#}
{% macro default__source_table(schema, table) -%}
    {%- set excluded = excluded_clusters() -%}
    {%- if excluded -%}
    (
        select * from {{ source(schema, table) }}
        where cluster_id not in (
            {%- for cluster in excluded %}{{ ', ' if not loop.first }}'{{ cluster | replace("'", "''") }}'{% endfor -%}
        )
    ) as {{ table }}
    {%- else -%}
    {{ source(schema, table) }}
    {%- endif -%}
{%- endmacro %}

{#- Call source() here, too, so that it is in the lineage. -#}
{% macro spark__source_table(schema, table) -%}
    {%- do source(schema, table) -%}
    parquet.`{{ env_var('FAULTLINE_RAW') }}/{{ schema }}/{{ table }}`
{%- endmacro %}

{#- Clusters that the current run leaves out. -#}
{% macro excluded_clusters() -%}
    {%- if execute -%}
        {%- set found = run_query(
            "select distinct cluster_id from faultline.ops.cluster_failures where run_id = ("
            ~ "select run_id from faultline.ops.runs where status = 'running' order by rowid desc limit 1"
            ~ ") order by cluster_id"
        ) -%}
        {{ return(found.columns[0].values()) }}
    {%- endif -%}
    {{ return([]) }}
{%- endmacro %}
