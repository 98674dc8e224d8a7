-- Attempts of one job, and jobs that carry one piece of work on: same user, name and GPUs within 15 minutes.
create temp table run_jobs as
select cluster_id, job_id_raw, arg_max(job_id_raw, starts_run) over work_so_far as run_id
from (
    select *, if(coalesce(submitted_at > max(ended_at) over earlier + interval 15 minute
        or submitted_at < max(ended_at) over earlier - interval 2 second, true), submitted_at, null) as starts_run
    from (
        select
            cluster_id, job_id_raw, min(submitted_at) as submitted_at, max(ended_at) as ended_at,
            any_value(hash(cluster_id, user_name, job_name, array_task_id, req_tres)) as work
        from records group by cluster_id, job_id_raw
    )
    where work in (select hash(cluster_id, user_name, job_name, array_task_id, req_tres)
        from records group by all having count(*) > 1)
    window earlier as (partition by work order by submitted_at rows between unbounded preceding and 1 preceding)
)
window work_so_far as (partition by work order by submitted_at);
create temp table chained as
select
    attempt_id, run_id, row_number() over run as run_attempt_number, lag(attempt_id) over run as previous_id,
    lead(attempt_id) over run is null as is_last_of_run
from (
    select r.attempt_id, r.cluster_id, coalesce(j.run_id, r.job_id_raw) as run_id, r.submitted_at, r.started_at
    from records r left join run_jobs j using (cluster_id, job_id_raw)
    where j.run_id is not null
)
window run as (partition by cluster_id, run_id order by submitted_at, started_at);

-- Evidence: what began on a node of the attempt, while it ran, within ten minutes before its end and five after.
create table causes (category varchar, priority integer);
insert into causes values
    ('pcie', 1), ('gpu_memory', 2), ('gpu_nvlink', 3), ('gpu_unavailable', 4), ('gpu_driver_firmware', 5),
    ('ib_link', 6),
    ('block_device', 7), ('filesystem_mount', 8), ('main_memory', 9), ('host_hardware', 10), ('eth_link', 11),
    ('system_services', 12);
create table events as
select row_number() over () as event_id, * from (
    select cluster_id, node_id, observed_at, category, null::timestamp as last_ok_at
        from kernel_events where category is not null
    union all
    select cluster_id, node_id, observed_at, category, if(previous_symptom = 'ok', previous_at, null)
        from onsets where category is not null
    union all
    select cluster_id, node_id, logged_at, if(kind = 'prolog', 'system_services', 'host_hardware'), null from controller
    where kind = 'prolog' or (kind = 'reason' and regexp_matches(reason, '^(PSU|power|fan)'))
);
create table culprits as
select distinct r.attempt_id, c.node_id
from controller c join records r
    on c.cluster_id = r.cluster_id and c.job_id_raw = r.job_id_raw and r.state in ('NODE_FAIL', 'FAILED', 'REQUEUED')
    and r.ended_at between c.logged_at - interval 2 minute and c.logged_at + interval 2 minute
where c.kind = 'node_failure';
create temp table near_ends as
with ends as (
    select r.cluster_id, r.attempt_id, r.state, r.started_at, r.ended_at, quarter(r.ended_at) as slot,
        unnest(l.nodes) as node_id
    from records r join node_lists l using (node_list)
    where r.state in ('COMPLETED', 'FAILED', 'NODE_FAIL', 'REQUEUED')
), slots as (
    select *, unnest(range(quarter(observed_at - interval 5 minute), quarter(observed_at + interval 10 minute) + 1))
        as slot from events
)
select
    e.attempt_id, e.state = 'COMPLETED' as is_control, s.event_id, e.cluster_id, s.node_id, s.category, c.priority,
    e.ended_at, s.observed_at
from ends e
join slots s using (cluster_id, node_id, slot)
join causes c using (category)
left join culprits k on k.attempt_id = e.attempt_id and k.node_id = e.node_id
where s.observed_at between greatest(e.started_at, e.ended_at - interval 10 minute) and e.ended_at + interval 5 minute
    and coalesce(s.last_ok_at <= e.ended_at, true)
    and (k.attempt_id is not null or e.attempt_id not in (select attempt_id from culprits));
