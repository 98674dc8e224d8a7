with

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

spans as (

    select
        cluster_id,
        {{ unnest_list(objects_in_json(
            'units_in_service', [('unit_count', 'integer'), ('from_at', 'timestamp'), ('to_at', 'timestamp')]
        )) }} as span
    from clusters
    where units_in_service is not null

)

select
    cluster_id,
    cast(row_number() over (
        partition by cluster_id
        order by span.from_at, span.to_at, span.unit_count
    ) as integer) as span_number,
    span.unit_count,
    span.from_at,
    span.to_at
from spans
