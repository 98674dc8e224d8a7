-- How the logs show it: one view per growing file, with the time by which its lines are in order.
create macro local_time(moment) as timezone('Europe/Berlin', timezone('UTC', moment));
create macro as_slurm(moment) as strftime(local_time(moment), '%Y-%m-%dT%H:%M:%S');
create macro as_kernel(moment) as strftime(moment, '%Y-%m-%dT%H:%M:%S.%f+00:00');
create macro as_controller(moment) as '[' || strftime(local_time(moment), '%Y-%m-%dT%H:%M:%S.%g') || '] ';
create macro node_list(node, node_count) as if(
    node_count = 1, node_name(node),
    'node[' || lpad((node + 1)::varchar, 4, '0') || '-' || lpad((node + node_count)::varchar, 4, '0') || ']'
);
create macro epoch_text(moment) as printf('%.3f', epoch_ms(moment) / 1000);

create view sacct_lines as
select ended_at as logged_at, concat_ws('|',
    if(array_job_id is null, job_id_raw::varchar, array_job_id || '_' || array_task_id), job_id_raw, 'campus',
    'user' || user_number, 'group' || user_number % 40, partition, qos, job_name,
    if(state = 'CANCELLED', 'CANCELLED by ' || 5000 + user_number, state),
    case state when 'FAILED' then '1:0' when 'CANCELLED' then '0:15' when 'OUT_OF_MEMORY' then '0:125' else '0:0' end,
    '0:0', as_slurm(submitted_at), as_slurm(submitted_at), as_slurm(started_at), as_slurm(ended_at),
    epoch(ended_at - started_at)::bigint, '00:00:00', node_count, node_list(node, node_count), tres, tres, 20160, 'None',
    'SchedMain', 'sbatch --job-name=' || job_name || ' --gpus=' || gpus || ' job.sh'
) as line
from (select *, printf('billing=%d,cpu=%d,gres/gpu:a30=%d,gres/gpu=%d,mem=%dM,node=%d',
    8 * gpus, 8 * gpus, gpus, gpus, 64000 * gpus, node_count) as tres from attempts);

create view health_lines as
select logged_at, '{"int": {"result": ' || result || ', "job_id": 0}, "double": {"start_time": '
    || epoch_text(logged_at - interval 40 milliseconds) || ', "end_time": ' || epoch_text(logged_at) || '}, "normal": {"node": "'
    || node_name(node) || '", "cluster": "campus", "derived_cluster": "campus", "health_check": "' || check_name
    || '", "type": "nagios", "_msg": "' || message || '"}, "tags": {}}' as line
from (
    select node, check_name, began_at + to_seconds(number * period) as logged_at,
        if(number = record_count, 0, result) as result,
        if(number = record_count, 'The check passed again.', message) as message
    from (select *, unnest(range(record_count + 1)) as number from episodes)
)
where logged_at < began_at() + to_days(getvariable('days'));

create view kernel_lines as
select logged_at, as_kernel(logged_at) || ' ' || node_name(node) || ' kernel: [' || printf('%.6f', epoch(logged_at) % 9000000) || '] '
    || text as line
from (
    select node, ended_at + to_microseconds(7 * unnest(range(2))) as logged_at,
        'NVRM: Xid (PCI:0000:3b:00): ' || if(i % 3 = 0, 13, 31) || ', pid=' || 2000 + i
            || ', name=python, Ch 00000008, intr 10000000. The program made an illegal access.' as text
    from attempts where state = 'FAILED' and chance('xid', lane, i) < 0.2
    union all
    select node, seen_at + to_microseconds(11 * unnest(range(4))),
        'NVRM: Xid (PCI:0000:86:00): ' || code || ', pid=''<unknown>'', name=<unknown>, ' || message
    from faults join causes using (cause) where code is not null
    union all
    select node, began_at, 'NVRM: Xid (PCI:0000:af:00): 63, pid=4021, name=nvidia-persistenced, Row remap recorded'
    from episodes where check_name = 'nvidia smi row_remap_pending'
    union all
    select node, ended_at, 'Memory cgroup out of memory: Killed process ' || 3000 + i || ' (python)'
    from attempts where state = 'OUT_OF_MEMORY'
);

create view slurmctld_lines as
select logged_at, as_controller(logged_at) || text as line
from (
    select ended_at as logged_at, '_job_complete: JobId=' || job_id_raw
        || if(state = 'FAILED', ' WEXITSTATUS 1', ' done') as text
    from attempts where state <> 'NODE_FAIL'
    union all
    select ended_at, 'Requeuing JobId=' || job_id_raw from attempts where state = 'REQUEUED'
    union all
    select ended_at, 'preempted JobId=' || job_id_raw || ' has been killed to reclaim resources for JobId='
        || 1000000 + (i + 1) * (select count(*) from lanes) + lane
    from attempts where state = 'PREEMPTED'
    union all
    select ended_at, unnest([
        'error: Nodes ' || node_name(node) || ' not responding, setting DOWN',
        'requeue job JobId=' || job_id_raw || ' due to failure of node ' || node_name(node)
    ]) from faults where state = 'NODE_FAIL'
    union all
    select ended_at + interval 20 minute, unnest([
        'Node ' || node_name(node) || ' now responding', 'node ' || node_name(node) || ' returned to service'
    ]) from faults where state = 'NODE_FAIL'
);

create view events_lines as
select ended_at as logged_at, concat_ws('|', 'campus', node_name(node), as_slurm(ended_at),
    as_slurm(ended_at + interval 20 minute), if(state = 'NODE_FAIL', 'DOWN', 'DRAIN'),
    if(state = 'NODE_FAIL', 'Not responding', 'NHC: ' || check_name), 'slurm(64030)') as line
from faults join causes using (cause);

create view inventory_lines as
select began_at() as logged_at, 'NodeName=' || node_name(n) || ' Arch=x86_64 CPUTot=32 Gres=gpu:a30:4 NodeAddr=' || node_name(n)
    || ' RealMemory=256000 State=IDLE Partitions=shared CfgTRES=cpu=32,mem=256000M,billing=32,gres/gpu=4,gres/gpu:a30=4'
    as line
from range(getvariable('nodes')) as numbers (n);

create view tickets_lines as
select ended_at as logged_at, concat_ws(',', 7000 + row_number() over (order by ended_at), node_name(node), as_slurm(ended_at),
    as_slurm(ended_at + interval 1 day), 'GPU', 'replaced', 'closed', check_name) as line
from faults join causes using (cause) where chance('ticket', lane, i) < 0.05;
