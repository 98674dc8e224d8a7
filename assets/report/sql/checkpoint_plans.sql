-- Checkpoint intervals and the ETTR they lead to. One row per cluster and size.
select * from estimates.est_checkpoint_plans
order by cluster_id, gpu_count
