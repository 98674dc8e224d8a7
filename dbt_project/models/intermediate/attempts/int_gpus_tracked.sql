with

records as (

    select * from {{ ref('stg_sacct__records') }}

)

-- Accounting names GPUs from some day on: a record of that day tells nothing about the days before.
select
    cluster_id,
    date_trunc('day', min(case
        when gpu_count_source in ('tres', 'tres_typed') then coalesce(started_at, submitted_at)
    end)) as gpus_tracked_from
from records
group by cluster_id
