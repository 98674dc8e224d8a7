-- ETTR to expect of a run of 16,384 GPUs that writes checkpoints in the background. One row per rate and interval.
select * from estimates.est_ettr_grid
where gpu_count = 16384 and scenario = 'async_writes'
order by failures_per_1000_node_days, checkpoint_minutes
