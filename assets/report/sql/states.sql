-- How attempts ended, the infrastructure's row last. One row per cluster and state.
select * from marts.agg_job_states
order by cluster_id, is_infrastructure, attempt_count desc, state
