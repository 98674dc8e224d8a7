-- Preempted attempts by how their instigator is known. One row per cluster.
select
    cluster_id,
    count(*) as preemption_count,
    count(*) filter (where instigator_attempt_id is not null and not is_inferred) as named_count,
    count(*) filter (where instigator_attempt_id is not null and is_inferred) as inferred_count,
    count(*) filter (where instigator_attempt_id is null) as unknown_count,
    named_count / preemption_count as named_ratio,
    inferred_count / preemption_count as inferred_ratio,
    unknown_count / preemption_count as unknown_ratio
from marts.fct_preemptions
group by cluster_id
