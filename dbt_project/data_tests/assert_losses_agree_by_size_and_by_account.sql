-- Accounting identity: work lost to failures and second-order preemptions, by size, by account, by month and as listed.
{{ config(meta={'dagster': {'ref': {'name': 'agg_lost_hours_by_account'}}}) }}

with

losses as (

    select
        cluster_id,
        true as is_first_order,
        posterior_probability as probability,
        lost_gpu_hours
    from {{ ref('fct_failures') }}
    union all
    select
        cluster_id,
        false as is_first_order,
        second_order_probability as probability,
        lost_gpu_hours
    from {{ ref('fct_preemptions') }}
    where is_second_order

),

listed as (

    select
        clusters.cluster_id,
        count(losses.is_first_order) as loss_count,
        coalesce(sum(case when losses.is_first_order then losses.lost_gpu_hours end), 0) as first_order_gpu_hours,
        coalesce(sum(case when not losses.is_first_order then losses.lost_gpu_hours end), 0) as second_order_gpu_hours,
        coalesce(sum(losses.probability * losses.lost_gpu_hours), 0) as expected_lost_gpu_hours
    from {{ ref('dim_clusters') }} as clusters
    left join losses on clusters.cluster_id = losses.cluster_id
    group by clusters.cluster_id

),

by_size as (

    select
        cluster_id,
        sum(failure_count + second_order_count) as loss_count,
        coalesce(sum(first_order_gpu_hours), 0) as first_order_gpu_hours,
        coalesce(sum(second_order_gpu_hours), 0) as second_order_gpu_hours,
        coalesce(sum(expected_lost_gpu_hours), 0) as expected_lost_gpu_hours
    from {{ ref('agg_lost_goodput') }}
    group by cluster_id

),

by_account as (

    select
        cluster_id,
        sum(failure_count + second_order_count) as loss_count,
        coalesce(sum(first_order_gpu_hours), 0) as first_order_gpu_hours,
        coalesce(sum(second_order_gpu_hours), 0) as second_order_gpu_hours,
        coalesce(sum(lost_gpu_hours), 0) as lost_gpu_hours,
        coalesce(sum(expected_lost_gpu_hours), 0) as expected_lost_gpu_hours
    from {{ ref('agg_lost_hours_by_account') }}
    group by cluster_id

),

by_month as (

    select
        cluster_id,
        sum(failure_count + second_order_count) as loss_count,
        coalesce(sum(lost_gpu_hours), 0) as lost_gpu_hours,
        coalesce(sum(expected_lost_gpu_hours), 0) as expected_lost_gpu_hours
    from {{ ref('agg_lost_hours_by_account_monthly') }}
    group by cluster_id

)

select
    listed.*,
    by_size.first_order_gpu_hours as first_order_by_size,
    by_size.second_order_gpu_hours as second_order_by_size,
    by_account.lost_gpu_hours as lost_by_account,
    by_month.lost_gpu_hours as lost_by_month
from listed
left join by_size on listed.cluster_id = by_size.cluster_id
left join by_account on listed.cluster_id = by_account.cluster_id
left join by_month on listed.cluster_id = by_month.cluster_id
where
    listed.loss_count != coalesce(by_size.loss_count, 0)
    or listed.loss_count != coalesce(by_account.loss_count, 0)
    or listed.loss_count != coalesce(by_month.loss_count, 0)
    or abs(by_account.lost_gpu_hours - by_month.lost_gpu_hours) > 1e-6 * (1 + by_account.lost_gpu_hours)
    or abs(by_account.expected_lost_gpu_hours - by_month.expected_lost_gpu_hours)
    > 1e-6 * (1 + by_account.expected_lost_gpu_hours)
    or abs(listed.first_order_gpu_hours - by_size.first_order_gpu_hours) > 1e-6 * (1 + listed.first_order_gpu_hours)
    or abs(listed.second_order_gpu_hours - by_size.second_order_gpu_hours) > 1e-6 * (1 + listed.second_order_gpu_hours)
    or abs(listed.first_order_gpu_hours - by_account.first_order_gpu_hours) > 1e-6 * (1 + listed.first_order_gpu_hours)
    or abs(by_account.first_order_gpu_hours + by_account.second_order_gpu_hours - by_account.lost_gpu_hours)
    > 1e-6 * (1 + by_account.lost_gpu_hours)
    or abs(listed.second_order_gpu_hours - by_account.second_order_gpu_hours)
    > 1e-6 * (1 + listed.second_order_gpu_hours)
    or abs(listed.expected_lost_gpu_hours - by_size.expected_lost_gpu_hours)
    > 1e-6 * (1 + listed.expected_lost_gpu_hours)
    or abs(listed.expected_lost_gpu_hours - by_account.expected_lost_gpu_hours)
    > 1e-6 * (1 + listed.expected_lost_gpu_hours)
    or listed.expected_lost_gpu_hours > 1.000001 * (listed.first_order_gpu_hours + listed.second_order_gpu_hours)
