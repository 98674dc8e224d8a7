with

failures as (

    select * from {{ ref('int_attempts_interrupted') }}
    where not is_planned

),

attempts as (

    select
        records.*,
        records.gpu_count + records.other_components_gpu_count as job_gpu_count,
        {{ queue_seconds('records.eligible_at', 'records.started_at') }} as queue_seconds,
        failures.attempt_id is not null as is_infrastructure_failure
    from {{ ref('fct_attempt_records') }} as records
    left join failures
        on
            records.cluster_id = failures.cluster_id
            and records.attempt_id = failures.attempt_id

),

clusters as (

    select * from {{ ref('dim_clusters') }}

),

measured as (

    {{ measured_work(
        'attempts', 'clusters', 'attempts.run_attempt_number > 1 or not attempts.is_last_of_run'
    ) | indent(4) }}

),

totals as (

    select
        run_id,
        {{ last_by('state', 'run_attempt_number') }} as final_state,
        max(case when started_at is not null then gpu_count end) as gpu_count,
        max(case when started_at is not null then job_gpu_count end) as job_gpu_count,
        max(case when started_at is not null then node_count end) as node_count,
        count(distinct job_id_raw) as job_count,
        count(*) as attempt_count,
        min(started_at) as started_at,
        max(ended_at) as last_ended_at,
        bool_and(has_ended) as is_complete,
        case
            when count(started_at) = count(queue_seconds) then coalesce(sum(queue_seconds), 0)
        end as queue_seconds,
        sum(exposure_seconds) as scheduled_seconds,
        sum(gpu_count * runtime_seconds) as gpu_seconds,
        {{ exact_sum('working_seconds') }} as working_seconds,
        {{ exact_sum('lost_seconds') }} as lost_seconds,
        {{ exact_sum('lost_seconds_high') }} as lost_seconds_high,
        count(case when is_interrupted then 1 end) as interruption_count,
        count(case when is_infrastructure_failure then 1 end) as infrastructure_failure_count,
        count(case when state = 'PREEMPTED' then 1 end) as preemption_count,
        count(case when attempt_number > 1 and not is_continuation then 1 end) as requeue_count
    from measured
    group by run_id

)

select
    first_attempts.cluster_id,
    first_attempts.run_id,
    first_attempts.user_name,
    first_attempts.account,
    first_attempts.partition,
    first_attempts.qos,
    first_attempts.job_name,
    totals.gpu_count,
    totals.job_gpu_count,
    totals.node_count,
    cast(totals.job_count as integer) as job_count,
    cast(totals.attempt_count as integer) as attempt_count,
    first_attempts.submitted_at,
    totals.started_at,
    case when totals.is_complete then totals.last_ended_at end as ended_at,
    totals.is_complete,
    totals.final_state,
    cast(totals.queue_seconds as bigint) as queue_seconds,
    cast(coalesce(totals.scheduled_seconds, 0) as bigint) as scheduled_seconds,
    cast(coalesce(totals.working_seconds, 0) as double) as working_seconds,
    cast(first_attempts.work_ratio as double) as work_ratio,
    cast(coalesce(totals.lost_seconds, 0) as double) as lost_seconds,
    cast(coalesce(totals.lost_seconds_high, 0) as double) as lost_seconds_high,
    cast(totals.gpu_seconds as bigint) as gpu_seconds,
    cast(totals.interruption_count as integer) as interruption_count,
    cast(totals.infrastructure_failure_count as integer) as infrastructure_failure_count,
    cast(totals.preemption_count as integer) as preemption_count,
    cast(totals.requeue_count as integer) as requeue_count
from measured as first_attempts
inner join totals on first_attempts.run_id = totals.run_id
where first_attempts.run_attempt_number = 1
-- rows of neighbouring runs beside each other take a tenth less room
order by cluster_id, run_id
