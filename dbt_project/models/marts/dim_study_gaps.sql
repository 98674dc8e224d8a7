with

spans as (

    select * from {{ ref('stg_ops__spans') }}
    where kind = 'sacct'

),

study_periods as (

    select * from {{ ref('int_study_periods') }}

),

followed as (

    select
        cluster_id,
        to_at as from_at,
        lead(from_at) over (
            partition by cluster_id
            order by from_at, to_at
        ) as to_at
    from spans

)

select
    followed.cluster_id,
    followed.from_at,
    least(followed.to_at, study_periods.study_to_at) as to_at
from followed
inner join study_periods
    on
        followed.cluster_id = study_periods.cluster_id
        and followed.from_at < followed.to_at
        and followed.from_at < study_periods.study_to_at
