-- How the logs show it: one view per growing file, with the time by which its lines are in order.
create macro local_time(moment) as timezone(getvariable('timezone'), timezone('UTC', moment));
create macro as_slurm(moment) as strftime(local_time(moment), '%Y-%m-%dT%H:%M:%S');
create macro epoch_text(moment) as printf('%.3f', epoch_ms(moment) / 1000);
create macro device(seed) as printf('0000:%02x:00', seed % 256);
create macro gpu_model() as lower(getvariable('gpu_model'));

create view sacct_lines as
select ended_at as logged_at, concat_ws('|',
    if(array_job_id is null, job_id_raw::varchar, array_job_id || '_' || array_task_id), job_id_raw,
    getvariable('cluster'), 'user' || user_number, 'group' || user_number % 40, partition, qos, job_name,
    if(state = 'CANCELLED', 'CANCELLED by ' || 5000 + user_number, state),
    case state when 'FAILED' then 1 + i % 3 || ':0' when 'CANCELLED' then '0:15' when 'OUT_OF_MEMORY' then '0:125'
        else '0:0' end,
    '0:0', as_slurm(submitted_at), as_slurm(submitted_at), as_slurm(started_at), as_slurm(ended_at),
    epoch(ended_at - started_at)::bigint, '00:00:00', node_count, node_list, tres, tres, 20160, 'None',
    'SchedMain', 'sbatch --job-name=' || job_name || ' --gpus=' || gpus || ' job.sh'
) as line
from (select *, printf('billing=%d,cpu=%d,gres/gpu:%s=%d,gres/gpu=%d,mem=%dM,node=%d',
    8 * gpus, 8 * gpus, gpu_model(), gpus, gpus, 64000 * gpus, node_count) as tres from attempts);

-- What stands for a record differs with each: {n}, {f}. The rest is the same as long as the check shows it.
create macro filled(message, check_name, node, episode, began_at, logged_at) as if(
    not contains(message, '{'), message,
    replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
        message, '{c}', check_name), '{h}', node_name(node)), '{g}', (episode % 8)::varchar),
        '{i}', (hash(episode) % 500)::varchar), '{n}', (hash(logged_at, episode) % 500)::varchar),
        '{m}', (100 + hash(check_name) % 400)::varchar), '{k}', (1 + hash(episode) % 90)::varchar),
        '{f}', printf('%.2f', hash(logged_at, node) % 4000 / 100)),
        '{u}', 'u' || lpad((hash(episode, 'u') % 900)::varchar, 4, '0')),
        '{p}', (1000 + hash(episode, 'p') % 60000)::varchar), '{d}', device(hash(episode, 'd'))),
        '{t}', strftime(began_at, '%Y-%m-%d %H:%M:%S')),
        '{e}', [13, 31, 31, 31, 43, 43, 45, 48, 63, 63, 74, 79, 94, 95, 109, 119, 154][
            (hash(episode, 'xid') % 17 + 1)::integer]::varchar
    )
);
create view health_lines as
select logged_at, '{"int": {"result": ' || shown || ', "job_id": 0}, "double": {"start_time": '
    || epoch_text(logged_at - interval 40 milliseconds) || ', "end_time": ' || epoch_text(logged_at)
    || '}, "normal": {"node": "' || node_name(node) || '", "cluster": "' || getvariable('cluster')
    || '", "derived_cluster": "' || getvariable('cluster') || '", "health_check": "' || check_name
    || '", "type": "nagios", "_msg": "'
    || if(shown = 0, 'OK', filled(message, check_name, node, number, began_at, logged_at)) || '"}, "tags": {}}' as line
from (
    select *, began_at + to_milliseconds((1000 * period * record + 40000 * chance('late', number, record))::bigint)
        as logged_at, if(record < bad_count, result, 0) as shown
    from (select *, unnest(range(bad_count + has_recovery::integer)) as record from episodes)
)
where logged_at < began_at() + to_days(getvariable('days'));

create macro xid(seed, code) as 'NVRM: Xid (PCI:' || device(seed) || '): ' || code || ', pid=';
create view kernel_lines as
select logged_at, strftime(logged_at, '%Y-%m-%dT%H:%M:%S.%f+00:00') || ' ' || node_name(node) || ' kernel: ['
    || printf('%.6f', epoch(logged_at) % 9000000) || '] ' || text as line
