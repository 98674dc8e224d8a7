with

spans as (

    select * from {{ ref('stg_ops__spans') }}
    where kind = 'sacct'

),

files as (

    select * from {{ ref('stg_ops__files') }}
    where kind = 'sacct'

),

unfinished as (

    select * from {{ ref('int_node_use_at_export_end') }}

),

covered as (

    select
        cluster_id,
        min(from_at) as from_at,
        max(to_at) as to_at
    from spans
    group by cluster_id

),

data as (

    select
        cluster_id,
        max(last_at) as data_through_at
    from files
    group by cluster_id

)

select
    covered.cluster_id,
    covered.from_at as study_from_at,
    case
        -- Jobs that still ran were left out: towards the end less and less of what ran is there.
        when unfinished.last_node_count < 0.7 * unfinished.node_count_before
            then greatest(
                unfinished.last_ended_at - {{ seconds_interval('unfinished.delay_seconds') }},
                coalesce(unfinished.seen_running_at, covered.from_at)
            )
        else covered.to_at
    end as study_to_at,
    data.data_through_at
from covered
left join data on covered.cluster_id = data.cluster_id
left join unfinished on covered.cluster_id = unfinished.cluster_id
