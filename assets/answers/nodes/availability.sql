-- Node-hours by state, and the burn rate of the error budget over the longer window of the alert, or without an alert
-- over the longest known window. One row per cluster and month.
with months as (
    select
        months.*,
        -- the study period may cut a month
        ceil(epoch(
            least(months.month_date + interval 1 month, clusters.study_to_at)
            - greatest(months.month_date, clusters.study_from_at)
        ) / 86400) as seen_day_count,
        unknown_node_hours / total_node_hours as unknown_ratio,
        case
            when burn_pace = 'fast' then 3
            when burn_pace = 'medium' then 7
            when burn_pace = 'slow' or burn_rate_28d is not null then 28
            when burn_rate_7d is not null then 7
            when burn_rate_3d is not null then 3
            when burn_rate_1d is not null then 1
        end as burn_days
    from marts.agg_availability_monthly as months
    left join marts.dim_clusters as clusters using (cluster_id)
)

select
    *,
    seen_day_count < day(last_day(month_date)) as is_part,
    case burn_days
        when 28 then burn_rate_28d
        when 7 then burn_rate_7d
        when 3 then burn_rate_3d
        when 1 then burn_rate_1d
    end as burn_rate
from months
order by cluster_id, month_date