from (
    select node, ended_at + to_microseconds(7 * unnest(range(2))) as logged_at, xid(hash(i), if(i % 3 = 0, 13, 31))
            || 2000 + hash(lane, i) % 60000 || ', name=python, Ch 0000000' || i % 8 || ', intr 10000000. MMU Fault' as text
    from attempts where state = 'FAILED' and chance('xid', lane, i) < 0.2
    union all
    select node, seen_at + to_microseconds(11 * unnest(range(4))),
        xid(hash(lane, i), code) || '''<unknown>'', name=<unknown>, ' || kernel_message
    from faults join causes using (cause) where code is not null
    union all
    select node, began_at, xid(number, [63, 63, 63, 92, 94, 137, 154, 154, 121, 48, 31, 45][number % 12 + 1])
        || 1000 + hash(number) % 60000 || ', name=worker-' || number % 97 || ', errors ' || hash(number) % 1000
    from episodes where getvariable('is_noisy') and number % 8 = 0 and number < 1000000000
    union all
    select node, began_at + interval 5 minutes, [
        'EDAC MC' || number % 12 || ': 1 CE memory read error on CPU_SrcID#' || number % 2 || '_Channel#0_DIMM#1',
        'nfs: server store' || number % 9 || ' not responding, still trying', 'eth' || number % 4 || ': Link down',
        'INFO: task python:' || 1000 + hash(number) % 60000 || ' blocked for more than 120 seconds.',
        'blk_update_request: I/O error, dev nvme' || number % 8 || 'n1, sector ' || hash(number) % 100000000
    ][number % 5 + 1]
    from episodes where getvariable('is_noisy') and number % 8 = 1 and number < 1000000000
    union all
    select node, began_at, xid(175, 63) || '4021, name=nvidia-persistenced, Row remap recorded'
    from episodes where not getvariable('is_noisy') and check_name = 'nvidia smi row_remap_pending'
    union all
    select node, ended_at, 'Memory cgroup out of memory: Killed process ' || 3000 + i || ' (python)'
    from attempts where state = 'OUT_OF_MEMORY'
);

create view slurmctld_lines as
select logged_at, '[' || strftime(local_time(logged_at), '%Y-%m-%dT%H:%M:%S.%g') || '] ' || text as line
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
    select ended_at + interval 20 minutes, unnest([
        'Node ' || node_name(node) || ' now responding', 'node ' || node_name(node) || ' returned to service'
    ]) from faults where state = 'NODE_FAIL'
);

create view events_lines as
select ended_at as logged_at, concat_ws('|', getvariable('cluster'), node_name(node), as_slurm(ended_at),
    as_slurm(ended_at + interval 20 minutes), if(state = 'NODE_FAIL', 'DOWN', 'DRAIN'),
    if(state = 'NODE_FAIL', 'Not responding', 'NHC: ' || check_name), 'slurm(64030)') as line
from faults join causes using (cause);

create view inventory_lines as
select began_at() as logged_at, printf('NodeName=%s Arch=x86_64 CPUTot=%d Gres=gpu:%s:%d NodeAddr=%s RealMemory=%d '
    || 'State=IDLE Partitions=shared CfgTRES=cpu=%d,mem=%dM,billing=%d,gres/gpu=%d,gres/gpu:%s=%d', node_name(n), 8 * gpus,
    gpu_model(), gpus, node_name(n), 64000 * gpus, 8 * gpus, 64000 * gpus, 8 * gpus, gpus, gpu_model(), gpus) as line
from range(getvariable('nodes')) as numbers (n), (select getvariable('gpus_per_node') as gpus);

create view tickets_lines as
select ended_at as logged_at, concat_ws(',', 7000 + row_number() over (order by ended_at), node_name(node),
    as_slurm(ended_at), as_slurm(ended_at + interval 1 day), 'GPU', 'replaced', 'closed', check_name) as line
from faults join causes using (cause) where chance('ticket', lane, i) < 0.05;

-- A log that is written for a year is not clean: 15 of 10,000 lines are followed by another or are damaged.
create macro damaged(line, number) as case
    when number % 10000 < 10 then [line, line]
    when number % 10000 < 12 then [line, '']
    when number % 10000 < 14 then [line[:length(line) // 2]]
    when number % 10000 < 15 then [line[:length(line) // 2] || chr(233) || line[length(line) // 2 + 1:]]
    else [line]
end;
