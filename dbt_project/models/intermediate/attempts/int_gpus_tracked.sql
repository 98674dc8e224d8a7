with

records as (

    select * from {{ ref('stg_sacct__records') }}

)

select
    cluster_id,
    bool_or(gpu_count_source in ('tres', 'tres_typed')) as is_gpu_tracked
from records
group by cluster_id
