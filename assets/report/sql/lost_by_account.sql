-- The 20 users of each cluster who lost most, and the rest in one row, which comes last. One row per cluster and place.
with ranked as (
    select
        *,
        row_number() over (
            partition by cluster_id
            order by lost_gpu_hours desc nulls last, account nulls last, user_name nulls last
        ) as place
    from marts.agg_lost_hours_by_account
)

select
    cluster_id,
    least(place, 21) as place,
    count(*) as row_count,
    min_by(account, place) as account,
    min_by(user_name, place) as user_name,
    sum(failure_count) as failure_count,
    sum(second_order_count) as second_order_count,
    sum(gpu_unknown_count) as gpu_unknown_count,
    sum(lost_gpu_hours order by place) as lost_gpu_hours,
    sum(first_order_gpu_hours order by place) as first_order_gpu_hours,
    sum(second_order_gpu_hours order by place) as second_order_gpu_hours,
    sum(lost_cost order by place) as lost_cost,
    any_value(currency) as currency
from ranked
group by cluster_id, least(place, 21)
order by cluster_id, place
