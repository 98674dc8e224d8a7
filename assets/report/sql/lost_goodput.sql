-- Work lost in first and second order, the unknown size last. One row per cluster and size bin.
select * from marts.agg_lost_goodput
order by cluster_id, gpu_size_bin nulls last
