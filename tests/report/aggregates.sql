-- Aggregates of the planted attempts, so that the page's numbers agree with each other.
insert into marts.agg_job_states by name
with ended as (select * from marts.fct_attempts where is_terminal),

totals as (select cluster_id, count(*) as attempt_count, sum(gpu_hours) as gpu_hours from ended group by all),

counted as (
    select cluster_id, state, false as is_infrastructure, count(*) as attempt_count, sum(gpu_hours) as gpu_hours
    from ended
    group by all
    union all
    select cluster_id, 'INFRASTRUCTURE', true, count(*), sum(gpu_hours)
    from ended
    where is_infrastructure_failure
    group by all
)

select
    counted.cluster_id,
    state,
    is_infrastructure,
    counted.attempt_count,
    if(is_infrastructure, 0.75 * counted.attempt_count, 0) as expected_failure_count,
    counted.attempt_count / totals.attempt_count as attempt_ratio,
    counted.gpu_hours,
    counted.gpu_hours / totals.gpu_hours as gpu_time_ratio
from counted
inner join totals using (cluster_id);

insert into marts.agg_job_sizes by name
with ended as (select * from marts.fct_attempts where is_terminal),

totals as (select cluster_id, count(*) as attempt_count, sum(gpu_hours) as gpu_hours from ended group by all)

select
    ended.cluster_id,
    gpu_size_bin,
    count(*) as job_count,
    count(*) / any_value(totals.attempt_count) as job_ratio,
    sum(ended.gpu_hours) as gpu_hours,
    sum(ended.gpu_hours) / any_value(totals.gpu_hours) as gpu_time_ratio
from ended
inner join totals using (cluster_id)
group by all;

insert into marts.fct_incidents by name
select
    cluster_id, incident_id, count(*) as attempt_count, min(failure_category) as failure_category,
    max(posterior_probability) as incident_probability
from marts.fct_failures
group by all;

insert into marts.fct_job_runs by name
select cluster_id, job_id as run_id, sum(runtime_seconds) / 3600 as scheduled_hours, 0 as queue_hours
from marts.fct_attempts
group by all;

insert into marts.fct_node_days by name
with spread as (
    select cluster_id, node_id, cast(started_at as date) as day_date, gpu_hours / node_count as hours
    from marts.fct_attempts
    inner join marts.fct_attempt_nodes using (cluster_id, attempt_id)
    where node_count > 0
)

select
    cluster_id,
    node_id,
    day_date,
    least(sum(hours), 170) as allocated_gpu_hours,
    0 as out_of_service_hours
from spread
group by all;

insert into marts.fct_incident_suspects by name
select
    cluster_id, incident_id, culprit_node_id as node_id, true as is_known, failed_at,
    posterior_probability as incident_probability, lost_gpu_hours
from marts.fct_failures
where culprit_node_id is not null;

insert into marts.agg_lost_goodput by name
with losses as (
    select cluster_id, attempt_id, lost_gpu_hours, 'first' as loss_order from marts.fct_failures
    union all
    select
        cluster_id, attempt_id, lost_gpu_hours,
        case when is_second_order then 'second' when instigator_attempt_id is null then 'unknown' else 'none' end
    from marts.fct_preemptions
)

select
    attempts.cluster_id,
    gpu_size_bin,
    count(*) filter (where loss_order = 'first') as failure_count,
    0.75 * count(*) filter (where loss_order = 'first') as expected_failure_count,
    coalesce(sum(lost_gpu_hours) filter (where loss_order = 'first'), 0) as first_order_gpu_hours,
    count(*) filter (where loss_order = 'second') as second_order_count,
    coalesce(sum(lost_gpu_hours) filter (where loss_order = 'second'), 0) as second_order_gpu_hours,
    count(*) filter (where loss_order = 'unknown') as instigator_unknown_count,
    coalesce(sum(lost_gpu_hours) filter (where loss_order = 'unknown'), 0) as instigator_unknown_gpu_hours,
    coalesce(0.75 * sum(lost_gpu_hours) filter (where loss_order in ('first', 'second')), 0) as expected_lost_gpu_hours
