-- Whether failures per node-day depend on the size of a job. One row per cluster.
select * from estimates.est_scale_tests
order by cluster_id
