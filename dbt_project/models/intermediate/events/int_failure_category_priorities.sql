with

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

categories as (

    select * from {{ ref('failure_categories') }}

),

configured as (

    select
        clusters.cluster_id,
        categories.failure_category,
        categories.priority as default_priority,
        nullif(array_position(clusters.attribution_priority, categories.failure_category), 0) as configured_position
    from clusters
    cross join categories

)

select
    cluster_id,
    failure_category,
    configured_position is not null as is_configured,
    cast(row_number() over (
        partition by cluster_id
        order by coalesce(configured_position, 1000), default_priority
    ) as integer) as priority
from configured