-- What began when a later attempt had already started on the node is not of the one before.
delete from near_ends where rowid in (
    select n.rowid
    from (select *, rowid from near_ends where observed_at > ended_at) n
    join (select cluster_id, started_at, unnest(nodes) as node_id from records join node_lists using (node_list)) s
        using (cluster_id, node_id)
    where s.started_at >= n.ended_at and s.started_at <= n.observed_at
);
create table evidence as
select
    attempt_id, is_control, event_id, node_id, category, epoch(observed_at - ended_at) as lag_seconds,
    row_number() over (partition by attempt_id order by priority, abs(lag_seconds), event_id) as evidence_rank
from near_ends;
create table failures as
with judged as (
    select
        r.cluster_id, r.attempt_id, r.state, r.ended_at as failed_at, r.runtime_seconds, t.gpus as gpu_count, l.nodes,
        coalesce(e.category, 'node_fail_unattributed') as category, e.event_id,
        e.evidence_rank is not null as is_attributed,
        coalesce(e.node_id, k.node_id, if(len(l.nodes) = 1, l.nodes[1], null)) as culprit_node_id
    from records r
    join node_lists l using (node_list)
    join tres t on t.tres = r.alloc_tres
    left join evidence e on e.attempt_id = r.attempt_id and e.evidence_rank = 1
    left join (select attempt_id, min(node_id) as node_id from culprits group by all) k on k.attempt_id = r.attempt_id
    where r.state = 'NODE_FAIL' or (r.state in ('FAILED', 'REQUEUED') and e.event_id is not null)
), covered as (
    select distinct w.attempt_id from checks c join (
        select *, unnest(range(quarter(failed_at - interval 10 minute), quarter(failed_at + interval 5 minute) + 1))
            as slot
        from (select cluster_id, attempt_id, failed_at, unnest(coalesce([culprit_node_id], nodes)) as node_id
            from judged)
    ) w on w.cluster_id = c.cluster_id and w.node_id = c.node_id and w.slot = quarter(c.observed_at)
        and c.observed_at between w.failed_at - interval 10 minute and w.failed_at + interval 5 minute
)
select j.*, c.attempt_id is not null as has_coverage, lost(j.runtime_seconds, j.gpu_count) as lost_gpu_hours
from judged j left join covered c using (attempt_id);
create table incidents as
select
    cluster_id, culprit_node_id as node_id, min(failed_at) as started_at, arg_min(category, failed_at) as category,
    count(*) as attempt_count, max(len(nodes)) > 1 as is_multi_node, sum(lost_gpu_hours) as lost_gpu_hours
from (
    select *, sum(starts::integer) over (partition by cluster_id, culprit_node_id order by failed_at) as burst
    from (
        select *, coalesce(failed_at > lag(failed_at) over (partition by cluster_id, culprit_node_id order by failed_at)
            + interval 10 minute, true) as starts
        from failures where culprit_node_id is not null
    )
)
group by cluster_id, culprit_node_id, burst;

create table attempts as
select
    r.* exclude (alloc_tres, req_tres), coalesce(c.run_id, r.job_id_raw) as run_id,
    coalesce(c.run_attempt_number, 1) as run_attempt_number, c.previous_id,
    coalesce(c.is_last_of_run, true) as is_last_of_run,
    r.ended_at is not null as is_terminal, coalesce(len(l.nodes), 0) as node_count,
    t.gpus as gpu_count, t.gpu_type, t.cpus as cpu_count, q.gpus as requested_gpu_count,
    q.memory_mib as requested_memory_mib,
    t.gpus * r.runtime_seconds / 3600 as gpu_hours, len(l.nodes) * r.runtime_seconds / 86400 as node_days,
    size_bin(t.gpus) as gpu_size_bin, greatest(epoch(r.started_at - r.eligible_at), 0)::bigint as queue_seconds,
    f.category, f.attempt_id is not null as is_failure
from records r
left join chained c using (attempt_id)
left join node_lists l using (node_list)
left join tres t on t.tres = r.alloc_tres
left join tres q on q.tres = r.req_tres
left join failures f using (attempt_id);
create table attempt_nodes as
select cluster_id, attempt_id, unnest(nodes) as node_id from attempts join node_lists using (node_list);

-- Preemptions: the controller names the job that took the nodes; second order if that job was a failure's restart.
create table preemptions as
with victims as (
    select a.cluster_id, a.attempt_id, a.ended_at, a.runtime_seconds, a.gpu_count,
        arg_max(c.instigator_job_id, c.logged_at) as job_id_raw
    from attempts a
    left join controller c on c.kind = 'preempted' and c.cluster_id = a.cluster_id and c.job_id_raw = a.job_id_raw
        and c.logged_at between a.ended_at - interval 2 minute and a.ended_at + interval 2 minute
    where a.state = 'PREEMPTED' group by all
)
select
    v.cluster_id, v.attempt_id, v.ended_at as preempted_at, i.attempt_id as instigator_id,
    f.attempt_id is not null as is_second_order,
    lost(v.runtime_seconds, v.gpu_count) as lost_gpu_hours
