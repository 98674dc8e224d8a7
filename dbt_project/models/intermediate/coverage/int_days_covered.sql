with

spans as (

    select * from {{ ref('stg_ops__spans') }}

),

-- A stated span until midnight does not cover the next day. The last record of a log covers its day.
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
