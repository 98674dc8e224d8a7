-- Work lost by account and user, those who lost most first. One row per cluster, account and user.
select * from marts.agg_lost_hours_by_account
order by cluster_id, lost_gpu_hours desc nulls last, account nulls last, user_name nulls last