from victims v
asof left join (select * from attempts where started_at is not null) i
    on v.cluster_id = i.cluster_id and v.job_id_raw = i.job_id_raw and v.ended_at - interval 1 minute <= i.started_at
left join failures f on f.attempt_id = i.previous_id;

-- Job runs: what is productive rests on a checkpoint an hour and five minutes to restart.
create table job_runs as
select
    cluster_id, run_id, any_value(user_name) as user_name, any_value(job_name) as job_name, any_value(qos) as qos,
    max(gpu_count) as gpu_count, count(*) as attempt_count, min(started_at) as started_at, max(ended_at) as ended_at,
    sum(queue_seconds) / 3600 as queue_hours, sum(runtime_seconds) / 3600 as scheduled_hours,
    sum(greatest(0, worked - if(is_interrupted, 1800, 0))) / 3600 as productive_hours,
    sum(greatest(0, worked - if(is_interrupted, 3600, 0))) / 3600 as productive_hours_low,
    sum(worked) / 3600 as productive_hours_high,
    productive_hours / nullif(queue_hours + scheduled_hours, 0) as ettr, count(*) filter (is_failure) as failure_count
from (
    select *, greatest(0, runtime_seconds - 300) as worked,
        is_failure or state in ('NODE_FAIL', 'PREEMPTED', 'REQUEUED', 'TIMEOUT') as is_interrupted
    from attempts
)
group by cluster_id, run_id;

-- Node x day: GPU hours allocated, hours in use (jobs share a node), hours out of service, failures.
create table node_days as
with stays as (
    select cluster_id, node_id, started_at, ended_at, gpu_seconds, greatest(started_at, coalesce(max(ended_at) over (
        partition by cluster_id, node_id order by started_at rows between unbounded preceding and 1 preceding
    ), started_at)) as used_from
    from (
        select cluster_id, unnest(nodes) as node_id, started_at, ended_at, gpu_count / node_count as gpu_seconds
        from attempts join node_lists using (node_list) where ended_at > started_at
    )
), stay_days as (
    select cluster_id, node_id, started_at::date as day, gpu_seconds * epoch(ended_at - started_at) as gpu_seconds,
        greatest(epoch(ended_at - used_from), 0) as used_seconds
    from stays where started_at::date = ended_at::date
    union all
    select cluster_id, node_id, day,
        gpu_seconds * epoch(least(ended_at, day + interval 1 day) - greatest(started_at, day)),
        greatest(epoch(least(ended_at, day + interval 1 day) - greatest(used_from, day)), 0)
    from (
        select *, unnest(generate_series(started_at::date, ended_at::date, interval 1 day)) as day
        from stays where started_at::date < ended_at::date
    )
), used as (
    select cluster_id, node_id, day::date as day, sum(gpu_seconds) / 3600 as gpu_hours,
        sum(used_seconds) / 3600 as used_hours
    from stay_days group by all
), out_days as (
    select cluster_id, node_id, day::date as day,
        least(sum(epoch(least(ended_at, day + interval 1 day) - greatest(started_at, day))), 86400) / 3600 as out_hours
    from (
        select *, unnest(generate_series(started_at::date, ended_at::date, interval 1 day)) as day
        from (select * replace (coalesce(ended_at, (select max(ended_at) from attempts)) as ended_at) from outages)
    )
    group by all
), failed as (
    select cluster_id, culprit_node_id as node_id, failed_at::date as day, count(*) as failure_count
        from failures group by all
)
select
    n.cluster_id, n.node_id, d.day, coalesce(u.gpu_hours, 0) as gpu_hours, coalesce(u.used_hours, 0) as used_hours,
    coalesce(o.out_hours, 0) as out_hours, coalesce(f.failure_count, 0) as failure_count
from (select distinct cluster_id, node_id from attempt_nodes union select cluster_id, node_id from nodes) n
join (
    select cluster_id, unnest(generate_series(min(started_at)::date, max(ended_at)::date, interval 1 day))::date as day
    from attempts group by cluster_id
) d using (cluster_id)
left join used u using (cluster_id, node_id, day)
left join out_days o using (cluster_id, node_id, day)
left join failed f using (cluster_id, node_id, day);
