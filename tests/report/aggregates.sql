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

insert into marts.fct_incidents
select cluster_id, incident_id, count(*)
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
