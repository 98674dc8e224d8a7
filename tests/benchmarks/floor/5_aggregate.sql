-- Aggregates, one per figure.
create table job_states as
select cluster_id, state, count(*) as attempt_count, sum(gpu_hours) as gpu_hours,
    count(*) filter (is_failure) as failure_count
from attempts where is_terminal group by all;
create table job_sizes as
select
    cluster_id, gpu_size_bin, count(*) as job_count, sum(gpu_hours) as gpu_hours,
    sum(runtime_seconds) / 3600 as runtime_hours,
    count(*) filter (is_failure) as failure_count, runtime_hours / nullif(failure_count, 0) as mttf_hours
from attempts where is_terminal group by all;
create table failure_rates as
select
    cluster_id, gpu_count > 128 as is_large, sum(node_days) as node_days, count(*) filter (is_failure) as failure_count,
    1000 * failure_count / sum(node_days) as failures_per_1000_node_days
from attempts where is_terminal group by all;
create table failure_rates_by_cause as
select f.cluster_id, f.category, count(*) as failure_count,
    failure_count / any_value(g.gpu_hours) as failures_per_gpu_hour
from failures f
join (select cluster_id, sum(gpu_hours) as gpu_hours from attempts group by all) g using (cluster_id)
group by all;
create table failure_rates_daily as
select
    *,
    1000 * sum(failure_count) over days_30 / nullif(sum(node_days) over days_30, 0) as failures_per_1000_node_days_30d
from (
    select d.cluster_id, d.day, c.category, d.node_days, coalesce(f.failure_count, 0) as failure_count
    from (select cluster_id, day, sum(used_hours) / 24 as node_days from node_days group by all) d
    join (select distinct cluster_id, category from failures) c using (cluster_id)
    left join (select cluster_id, failed_at::date as day, category, count(*) as failure_count
        from failures group by all) f
        using (cluster_id, day, category)
)
window days_30 as (partition by cluster_id, category order by day rows between 29 preceding and current row);
create table cooccurrence as
select f.cluster_id, f.category, e.category as other_category, count(distinct f.attempt_id) as both_count
from failures f join evidence e on e.attempt_id = f.attempt_id and e.category <> f.category
    where f.is_attributed group by all;
create table chance as
select a.cluster_id, a.gpu_size_bin, e.category, count(*) as hit_count
from evidence e join attempts a using (attempt_id) where e.is_control and e.evidence_rank = 1 group by all;
create table lost_goodput as
select a.cluster_id, a.gpu_size_bin, sum(l.lost_gpu_hours) filter (first_order) as first_order_gpu_hours,
    sum(l.lost_gpu_hours) filter (not first_order) as second_order_gpu_hours
from (
    select attempt_id, lost_gpu_hours, true as first_order from failures
    union all select attempt_id, lost_gpu_hours, false from preemptions where is_second_order
) l join attempts a using (attempt_id) group by all;
create table lost_by_account as
select a.cluster_id, a.account, a.user_name, sum(l.lost_gpu_hours) as lost_gpu_hours, 2.0 * lost_gpu_hours as lost_cost
from (
    select attempt_id, lost_gpu_hours from failures union all
    select attempt_id, lost_gpu_hours from preemptions where is_second_order
) l join attempts a using (attempt_id) group by all;
create table ettr_by_size as
select
    cluster_id, size_bin(gpu_count) as gpu_size_bin, count(*) as run_count, avg(ettr) as ettr, avg(productive_hours_low
        / (queue_hours + scheduled_hours)) as ettr_low,
            avg(productive_hours_high / (queue_hours + scheduled_hours)) as ettr_high
from job_runs where scheduled_hours >= 24 group by all;
create table crash_loops as
with steps as (
    select *, run_attempt_number - row_number()
        over (partition by cluster_id, run_id order by run_attempt_number) as island
    from attempts where is_failure
), loops as (
    select cluster_id, run_id, max(failures_in_row) as consecutive_failure_count
    from (select cluster_id, run_id, count(*) as failures_in_row from steps group by cluster_id, run_id, island)
    group by all having consecutive_failure_count >= 3
)
select l.*, count(p.attempt_id) as victim_count, sum(p.lost_gpu_hours) as lost_gpu_hours
from loops l join attempts a using (cluster_id, run_id)
    left join preemptions p on p.instigator_id = a.attempt_id group by all;
create table job_exclusions as
select cluster_id, job_id_raw, node_id, min(submitted_at) as first_seen_at, max(submitted_at) as last_seen_at
from (
    select cluster_id, job_id_raw, submitted_at, unnest(nodes) as node_id
    from records join (
        select hosts, expand(hosts) as nodes
        from (select distinct regexp_extract(submit_line, '--exclude=(\S+)', 1) as hosts
            from records where contains(submit_line, '--exclude='))
    ) on hosts = regexp_extract(submit_line, '--exclude=(\S+)', 1)
    where contains(submit_line, '--exclude=')
)
group by all;
create table lemon_signals as
with days as (
    select cluster_id, node_id, first_seen_at::date as day, 'exclusion' as signal, count(*) as amount
        from job_exclusions group by all
    union all select cluster_id, node_id, opened_at::date, 'ticket', count(*) from tickets group by all
    union all select cluster_id, node_id, started_at::date, 'out', count(*)
        from outages where not is_planned group by all
    union all select cluster_id, node_id, started_at::date, if(is_multi_node, 'multi', 'single'), count(*)
        from incidents group by all
    union all select cluster_id, node_list, ended_at::date, 'attempt', count(*)
        from attempts where node_count = 1 and is_terminal group by all
    union all select cluster_id, node_list, ended_at::date, 'failure', count(*)
        from attempts where node_count = 1 and is_failure group by all
    union all
    select cluster_id, node_id, unnest([day, least(day + 28, coalesce(next_day, date '9999-01-01'))]), 'xid',
        unnest([1, -1])
    from (
        select *, lead(day) over (partition by cluster_id, node_id, code order by day) as next_day
        from (select distinct cluster_id, node_id, observed_at::date as day, code from kernel_events where kind = 'xid')
    )
), daily as (pivot days on signal in ('exclusion', 'ticket', 'out', 'multi', 'single', 'attempt', 'failure', 'xid')
    using sum(amount))
select
    n.cluster_id, n.node_id, n.day, sum(d.exclusion) over days_28 as excl_jobid_count,
    sum(d.xid) over (partition by n.cluster_id, n.node_id order by n.day) as xid_cnt,
    sum(d.ticket) over days_28 as tickets,
    sum(d.out) over days_28 as out_count, sum(d.multi) over days_28 as multi_node_node_fails,
    sum(d.single) over days_28 as single_node_node_fails, sum(n.used_hours) over days_28 / 24 as in_use_node_days,
    sum(d.failure) over days_28 / sum(d.attempt) over days_28 as single_node_node_failure_rate
from node_days n left join daily d using (cluster_id, node_id, day)
window days_28 as (partition by n.cluster_id, n.node_id order by n.day rows between 27 preceding and current row);
