-- ETTR of long runs. One row per cluster and size bin.
select
    cluster_id,
    gpu_size_bin,
    run_count,
    ettr_measured,
    ettr_measured_low,
    ettr_measured_high,
    ettr_bound_low,
    ettr_bound_high,
    ettr_expected,
    ettr_expected_low,
    ettr_expected_high,
    ettr_expected_exact,
    ettr_expected_exact_low,
    ettr_expected_exact_high,
    ettr_expected_v2,
    ettr_expected_v2_low,
    ettr_expected_v2_high,
    checkpoint_minutes,
    restart_minutes,
    write_minutes,
    confidence_level,
    event_count,
    exposure,
    note
from estimates.est_ettr_by_size
order by cluster_id, gpu_size_bin
