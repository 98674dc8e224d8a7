with

records as (

    select * from {{ ref('stg_failures__records') }}

),

reasons as (

    select * from {{ ref('int_node_reasons_classified') }}

)

select
    records.*,
    case
        when reasons.failure_category = 'unmapped' then null
        when reasons.failure_category = 'unknown_xid' and reasons.code is null then null
        else reasons.failure_category
    end as failure_category
from records
left join reasons
    on
        records.cluster_id = reasons.cluster_id
        and lower(records.reason) = reasons.reason_key
