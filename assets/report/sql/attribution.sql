-- Failures whose cause was found, was looked for in vain, or could not be looked for. One row per cluster and kind.
select
    cluster_id,
    case
        when is_attributed then 'attributed'
        when has_coverage then 'unexplained'
        else 'no_coverage'
    end as kind,
    count(*) as failure_count,
    sum(lost_gpu_hours) as lost_gpu_hours,
    count(*) filter (where lost_gpu_hours is null) as unknown_loss_count
from marts.fct_failures
group by all
