{{ config(post_hook='{{ name_tables_by_schema() }}') }}

with

records as (

    select * from {{ name_table(ref('fct_attempt_records'), by_schema) }}

)

select
    cluster_id,
    attempt_id,
    {{ unnest_list('node_ids') }} as node_id
from records
