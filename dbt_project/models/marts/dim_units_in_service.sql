with

clusters as (

    select * from {{ ref('stg_config__clusters') }}

),

records as (

    select * from {{ ref('stg_failures__records') }}

),

newest_records as (

    select
        cluster_id,
        max(coalesce(ended_at, started_at)) as last_at
    from records
    group by cluster_id

),

unnested as (

    select
        cluster_id,
        {{ unnest_list(objects_in_json(
            'units_in_service', [('unit_count', 'integer'), ('from_at', 'timestamp'), ('to_at', 'timestamp')]
        )) }} as span
    from clusters
    where units_in_service is not null

),

-- If service continues, failures are known until the newest record.
spans as (

    select
        unnested.cluster_id,
        unnested.span.unit_count,
        unnested.span.from_at,
        coalesce(unnested.span.to_at, newest_records.last_at) as to_at
    from unnested
    left join newest_records on unnested.cluster_id = newest_records.cluster_id

)

select
    cluster_id,
    cast(row_number() over (
        partition by cluster_id
        order by from_at, to_at, unit_count
    ) as integer) as span_number,
    unit_count,
    from_at,
    to_at
from spans
where from_at < to_at
