-- The latest 1,000 preempted attempts of each cluster. One row per attempt.
select
    preemptions.*,
    victims.job_id as victim_job_id, victims.attempt_number as victim_attempt_number,
    victims.job_name as victim_job_name, victims.user_name as victim_user_name, victims.gpu_count as victim_gpu_count,
    instigators.job_id as instigator_job_id, instigators.attempt_number as instigator_attempt_number
from marts.fct_preemptions as preemptions
left join marts.fct_attempts as victims using (cluster_id, attempt_id)
left join marts.fct_attempts as instigators
    on preemptions.cluster_id = instigators.cluster_id
    and preemptions.instigator_attempt_id = instigators.attempt_id
qualify row_number() over (
    partition by preemptions.cluster_id order by preemptions.preempted_at desc, preemptions.attempt_id
) <= 1000
order by preemptions.cluster_id, preemptions.preempted_at desc, preemptions.attempt_id
