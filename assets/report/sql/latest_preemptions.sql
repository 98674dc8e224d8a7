-- The latest 1,000 preempted attempts of each cluster. One row per attempt.
with latest as (
    select * from marts.fct_preemptions
    qualify row_number() over (partition by cluster_id order by preempted_at desc, attempt_id) <= 1000
),

-- Looked up together, as each look-up goes through the names of all attempts.
named as (
    select cluster_id, attempt_id, job_id, attempt_number, job_name, user_name, gpu_count
    from marts.fct_attempts
    semi join (
        select cluster_id, attempt_id from latest
        union
        select cluster_id, instigator_attempt_id from latest
    ) as wanted using (cluster_id, attempt_id)
)

select
    latest.*,
    victims.job_id as victim_job_id, victims.attempt_number as victim_attempt_number,
    victims.job_name as victim_job_name, victims.user_name as victim_user_name, victims.gpu_count as victim_gpu_count,
    instigators.job_id as instigator_job_id, instigators.attempt_number as instigator_attempt_number
from latest
left join named as victims using (cluster_id, attempt_id)
left join named as instigators
    on latest.cluster_id = instigators.cluster_id and latest.instigator_attempt_id = instigators.attempt_id
order by latest.cluster_id, latest.preempted_at desc, latest.attempt_id
