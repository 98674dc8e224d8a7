with

kernel_messages as (

    select * from {{ ref('stg_kernel__messages') }}

),

rules as (

    select * from {{ ref('kernel_rules') }}
    where vendor is not null

),

records as (

    select * from {{ ref('stg_sacct__records') }}
    where gpu_type is not null

),

checks as (

    select * from {{ ref('stg_health__checks') }}

),

by_driver as (

    select
        kernel_messages.cluster_id,
        kernel_messages.node_id,
        rules.vendor
    from kernel_messages
    inner join rules on kernel_messages.rule = rules.rule
    where kernel_messages.node_id is not null
    -- The driver that spoke last is the one that is in use.
    qualify
        row_number() over (
            partition by kernel_messages.cluster_id, kernel_messages.node_id
            order by kernel_messages.occurred_at desc, rules.vendor asc
        ) = 1

),

types as (

    select
        cluster_id,
        gpu_type,
        {{ vendor_of_gpus('gpu_type') }} as vendor
    from records
    group by cluster_id, gpu_type

),

allocations as (

    select distinct
        records.cluster_id,
        records.node_ids,
        types.vendor
    from records
    inner join types
        on
            records.cluster_id = types.cluster_id
            and records.gpu_type = types.gpu_type
    where types.vendor is not null

),

allocated_nodes as (

    select
        cluster_id,
        vendor,
        {{ unnest_list('node_ids') }} as node_id
    from allocations

),

by_type as (

    select
        cluster_id,
        node_id,
        min(vendor) as vendor
    from allocated_nodes
    group by cluster_id, node_id

),

check_names as (

    select
        cluster_id,
        check_name,
        {{ vendor_of_gpus('check_name') }} as vendor
    from checks
    group by cluster_id, check_name

),

by_check as (

    select
        checks.cluster_id,
        checks.node_id,
        min(check_names.vendor) as vendor
    from checks
    inner join check_names
        on
            checks.cluster_id = check_names.cluster_id
            and checks.check_name = check_names.check_name
    where
        checks.node_id is not null
        and check_names.vendor is not null
    group by checks.cluster_id, checks.node_id

),

nodes as (

    select
        cluster_id,
        node_id
    from by_driver
    union
    select
        cluster_id,
        node_id
    from by_type
    union
    select
        cluster_id,
        node_id
    from by_check

)

select
    nodes.cluster_id,
    nodes.node_id,
    by_driver.vendor as driver_vendor,
    by_type.vendor as type_vendor,
    by_check.vendor as check_vendor
from nodes
left join by_driver
    on
        nodes.cluster_id = by_driver.cluster_id
        and nodes.node_id = by_driver.node_id
left join by_type
    on
        nodes.cluster_id = by_type.cluster_id
        and nodes.node_id = by_type.node_id
left join by_check
    on
        nodes.cluster_id = by_check.cluster_id
        and nodes.node_id = by_check.node_id
