with

fitted as (

    select * from {{ fitted_table('int_posteriors_fitted') }}

)

select
    cluster_id,
    attempt_id,
    node_id,
    episode_number,
    draw,
    probability
from fitted
