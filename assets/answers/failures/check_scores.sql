-- Quality of the alarms of each health check, the least reliable first. One row per cluster and check.
select
    * replace (
        round(false_per_node_month, 3) as false_per_node_month,
        round(false_per_node_month_low, 3) as false_per_node_month_low,
        round(false_per_node_month_high, 3) as false_per_node_month_high
    )
from estimates.est_check_scores
where event_count > 0
order by list_position(['drop', 'tune', 'keep', 'cannot tell'], verdict), event_count desc, check_name
