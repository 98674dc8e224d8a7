-- Whether attempts fail more or less as they run. One row per cluster and size bin.
select
    cluster_id,
    gpu_size_bin,
    weibull_shape,
    weibull_shape_low,
    weibull_shape_high,
    verdict,
    goodness_of_fit_p_value,
    confidence_level,
    event_count,
    exposure,
    note
from estimates.est_time_to_failure
order by cluster_id, gpu_size_bin
