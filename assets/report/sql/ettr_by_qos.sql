-- ETTR of long runs by QOS, of clusters with several. One row per cluster, QOS and size bin.
select
    cluster_id,
    qos,
    gpu_size_bin,
    run_count,
    ettr_measured,
    ettr_measured_low,
    ettr_measured_high,
    ettr_bound_low,
    ettr_bound_high,
    confidence_level,
    event_count,
    exposure,
    note
from estimates.est_ettr_by_qos
qualify count(distinct qos) over (partition by cluster_id) > 1
order by cluster_id, qos, gpu_size_bin
