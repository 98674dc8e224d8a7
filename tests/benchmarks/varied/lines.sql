-- How the logs show it: one view per growing file, with the time by which its lines are in order.
create macro local_time(moment) as timezone('America/Chicago', timezone('UTC', moment));
create macro as_slurm(moment) as strftime(local_time(moment), '%Y-%m-%dT%H:%M:%S');
create macro as_kernel(moment) as strftime(moment, '%Y-%m-%dT%H:%M:%S.%f+00:00');
create macro as_controller(moment) as '[' || strftime(local_time(moment), '%Y-%m-%dT%H:%M:%S.%g') || '] ';
create macro epoch_text(moment) as printf('%.3f', epoch_ms(moment) / 1000);
create macro device(seed) as printf('0000:%02x:00', seed % 256);

create view sacct_lines as
select ended_at as logged_at, concat_ws('|',
    'foundry', job_id_raw, job_id_raw, if(state = 'CANCELLED', 'CANCELLED by ' || 2000 + user_number, state),
    as_slurm(submitted_at), as_slurm(submitted_at), as_slurm(started_at), as_slurm(ended_at),
    epoch(ended_at - started_at)::bigint, node_count, tres, tres, node_list, partition, qos,
    'u' || lpad(user_number::varchar, 4, '0'), 'team-' || user_number % 61, job_name,
    case state when 'FAILED' then 1 + (i % 3) || ':0' when 'CANCELLED' then '0:15' when 'OUT_OF_MEMORY' then '0:125'
        else '0:0' end,
    2880, 'None', '/scratch/u' || lpad(user_number::varchar, 4, '0') || '/' || job_name || '/' || job_id_raw
) as line
from (select *, printf('cpu=%d,mem=%dM,node=%d,billing=%d,gres/gpu=%d', 12 * gpus, 120000 * gpus, node_count, 12 * gpus,
    gpus) as tres from attempts);

-- What stands for a record differs with each: {n}, {f}. The rest is the same as long as the check shows it.
create macro filled(message, check_name, node, episode, began_at, logged_at) as if(
    not contains(message, '{'), message,
    replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(
        message, '{c}', check_name), '{h}', node_name(node)), '{g}', (episode % 8)::varchar),
        '{i}', (hash(episode) % 500)::varchar), '{n}', (hash(logged_at, episode) % 500)::varchar),
        '{m}', (100 + hash(check_name) % 400)::varchar), '{k}', (1 + hash(episode) % 90)::varchar),
        '{f}', printf('%.2f', hash(logged_at, node) % 4000 / 100)),
        '{u}', 'u' || lpad((hash(episode, 'u') % 900)::varchar, 4, '0')),
        '{p}', (1000 + hash(episode, 'p') % 60000)::varchar), '{d}', device(hash(episode, 'd'))),
        '{t}', strftime(began_at, '%Y-%m-%d %H:%M:%S')
    )
);
create view health_lines as
select logged_at, '{"normal": {"health_check": "' || check_name || '", "type": "prolog", "_msg": "'
    || if(shown = 0, 'OK', replace(filled(message, check_name, node, number, began_at, logged_at), '{e}', xid::varchar))
    || '", "node": "' || node_name(node) || '", "cluster": "foundry", "derived_cluster": "foundry"}, "double": '
    || '{"start_time": ' || epoch_text(logged_at - interval 3 seconds) || ', "end_time": ' || epoch_text(logged_at)
    || '}, "int": {"job_id": 0, "result": ' || shown || '}, "tags": {}}' as line
from (
    select *, began_at + to_milliseconds((1000 * period * record + 40000 * chance('late', number, record))::bigint)
        as logged_at, if(record < bad_count, result, 0) as shown,
        [13, 31, 31, 31, 43, 43, 45, 48, 63, 63, 74, 79, 94, 95, 109, 119, 154][
            (hash(number, 'xid') % 17 + 1)::integer
        ] as xid
    from (select *, unnest(range(bad_count + has_recovery::integer)) as record from episodes)
)
where logged_at < began_at() + to_days(getvariable('days'));

