with

spans as (

    select * from {{ ref('stg_ops__spans') }}

),

-- What is said to go until midnight does not cover the day that begins then; the last record of a log does.
ends as (

    select
        cluster_id,
        kind,
        from_at,
        case when known_by = 'log' then to_at else to_at - interval 1 second end as to_at
    from spans

)

select distinct
    cluster_id,
    kind,
    {{ unnest_date_range('cast(from_at as date)', 'cast(to_at as date)') }} as day_date
from ends