from marts.fct_attempts as attempts
left join losses using (cluster_id, attempt_id)
where attempts.is_terminal
group by all;

-- More users than the page shows one by one; only the simulated cluster has a price.
insert into marts.agg_lost_hours_by_account by name
with losses as (
    select cluster_id, attempt_id, lost_gpu_hours, true as is_first from marts.fct_failures
    union all
    select cluster_id, attempt_id, lost_gpu_hours, false from marts.fct_preemptions where is_second_order
)

select
    cluster_id,
    if(cluster_id = 'demo', 'lab' || job_id_raw % 3, user_name) as account,
    user_name,
    count(*) filter (where is_first) as failure_count,
    0.75 * count(*) filter (where is_first) as expected_failure_count,
    count(*) filter (where not is_first) as second_order_count,
    count(*) filter (where lost_gpu_hours is null) as gpu_unknown_count,
    sum(losses.lost_gpu_hours) as lost_gpu_hours,
    sum(0.75 * losses.lost_gpu_hours) as expected_lost_gpu_hours,
    coalesce(sum(losses.lost_gpu_hours) filter (where is_first), 0) as first_order_gpu_hours,
    coalesce(sum(losses.lost_gpu_hours) filter (where not is_first), 0) as second_order_gpu_hours,
    sum(2 * losses.lost_gpu_hours) filter (where cluster_id = 'demo') as lost_cost,
    0.75 * lost_cost as expected_lost_cost,
    if(cluster_id = 'demo', 'EUR', null) as currency
from losses
inner join marts.fct_attempts using (cluster_id, attempt_id)
group by all;

insert into marts.agg_lost_hours_by_account_monthly by name
select
    months.month_date,
    accounts.*
from marts.agg_lost_hours_by_account as accounts
cross join (select unnest([date '2026-08-01', date '2026-09-01']) as month_date) as months;

insert into marts.agg_crash_loops by name
select
    'demo' as cluster_id,
    job_id as run_id,
    user_name,
    'lab1' as account,
    gpu_count,
    started_at,
    ended_at,
    4 as consecutive_failure_count,
    4 as failure_count,
    6 as attempt_count,
    3 as victim_count,
    1 as second_order_victim_count,
    4.0 * gpu_count as first_order_gpu_hours,
    1.5 as victim_gpu_hours,
    4.0 * gpu_count + 1.5 as lost_gpu_hours
from marts.fct_attempts
where cluster_id = 'demo' and gpu_count = 256 and is_infrastructure_failure
order by job_id
limit 2;

insert into marts.agg_availability_monthly by name
with hours as (
    from (values
        ('demo', date '2026-08-01', 800.0::double, 180.0::double, 5.0::double, 5.0::double, 10.0::double, 0.99::double),
        ('demo', date '2026-09-01', 700.0, 240.0, 0.0, 60.0, 0.0, 0.99),
        ('hall-b', date '2026-09-01', 90.0, 0.0, 0.0, 0.0, 10.0, null)
    ) as months (cluster_id, month_date, allocated, idle, planned, failed, unknown, objective)
)

select
    cluster_id,
    month_date,
    allocated as allocated_node_hours,
    idle as idle_node_hours,
    planned as planned_out_node_hours,
    failed as failed_node_hours,
    unknown as unknown_node_hours,
    allocated + idle + planned + failed + unknown as total_node_hours,
    if(cluster_id = 'demo', 1 - failed / (allocated + idle + failed), null) as availability,
    (allocated + idle) / (total_node_hours - planned) as availability_low,
    1 - failed / (total_node_hours - planned) as availability_high,
    objective,
    1 - (1 - availability) / (1 - objective) as error_budget_left,
    1 - (1 - availability_low) / (1 - objective) as error_budget_left_low,
    1 - (1 - availability_high) / (1 - objective) as error_budget_left_high,
    if(month_date = '2026-09-01' and cluster_id = 'demo', 3.5, null) as burn_rate_7d,
    if(month_date = '2026-09-01' and cluster_id = 'demo', 'medium', null) as burn_pace
from hours;