create view kernel_lines as
select logged_at, as_kernel(logged_at) || ' ' || node_name(node) || ' kernel: ['
    || printf('%.6f', epoch(logged_at) % 9000000) || '] ' || text as line
from (
    select node, ended_at + to_microseconds(7 * unnest(range(2))) as logged_at,
        'NVRM: Xid (PCI:' || device(hash(i)) || '): ' || if(i % 3 = 0, 13, 31) || ', pid='
            || 2000 + hash(lane, i) % 60000 || ', name=python, Ch 0000000'
        || i % 8 || ', intr 10000000. MMU Fault' as text
    from attempts where state = 'FAILED' and chance('xid', lane, i) < 0.17
    union all
    select node, seen_at + to_microseconds(11 * unnest(range(3))),
        'NVRM: Xid (PCI:' || device(hash(lane, i)) || '): ' || code || ', pid=''<unknown>'', name=<unknown>, '
            || kernel_message
    from faults join causes using (cause) where code is not null
    union all
    select node, began_at, 'NVRM: Xid (PCI:' || device(number) || '): '
        || [63, 63, 63, 92, 94, 137, 154, 154, 121, 48, 31, 45][number % 12 + 1]
        || ', pid=' || 1000 + hash(number) % 60000 || ', name=worker-' || number % 97 || ', errors '
        || hash(number) % 1000
    from episodes where number % 8 = 0 and number < 1000000000
    union all
    select node, began_at + interval 5 minutes, [
        'EDAC MC' || number % 12 || ': 1 CE memory read error on CPU_SrcID#' || number % 2 || '_Channel#0_DIMM#1',
        'nfs: server store' || number % 9 || ' not responding, still trying',
        'eth' || number % 4 || ': Link down',
        'INFO: task python:' || 1000 + hash(number) % 60000 || ' blocked for more than 120 seconds.',
        'blk_update_request: I/O error, dev nvme' || number % 8 || 'n1, sector ' || hash(number) % 100000000
    ][number % 5 + 1]
    from episodes where number % 8 = 1 and number < 1000000000
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
        || 20000000 + (i + 1) * (select count(*) from lanes) + lane
    from attempts where state = 'PREEMPTED'
    union all
    select ended_at, unnest([
        'error: Nodes ' || node_name(node) || ' not responding, setting DOWN',
        'requeue job JobId=' || job_id_raw || ' due to failure of node ' || node_name(node)
    ]) from faults where state = 'NODE_FAIL'
    union all
    select ended_at + interval 45 minutes, unnest([
        'Node ' || node_name(node) || ' now responding', 'node ' || node_name(node) || ' returned to service'
    ]) from faults where state = 'NODE_FAIL'
);

create view events_lines as
select ended_at as logged_at, concat_ws('|', 'foundry', node_name(node), as_slurm(ended_at),
    as_slurm(ended_at + interval 45 minutes), if(state = 'NODE_FAIL', 'DOWN', 'DRAIN'),
    if(state = 'NODE_FAIL', 'Not responding', 'NHC: ' || check_name), 'slurm(64030)') as line
from faults join causes using (cause);

create view inventory_lines as
select began_at() as logged_at, 'NodeName=' || node_name(n) || ' Arch=x86_64 CPUTot=96 Gres=gpu:8 NodeAddr='
    || node_name(n) || ' RealMemory=1000000 State=IDLE Partitions=large CfgTRES=cpu=96,mem=1000000M,billing=96,gres/gpu=8'
    as line
from range(getvariable('nodes')) as numbers (n);

create view tickets_lines as
select ended_at as logged_at, concat_ws(',', 100 + row_number() over (order by ended_at), node_name(node),
    as_slurm(ended_at), as_slurm(ended_at + interval 2 days), 'GPU', 'replaced', 'closed', check_name) as line
from faults join causes using (cause) where chance('ticket', lane, i) < 0.1;
