-- Aggregates of the planted attempts, so that the page's numbers agree with each other.
insert into marts.agg_job_states
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
    counted.cluster_id, state, is_infrastructure, counted.attempt_count, counted.attempt_count / totals.attempt_count,
    counted.gpu_hours, counted.gpu_hours / totals.gpu_hours
from counted
inner join totals using (cluster_id);

insert into marts.agg_job_sizes
with ended as (select * from marts.fct_attempts where is_terminal),

totals as (select cluster_id, count(*) as attempt_count, sum(gpu_hours) as gpu_hours from ended group by all)

select
    ended.cluster_id, gpu_size_bin, count(*), count(*) / any_value(totals.attempt_count), sum(ended.gpu_hours),
    sum(ended.gpu_hours) / any_value(totals.gpu_hours)
from ended
inner join totals using (cluster_id)
group by all;

insert into marts.fct_incidents by name
select cluster_id, incident_id, count(*) as attempt_count, min(failure_category) as failure_category
from marts.fct_failures
group by all;

insert into marts.fct_job_runs
select cluster_id, job_id, sum(runtime_seconds) / 3600 from marts.fct_attempts group by all;

insert into marts.fct_node_days
with spread as (
    select cluster_id, unnest(node_ids) as node_id, cast(started_at as date) as day_date, gpu_hours / node_count as hours
    from marts.fct_attempts
    where node_count > 0
)

select cluster_id, node_id, day_date, least(sum(hours), 170), 0 from spread group by all;

insert into marts.fct_incident_suspects by name
select
    cluster_id, incident_id, culprit_node_id as node_id, true as is_known, failed_at,
    posterior_probability as incident_probability, lost_gpu_hours
from marts.fct_failures
where culprit_node_id is not null;

insert into marts.agg_lost_goodput
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
    count(*) filter (where loss_order = 'first'),
    coalesce(sum(lost_gpu_hours) filter (where loss_order = 'first'), 0),
    count(*) filter (where loss_order = 'second'),
    coalesce(sum(lost_gpu_hours) filter (where loss_order = 'second'), 0),
    count(*) filter (where loss_order = 'unknown'),
    coalesce(sum(lost_gpu_hours) filter (where loss_order = 'unknown'), 0),
    coalesce(0.75 * sum(lost_gpu_hours) filter (where loss_order in ('first', 'second')), 0)
from marts.fct_attempts as attempts
left join losses using (cluster_id, attempt_id)
where attempts.is_terminal
group by all;

-- More users than the page shows one by one; only the simulated cluster has a price.
insert into marts.agg_lost_hours_by_account
with losses as (
    select cluster_id, attempt_id, lost_gpu_hours, true as is_first from marts.fct_failures
    union all
    select cluster_id, attempt_id, lost_gpu_hours, false from marts.fct_preemptions where is_second_order
)

select
    cluster_id,
    if(cluster_id = 'demo', 'lab' || job_id_raw % 3, user_name) as account,
    user_name,
    count(*) filter (where is_first),
    count(*) filter (where not is_first),
    count(*) filter (where lost_gpu_hours is null),
    sum(lost_gpu_hours),
    coalesce(sum(lost_gpu_hours) filter (where is_first), 0),
    coalesce(sum(lost_gpu_hours) filter (where not is_first), 0),
    sum(2 * lost_gpu_hours) filter (where cluster_id = 'demo'),
    if(cluster_id = 'demo', 'EUR', null)
from losses
inner join marts.fct_attempts using (cluster_id, attempt_id)
group by all;

insert into marts.agg_crash_loops
select
    'demo', job_id, user_name, 'lab1', gpu_count, started_at, ended_at, 4, 4, 6, 3, 1, 4.0 * gpu_count, 1.5,
    4.0 * gpu_count + 1.5
from marts.fct_attempts
where cluster_id = 'demo' and gpu_count = 256 and is_infrastructure_failure
order by job_id
limit 2;
